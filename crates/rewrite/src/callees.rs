//! What code may call: what its calls name, what it hands on, as the code of a lambda, and what the VM or the JDK calls for it
//! where the code names something else: initialisers of classes, and the methods behind texts that are put together and records
//! that are compared.

use quipu_classfile::opcode::{GETSTATIC, INVOKESTATIC, NEW, PUTSTATIC};
use quipu_classfile::{ClassFile, Code, Constant, ConstantPool};

use crate::call::{Bootstrap, Call, bootstrap_methods, call_of};

/// The initialiser of a class.
const INITIALISER: (&[u8], &[u8]) = (b"<clinit>", b"()V");
/// Makes a text of its arguments.
const CONCATENATION: &[u8] = b"java/lang/invoke/StringConcatFactory";
/// Does to records what it does to each component.
const RECORDS: &[u8] = b"java/lang/runtime/ObjectMethods";
/// What that is, by the name that the code has for it.
const OF_COMPONENTS: [(&[u8], &[u8]); 3] =
    [TO_STRING, (b"hashCode", b"()I"), (b"equals", b"(Ljava/lang/Object;)Z")];
const TO_STRING: (&[u8], &[u8]) = (b"toString", b"()Ljava/lang/String;");
/// A field's kind of method handle, as the class file has it.
const GET_FIELD: u8 = 1;
/// Those of methods.
const INVOKE_VIRTUAL: u8 = 5;
const INVOKE_INTERFACE: u8 = 9;

/// What code may call.
pub fn callees<'a>(class: &ClassFile<'a>, code: &Code<'a>) -> Vec<Call<'a>> {
    let pool = class.pool();
    let mut found: Vec<Call<'_>> = Vec::new();
    let mut bootstraps = None;
    let mut add = |call| {
        if !found.contains(&call) {
            found.push(call);
        }
    };
    for instruction in code.instructions().map_while(Result::ok) {
        let index = instruction.pool_index().unwrap_or(0);
        let initialised = match instruction.opcode {
            NEW => pool.class_name(index).ok(),
            GETSTATIC | PUTSTATIC | INVOKESTATIC => pool.member(index).ok().map(|member| member.owner),
            _ => None,
        };
        if let Some(owner) = initialised.filter(|owner| *owner != class.name()) {
            add(named(owner, INITIALISER, false));
        }
        if let Some(call) = call_of(&instruction, pool) {
            add(call);
            continue;
        }
        match pool.get(index) {
            Ok(Constant::InvokeDynamic { bootstrap, name_and_type }) => {
                let all = bootstraps.get_or_insert_with(|| bootstrap_methods(class));
                if let Some(bootstrap) = all.get(usize::from(bootstrap)) {
                    linked(pool, bootstrap, name_and_type, &mut add);
                }
            }
            Ok(Constant::MethodHandle { .. }) => handed_on(pool, index, &mut add),
            _ => {}
        }
    }
    found
}

/// What is called where an `invokedynamic` is.
fn linked<'a>(
    pool: &ConstantPool<'a>,
    bootstrap: &Bootstrap,
    name_and_type: u16,
    add: &mut dyn FnMut(Call<'a>),
) {
    let arguments = bootstrap.arguments.iter();
    arguments.clone().for_each(|&argument| handed_on(pool, argument, add));
    let Ok(Constant::MethodHandle { reference, .. }) = pool.get(bootstrap.method) else { return };
    let Ok((name, descriptor)) = pool.name_and_type(name_and_type) else { return };
    match pool.member(reference).map(|member| member.owner) {
        Ok(CONCATENATION) => {
            parameters(descriptor).filter_map(|of| received(of, TO_STRING)).for_each(add);
        }
        Ok(RECORDS) => {
            let Some(&method) = OF_COMPONENTS.iter().find(|(known, _)| *known == name) else { return };
            arguments.filter_map(|&argument| received(field(pool, argument)?, method)).for_each(add);
        }
        _ => {}
    }
}

/// The descriptor of the field that a method handle reads.
fn field<'a>(pool: &ConstantPool<'a>, handle: u16) -> Option<&'a [u8]> {
    match pool.get(handle) {
        Ok(Constant::MethodHandle { kind: GET_FIELD, reference }) => {
            pool.member(reference).ok().map(|member| member.descriptor)
        }
        _ => None,
    }
}

/// A method that a value is asked for. Strings have no other than their own, which calls nothing; what is no object has none.
fn received<'a>(value: &'a [u8], method: (&'static [u8], &'static [u8])) -> Option<Call<'a>> {
    match value.strip_prefix(b"L").and_then(|rest| rest.strip_suffix(b";")) {
        Some(b"java/lang/String") => None,
        Some(owner) => Some(named(owner, method, true)),
        None => value.starts_with(b"[").then(|| named(b"java/lang/Object", method, false)),
    }
}

fn named<'a>(
    owner: &'a [u8],
    (name, descriptor): (&'static [u8], &'static [u8]),
    is_virtual: bool,
) -> Call<'a> {
    Call { owner, name, descriptor, is_virtual, is_interface: false }
}

/// The parameters of a method's descriptor, as far as it makes sense.
fn parameters(descriptor: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = descriptor.strip_prefix(b"(").unwrap_or_default();
    std::iter::from_fn(move || {
        let dimensions = rest.iter().take_while(|&&byte| byte == b'[').count();
        let end = match rest.get(dimensions)? {
            b')' => return None,
            b'L' => rest.iter().position(|&byte| byte == b';')? + 1,
            _ => dimensions + 1,
        };
        let (first, behind) = rest.split_at_checked(end)?;
        rest = behind;
        Some(first)
    })
}

/// The method of a method handle.
fn handed_on<'a>(pool: &ConstantPool<'a>, index: u16, add: &mut dyn FnMut(Call<'a>)) {
    let Ok(Constant::MethodHandle { kind: kind @ INVOKE_VIRTUAL.., reference }) = pool.get(index) else {
        return;
    };
    let Ok(member) = pool.member(reference) else { return };
    let is_virtual = kind == INVOKE_VIRTUAL || kind == INVOKE_INTERFACE;
    if !is_virtual {
        add(named(member.owner, INITIALISER, false));
    }
    add(Call {
        owner: member.owner,
        name: member.name,
        descriptor: member.descriptor,
        is_virtual,
        is_interface: kind == INVOKE_INTERFACE,
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_told_apart() {
        let found: Vec<&[u8]> = parameters(b"(I[[JLa/B;[La/C;Z)V").collect();
        assert_eq!(found, [&b"I"[..], b"[[J", b"La/B;", b"[La/C;", b"Z"]);
        for hostile in [&b"(La/B"[..], b"([", b"(", b"", b"I)V"] {
            assert_eq!(parameters(hostile).count(), 0);
        }
    }

    #[test]
    fn objects_are_asked_and_nothing_else_is() {
        let owner = |value| received(value, TO_STRING).map(|call| (call.owner, call.is_virtual));
        assert_eq!(owner(b"La/B;"), Some((&b"a/B"[..], true)));
        assert_eq!(owner(b"[La/B;"), Some((&b"java/lang/Object"[..], false)));
        assert_eq!((owner(b"I"), owner(b"Ljava/lang/String;")), (None, None));
    }
}
