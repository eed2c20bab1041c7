//! Operands the way people read them.

use quipu_classfile::opcode::Operands;
use quipu_classfile::{Constant, ConstantPool, Instruction, MemberRef, mutf8};

/// Letters of a string constant that are shown.
const LONGEST: usize = 60;

/// What an instruction works on; `?` for constants that the class does not have.
pub(crate) fn shown(instruction: &Instruction<'_>, pool: &ConstantPool<'_>) -> String {
    let number = |value: Option<i32>| value.map_or(String::new(), |value| value.to_string());
    let local = || instruction.local().map_or(String::new(), |local| local.to_string());
    let referred = || instruction.pool_index().map_or("?".to_owned(), |index| constant(pool, index));
    match instruction.info().operands {
        Operands::None | Operands::Implicit | Operands::Wide | Operands::Undefined => String::new(),
        Operands::Byte | Operands::Short => number(instruction.immediate()),
        Operands::Local => local(),
        Operands::Iinc => format!("{}, {}", local(), number(instruction.immediate())),
        Operands::Branch2 | Operands::Branch4 => {
            instruction.branch_target().map_or(String::new(), |target| target.to_string())
        }
        Operands::TableSwitch | Operands::LookupSwitch => switch(instruction),
        Operands::Pool1 | Operands::Pool2 | Operands::InvokeInterface | Operands::InvokeDynamic => referred(),
        Operands::MultiNewArray => {
            format!("{}, {}", referred(), instruction.array_operand().unwrap_or_default())
        }
        Operands::ArrayType => {
            const TYPES: [&str; 8] = ["boolean", "char", "float", "double", "byte", "short", "int", "long"];
            let code = instruction.array_operand().unwrap_or_default();
            let known = usize::from(code).checked_sub(4).and_then(|at| TYPES.get(at));
            known.map_or_else(|| code.to_string(), |name| (*name).to_owned())
        }
    }
}

fn switch(instruction: &Instruction<'_>) -> String {
    let Some(switch) = instruction.switch() else { return String::new() };
    let mut cases: Vec<String> = switch.cases().map(|(key, target)| format!("{key}: {target}")).collect();
    cases.push(format!("default: {}", switch.default));
    cases.join(", ")
}

fn constant(pool: &ConstantPool<'_>, index: u16) -> String {
    let class = |index: u16| pool.class_name(index).map(dotted);
    let shown = match pool.get(index) {
        Ok(Constant::Integer(value)) => Ok(value.to_string()),
        Ok(Constant::Float(bits)) => Ok(f32::from_bits(bits).to_string()),
        Ok(Constant::Long(value)) => Ok(value.to_string()),
        Ok(Constant::Double(bits)) => Ok(f64::from_bits(bits).to_string()),
        Ok(Constant::Class { .. }) => class(index),
        Ok(Constant::String { utf8 }) => pool.utf8(utf8).map(quoted),
        Ok(Constant::MethodType { descriptor }) => pool.utf8(descriptor).map(mutf8::decode),
        Ok(Constant::MethodHandle { reference, .. }) => pool.member(reference).map(member),
        Ok(_) => pool.member(index).map(member),
        Err(error) => Err(error),
    };
    shown.unwrap_or_else(|_| "?".to_owned())
}

fn member(member: MemberRef<'_>) -> String {
    let owner = if member.owner.is_empty() { String::new() } else { dotted(member.owner) + "." };
    let (name, descriptor) = (mutf8::decode(member.name), mutf8::decode(member.descriptor));
    let space = if descriptor.starts_with('(') { "" } else { " " };
    format!("{owner}{name}{space}{descriptor}")
}

fn dotted(name: &[u8]) -> String {
    mutf8::decode(name).replace('/', ".")
}

fn quoted(text: &[u8]) -> String {
    let text = mutf8::decode(text);
    let cut: String = text.chars().take(LONGEST).collect();
    let dots = if cut.len() < text.len() { "..." } else { "" };
    format!("{cut:?}{dots}")
}
