//! Names of instruction classes, for block analyses that users put together themselves.

use std::fmt;

use quipu_classfile::opcode::{InstructionClass, InstructionClasses};

const NAMES: &[(&str, &[InstructionClass])] = &[
    ("constants", &[InstructionClass::Constant]),
    ("arrays", &[InstructionClass::Array]),
    ("divisions", &[InstructionClass::Division]),
    ("fields", &[InstructionClass::StaticField, InstructionClass::InstanceField]),
    ("statics", &[InstructionClass::StaticField]),
    ("calls", &[InstructionClass::Invoke]),
    ("allocations", &[InstructionClass::Allocation]),
    ("casts", &[InstructionClass::TypeCheck]),
    ("monitors", &[InstructionClass::Monitor]),
    ("throws", &[InstructionClass::Throw]),
    ("jsr", &[InstructionClass::Jsr]),
];

/// A name that is none.
#[derive(Debug, PartialEq, Eq)]
pub struct UnknownClass(String);

impl fmt::Display for UnknownClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = NAMES.iter().map(|(name, _)| *name).collect();
        write!(f, "'{}' is no class of instructions; there are {}", self.0, names.join(", "))
    }
}

/// The set that a list such as `calls,throws` stands for.
pub fn parse_classes(list: &str) -> Result<InstructionClasses, UnknownClass> {
    list.split(',').map(str::trim).try_fold(InstructionClasses::EMPTY, |set, name| {
        let (_, classes) =
            NAMES.iter().find(|(known, _)| *known == name).ok_or(UnknownClass(name.to_owned()))?;
        Ok(set.union(InstructionClasses::of(classes)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_become_sets() {
        let set = parse_classes("calls, throws").unwrap();
        assert!(set.contains(InstructionClass::Invoke) && set.contains(InstructionClass::Throw));
        assert!(!set.contains(InstructionClass::Array));
        assert!(parse_classes("calls,nonsense").unwrap_err().to_string().contains("'nonsense' is no class"));
    }
}
