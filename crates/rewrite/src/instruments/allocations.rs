//! Every object and array that code makes: its class and its size, by the instruction that makes it.
//!
//! | what makes it | where it is counted |
//! |---|---|
//! | `new` | before it: the class is known, and its size the same for all instances |
//! | `newarray`, `anewarray` | before it, with the length |
//! | `multianewarray` | behind it: all arrays that it has made |
//! | a call of a method that is native, or replaced by the JIT ([`makes`]) | behind it, by the class of what it returns |
//! | `invokedynamic` of a lambda that captures something | the same |
//!
//! An object that is counted before it is made is never handed to the code that counts it, so that the JIT can still do
//! without it, where it could before. It is counted all the same: counts are what the program says, whatever compiled it.

use quipu_classfile::opcode::{ANEWARRAY, DUP, INVOKEDYNAMIC, INVOKESPECIAL, MULTIANEWARRAY, NEW, NEWARRAY};
use quipu_classfile::{ClassFile, Constant, EditError, Instruction, Method, Snippet};

use crate::call::{Call, bootstrap_methods, call_of};
use crate::instrument::{Inserter, Instrument, MethodEdit};
use crate::{Known, Plan};

/// The instrument.
#[derive(Debug, Clone, Copy, Default)]
pub struct Allocations;

/// The runtime's class that takes what is counted.
const RUNTIME: &str = "Made";

impl Allocations {
    /// How it is called.
    pub const NAME: &'static str = "alloc";
}

impl Instrument for Allocations {
    fn name(&self) -> &'static str {
        Allocations::NAME
    }

    fn inserter<'p>(
        &'p self,
        class: &ClassFile<'_>,
        _: &'p Plan,
        _: &'p dyn Known,
    ) -> Box<dyn Inserter + 'p> {
        Box::new(AllocationInserter { lambdas: lambdas(class) })
    }
}

struct AllocationInserter {
    /// Which bootstrap methods of the class make lambdas.
    lambdas: Vec<bool>,
}

/// How an instruction makes what it makes.
enum Making<'a> {
    /// An instance of this class.
    Instance(&'a [u8]),
    /// An array with elements of so many bytes (none: references), and its signature.
    Array(u8, Vec<u8>),
    /// Arrays of arrays, as many levels of them.
    Arrays(u8),
    /// Something that it leaves on the stack.
    Result,
}

impl Inserter for AllocationInserter {
    fn before(&mut self, edit: &mut MethodEdit<'_, '_, '_, '_>) -> Result<(), EditError> {
        if is_replaced(&edit.method()) {
            return Ok(());
        }
        let body = *edit.code.code();
        for instruction in body.instructions() {
            let instruction = instruction?;
            match self.making(edit.method().class(), &instruction) {
                Some(Making::Instance(name)) => {
                    let signature = [b"L", name, b";"].concat();
                    let Some(site) = edit.site(Allocations::NAME, instruction.bci, &signature) else {
                        continue;
                    };
                    insert_before(edit, &instruction, false, site, "count", "(I)V")?;
                }
                Some(Making::Array(bytes, signature)) => {
                    let Some(site) = edit.site(Allocations::NAME, instruction.bci, &signature) else {
                        continue;
                    };
                    let probe = match bytes {
                        1 => "bytes",
                        2 => "chars",
                        4 => "ints",
                        8 => "longs",
                        _ => "references",
                    };
                    insert_before(edit, &instruction, true, site, probe, "(II)V")?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn after(&mut self, edit: &mut MethodEdit<'_, '_, '_, '_>) -> Result<(), EditError> {
        if is_replaced(&edit.method()) {
            return Ok(());
        }
        let body = *edit.code.code();
        for instruction in body.instructions() {
            let instruction = instruction?;
            let levels = match self.making(edit.method().class(), &instruction) {
                Some(Making::Arrays(levels)) => levels,
                Some(Making::Result) => 1,
                _ => continue,
            };
            let Some(site) = edit.site(Allocations::NAME, instruction.bci, b"") else { continue };
            let mut s = Snippet::new();
            s.op(DUP);
            edit.in_context(&mut s, |pool, probes, s| {
                probes.int(pool, s, site)?;
                probes.int(pool, s, levels.into())?;
                probes.call_class(RUNTIME, pool, s, "made", "(Ljava/lang/Object;II)V")
            })?;
            edit.code.insert_fall_through(instruction.end(), &s)?;
        }
        Ok(())
    }
}

impl AllocationInserter {
    fn making<'a>(&self, class: &ClassFile<'a>, instruction: &Instruction<'_>) -> Option<Making<'a>> {
        let pool = class.pool();
        match instruction.opcode {
            NEW => pool.class_name(instruction.pool_index()?).ok().map(Making::Instance),
            NEWARRAY => {
                let (bytes, element) = primitive(instruction.array_operand()?)?;
                Some(Making::Array(bytes, vec![b'[', element]))
            }
            ANEWARRAY => {
                let element = pool.class_name(instruction.pool_index()?).ok()?;
                let signature = match element.first() {
                    Some(b'[') => [b"[", element].concat(),
                    _ => [b"[L", element, b";"].concat(),
                };
                Some(Making::Array(0, signature))
            }
            MULTIANEWARRAY => instruction.array_operand().map(Making::Arrays),
            INVOKEDYNAMIC => {
                let index = instruction.pool_index()?;
                let Ok(Constant::InvokeDynamic { bootstrap, name_and_type }) = pool.get(index) else {
                    return None;
                };
                let (_, descriptor) = pool.name_and_type(name_and_type).ok()?;
                let captures = !descriptor.starts_with(b"()");
                let is_lambda = self.lambdas.get(usize::from(bootstrap)).copied().unwrap_or(false);
                (captures && is_lambda).then_some(Making::Result)
            }
            _ => {
                let call = call_of(instruction, pool)?;
                let makes = makes(&call, instruction.opcode);
                match call.descriptor.starts_with(ARRAY_OF_ARRAYS) && makes {
                    true => Some(Making::Arrays(u8::MAX)),
                    false => makes.then_some(Making::Result),
                }
            }
        }
    }
}

/// Inserts a probe that is told the site, and a copy of what is on the stack.
fn insert_before(
    edit: &mut MethodEdit<'_, '_, '_, '_>,
    instruction: &Instruction<'_>,
    copies: bool,
    site: u32,
    probe: &str,
    descriptor: &str,
) -> Result<(), EditError> {
    let mut s = Snippet::new();
    if copies {
        s.op(DUP);
    }
    edit.in_context(&mut s, |pool, probes, s| {
        probes.int(pool, s, site)?;
        probes.call_class(RUNTIME, pool, s, probe, descriptor)
    })?;
    edit.code.insert_before(instruction.bci, &s)
}

/// Bytes and signature of the elements of a primitive array, by the number that instructions have for it.
fn primitive(number: u8) -> Option<(u8, u8)> {
    Some(match number {
        4 => (1, b'Z'),
        5 => (2, b'C'),
        6 => (4, b'F'),
        7 => (8, b'D'),
        8 => (1, b'B'),
        9 => (2, b'S'),
        10 => (4, b'I'),
        11 => (8, b'J'),
        _ => return None,
    })
}

/// Methods that return something new and have no code that could be rewritten: native ones, those that the JIT replaces,
/// those of classes that are left alone. By owner and name.
const MAKERS: [(&[u8], &[u8]); 10] = [
    (b"java/lang/reflect/Array", b"newInstance"),
    (b"java/util/Arrays", b"copyOf"),
    (b"java/util/Arrays", b"copyOfRange"),
    (UTF16, b"toBytes"),
    (UTF16, b"newBytesFor"),
    (b"jdk/internal/misc/Unsafe", b"allocateInstance"),
    (b"jdk/internal/misc/Unsafe", b"allocateUninitializedArray"),
    (b"sun/misc/Unsafe", b"allocateInstance"),
    // Reflection: what it calls is made at times of its own.
    (b"jdk/internal/reflect/ConstructorAccessor", b"newInstance"),
    (b"sun/reflect/ConstructorAccessor", b"newInstance"),
];

/// Text that has not only Latin letters.
const UTF16: &[u8] = b"java/lang/StringUTF16";

/// `Array.newInstance` with a length for each level.
const ARRAY_OF_ARRAYS: &[u8] = b"(Ljava/lang/Class;[I)";

/// Whether a call returns something that is made by it, and counted nowhere else.
fn makes(call: &Call<'_>, opcode: u8) -> bool {
    if call.name == b"clone" && call.descriptor == b"()Ljava/lang/Object;" {
        // Other classes' methods of the name come here in the end.
        return call.owner.first() == Some(&b'[')
            || (call.owner == b"java/lang/Object" && opcode == INVOKESPECIAL);
    }
    let makes = MAKERS.contains(&(call.owner, call.name));
    makes
        && match call.owner {
            b"java/util/Arrays" => copies_references(call.descriptor),
            UTF16 => makes_bytes(call.name, call.descriptor),
            _ => true,
        }
}

/// The JIT makes the bytes of characters itself; code calls a method for that, whose other callers count what it makes.
fn makes_bytes(name: &[u8], descriptor: &[u8]) -> bool {
    matches!((name, descriptor), (b"toBytes", b"([CII)[B") | (b"newBytesFor", b"(I)[B"))
}

/// Copies of arrays of references are replaced by the JIT, others are not.
fn copies_references(descriptor: &[u8]) -> bool {
    descriptor.starts_with(b"([Ljava/lang/Object;ILjava/lang/Class;)")
        || descriptor.starts_with(b"([Ljava/lang/Object;IILjava/lang/Class;)")
}

/// Methods whose code runs in the interpreter only: callers count what they make.
fn is_replaced(method: &Method<'_, '_>) -> bool {
    match method.class().name() {
        b"java/util/Arrays" => method.name().starts_with(b"copyOf") && copies_references(method.descriptor()),
        UTF16 => makes_bytes(method.name(), method.descriptor()),
        _ => false,
    }
}

/// Which of a class's bootstrap methods make lambdas.
fn lambdas(class: &ClassFile<'_>) -> Vec<bool> {
    let pool = class.pool();
    let owner = |handle| match pool.get(handle) {
        Ok(Constant::MethodHandle { reference, .. }) => pool.member(reference).map(|member| member.owner),
        _ => Ok(&b""[..]),
    };
    let all = bootstrap_methods(class).into_iter();
    all.map(|bootstrap| owner(bootstrap.method) == Ok(b"java/lang/invoke/LambdaMetafactory")).collect()
}
