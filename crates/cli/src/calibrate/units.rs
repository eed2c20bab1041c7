//! What is measured: for each opcode a short piece of code that runs it once and leaves the stack as it was.
//!
//! Operands have to be put on the stack and results taken off again; what is whose share is for `fit` to find out.

use quipu_classfile::opcode::*;

use super::assembler::Assembler;

/// The class that is measured.
pub const CLASS: &str = "Units";

/// Local variables of the measured methods; 0 counts rounds, 2 and 3 are for opcodes that name them.
mod local {
    pub const INT: u8 = 4;
    pub const LONG: u8 = 5;
    pub const FLOAT: u8 = 7;
    pub const DOUBLE: u8 = 8;
    pub const OBJECT: u8 = 10;
    /// Arrays of int, long, float, double, byte, char, short and references.
    pub const ARRAYS: u8 = 11;
}

/// A piece of code.
#[derive(Debug, Default, Clone)]
pub struct Unit {
    /// The opcode it is for, and those that are taken to cost the same.
    pub family: Vec<u8>,
    /// The other opcodes it runs.
    pub others: Vec<u8>,
    /// Run once before.
    pub before: Vec<u8>,
    /// The code; a switch is aligned when it is put in place.
    pub code: Vec<u8>,
}

/// All units. No opcode is in two families.
pub fn units(class: &mut Assembler) -> Vec<Unit> {
    let mut units = vec![unit(&[NOP], &[], &[NOP])];
    units.push(unit(
        &[ICONST_1, ICONST_M1, ICONST_0, ICONST_2, ICONST_3, ICONST_4, ICONST_5],
        &[POP],
        &[ICONST_1, POP],
    ));
    units.push(unit(&[LCONST_1, LCONST_0], &[POP2], &[LCONST_1, POP2]));
    units.push(unit(&[FCONST_1, FCONST_0, FCONST_2], &[POP], &[FCONST_1, POP]));
    units.push(unit(&[DCONST_1, DCONST_0], &[POP2], &[DCONST_1, POP2]));
    units.push(unit(&[ACONST_NULL], &[POP], &[ACONST_NULL, POP]));
    units.push(unit(&[ALOAD], &[POP], &[ALOAD, local::OBJECT, POP]));
    units.push(unit(&[BIPUSH], &[POP], &[BIPUSH, 7, POP]));
    units.push(unit(&[SIPUSH], &[POP], &[SIPUSH, 1, 7, POP]));
    units.push(unit(&[IINC], &[], &[IINC, local::INT, 1]));
    locals(&mut units);
    for op in 0..=MONITOREXIT {
        let row = opcode(op);
        let plain = row.operands == Operands::None
            && matches!(
                row.class,
                InstructionClass::Plain | InstructionClass::Array | InstructionClass::Division
            );
        let has_unit = matches!(op, POP | POP2) || units.iter().any(|unit| unit.family.contains(&op));
        if plain && !has_unit {
            units.push(from_effect(op, row.effect, &[]));
        }
        if row.class == InstructionClass::Branch {
            units.push(from_effect(op, row.effect, &[0, 3]));
        }
    }
    for op in [IFNULL, IFNONNULL] {
        units.push(from_effect(op, "A>", &[0, 3]));
    }
    // Nobody can run a return without a call; it is a jump like others, and the rest is the call's.
    let returns = [RETURN, IRETURN, LRETURN, FRETURN, DRETURN, ARETURN];
    units.push(unit(&[&[GOTO, JSR, RET][..], &returns].concat(), &[], &[GOTO, 0, 3]));
    units.push(unit(&[GOTO_W, JSR_W], &[], &[GOTO_W, 0, 0, 0, 5]));
    for op in [TABLESWITCH, LOOKUPSWITCH] {
        units.push(unit(&[op], &[ICONST_1], &[ICONST_1, op]));
    }
    members(&mut units, class);
    objects(&mut units, class);
    units
}

fn unit(family: &[u8], others: &[u8], code: &[u8]) -> Unit {
    Unit { family: family.to_vec(), others: others.to_vec(), before: Vec::new(), code: code.to_vec() }
}

/// Loads and stores, with and without the local variable in the opcode.
fn locals(units: &mut Vec<Unit>) {
    let kinds = [
        (ILOAD, ISTORE, ILOAD_0, ISTORE_0, ICONST_1, POP, local::INT),
        (LLOAD, LSTORE, LLOAD_0, LSTORE_0, LCONST_1, POP2, local::LONG),
        (FLOAD, FSTORE, FLOAD_0, FSTORE_0, FCONST_1, POP, local::FLOAT),
        (DLOAD, DSTORE, DLOAD_0, DSTORE_0, DCONST_1, POP2, local::DOUBLE),
        (ALOAD, ASTORE, ALOAD_0, ASTORE_0, ACONST_NULL, POP, local::OBJECT + 10),
    ];
    for (load, store, load_0, store_0, push, pop, at) in kinds {
        let all = |first: u8| [first, first + 1, first + 2, first + 3];
        if load != ALOAD {
            units.push(unit(&[load], &[pop], &[load, at, pop]));
        }
        units.push(unit(&[store], &[push], &[push, store, at]));
        units
            .push(Unit { before: vec![push, store_0 + 2], ..unit(&all(load_0), &[pop], &[load_0 + 2, pop]) });
        units.push(unit(&all(store_0), &[push], &[push, store_0 + 2]));
    }
}

/// The unit of an opcode whose operands can be read off its stack effect.
fn from_effect(op: u8, effect: &str, operands: &[u8]) -> Unit {
    let (popped, pushed) = effect.split_once('>').unwrap_or((effect, ""));
    let (mut others, mut code) = (Vec::new(), Vec::new());
    for kind in popped.bytes() {
        match kind {
            b'J' => (others.push(LCONST_1), code.push(LCONST_1)),
            b'F' => (others.push(FCONST_1), code.push(FCONST_1)),
            b'D' => (others.push(DCONST_1), code.push(DCONST_1)),
            // The array comes first; what is stored in it is an object.
            b'A' if code.is_empty() => (others.push(ALOAD), code.extend([ALOAD, array_of(op)])),
            b'A' => (others.push(ALOAD), code.extend([ALOAD, local::OBJECT])),
            _ => (others.push(ICONST_1), code.push(ICONST_1)),
        };
    }
    code.push(op);
    code.extend(operands);
    for kind in pushed.bytes().rev() {
        let pop = if matches!(kind, b'J' | b'D') { POP2 } else { POP };
        others.push(pop);
        code.push(pop);
    }
    unit(&[op], &others, &code)
}

/// The local variable with what an opcode works on: an array of its type, or any object.
fn array_of(op: u8) -> u8 {
    match op {
        IALOAD..=SALOAD => {
            // The table has references before bytes; the local variables have them last.
            let kind = op - IALOAD;
            local::ARRAYS
                + match kind {
                    4 => 7,
                    5..=7 => kind - 1,
                    _ => kind,
                }
        }
        IASTORE..=SASTORE => array_of(op - IASTORE + IALOAD),
        ARRAYLENGTH => local::ARRAYS,
        _ => local::OBJECT,
    }
}

fn members(units: &mut Vec<Unit>, class: &mut Assembler) {
    let with = |op: u8, index: u16| {
        let [high, low] = index.to_be_bytes();
        vec![op, high, low]
    };
    let object = [ALOAD, local::OBJECT];
    let int = class.int(123_456);
    units.push(unit(&[LDC_W, LDC], &[POP], &[with(LDC_W, int), vec![POP]].concat()));
    let long = class.long(1 << 40);
    units.push(unit(&[LDC2_W], &[POP2], &[with(LDC2_W, long), vec![POP2]].concat()));
    let (shared, own) = (class.field_ref(CLASS, "shared", "I"), class.field_ref(CLASS, "own", "I"));
    units.push(unit(&[GETSTATIC], &[POP], &[with(GETSTATIC, shared), vec![POP]].concat()));
    units.push(unit(&[PUTSTATIC], &[ICONST_1], &[vec![ICONST_1], with(PUTSTATIC, shared)].concat()));
    units.push(unit(&[GETFIELD], &[ALOAD, POP], &[object.to_vec(), with(GETFIELD, own), vec![POP]].concat()));
    let put = [object.to_vec(), vec![ICONST_1], with(PUTFIELD, own)].concat();
    units.push(unit(&[PUTFIELD], &[ALOAD, ICONST_1], &put));
    let short = class.method_ref(CLASS, "short", "()V");
    units.push(unit(&[INVOKESTATIC, INVOKEDYNAMIC], &[NOP, RETURN], &with(INVOKESTATIC, short)));
    let run = class.method_ref(CLASS, "run", "()V");
    for op in [INVOKEVIRTUAL, INVOKESPECIAL] {
        units.push(unit(&[op], &[ALOAD, NOP, RETURN], &[object.to_vec(), with(op, run)].concat()));
    }
    let interface = class.interface_ref("java/lang/Runnable", "run", "()V");
    let call = [object.to_vec(), with(INVOKEINTERFACE, interface), vec![1, 0]].concat();
    units.push(unit(&[INVOKEINTERFACE], &[ALOAD, NOP, RETURN], &call));
}

fn objects(units: &mut Vec<Unit>, class: &mut Assembler) {
    let own = class.class(CLASS).to_be_bytes();
    let matrix = class.class("[[I").to_be_bytes();
    units.push(unit(&[NEW], &[POP], &[NEW, own[0], own[1], POP]));
    units.push(unit(&[NEWARRAY], &[ICONST_1, POP], &[ICONST_1, NEWARRAY, 10, POP]));
    units.push(unit(&[ANEWARRAY], &[ICONST_1, POP], &[ICONST_1, ANEWARRAY, own[0], own[1], POP]));
    let multi = [ICONST_1, ICONST_1, MULTIANEWARRAY, matrix[0], matrix[1], 2, POP];
    units.push(unit(&[MULTIANEWARRAY], &[ICONST_1, ICONST_1, POP], &multi));
    for op in [CHECKCAST, INSTANCEOF] {
        units.push(unit(&[op], &[ALOAD, POP], &[ALOAD, local::OBJECT, op, own[0], own[1], POP]));
    }
    let lock = [ALOAD, local::OBJECT, MONITORENTER, ALOAD, local::OBJECT, MONITOREXIT];
    units.push(unit(&[MONITORENTER, MONITOREXIT], &[ALOAD, ALOAD, MONITOREXIT], &lock));
}

/// What every measured method does first: gives its local variables values.
pub fn prologue(class: &mut Assembler) -> Vec<u8> {
    let mut code =
        vec![ICONST_1, ISTORE, local::INT, LCONST_1, LSTORE, local::LONG, FCONST_1, FSTORE, local::FLOAT];
    code.extend([DCONST_1, DSTORE, local::DOUBLE, ACONST_NULL, ASTORE, local::OBJECT + 10, NEW]);
    let own = class.class(CLASS).to_be_bytes();
    code.extend(own);
    code.extend([DUP, INVOKESPECIAL]);
    code.extend(class.method_ref(CLASS, "<init>", "()V").to_be_bytes());
    code.extend([ASTORE, local::OBJECT]);
    // The codes of int, long, float, double, byte, char and short.
    for (i, kind) in [10, 11, 6, 7, 8, 5, 9].into_iter().enumerate() {
        code.extend([ICONST_4, NEWARRAY, kind, ASTORE, local::ARRAYS + i as u8]);
    }
    code.extend([ICONST_4, ANEWARRAY, own[0], own[1], ASTORE, local::ARRAYS + 7]);
    code
}
