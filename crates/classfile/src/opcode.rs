//! The one opcode table: mnemonic, operand layout, stack effect, instruction class.
//!
//! Everything that decodes, encodes, prints or simulates instructions reads it. A stack effect is written
//! `popped>pushed`, the top of the stack last: `I J F D` are the primitive kinds, `A` a reference, `N` null, `U` an
//! object not yet initialised, `R` a return address, `1` any one slot; `*` depends on the constant or operand.

/// Operand layout after the opcode byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operands {
    /// No operand.
    None,
    /// No operand; the opcode itself names local 0 to 3.
    Implicit,
    /// A signed byte.
    Byte,
    /// A signed short.
    Short,
    /// A constant pool index of one byte.
    Pool1,
    /// A constant pool index.
    Pool2,
    /// A local variable (two bytes under `wide`).
    Local,
    /// A local variable and a signed increment (each two bytes under `wide`).
    Iinc,
    /// A 16-bit branch offset.
    Branch2,
    /// A 32-bit branch offset.
    Branch4,
    /// Padding, default, low, high, offsets.
    TableSwitch,
    /// Padding, default, count, pairs of key and offset.
    LookupSwitch,
    /// Constant pool index, argument count, zero.
    InvokeInterface,
    /// Constant pool index, two zeros.
    InvokeDynamic,
    /// A primitive array type code.
    ArrayType,
    /// Constant pool index and number of dimensions.
    MultiNewArray,
    /// Prefix of a longer form of load, store, ret or iinc.
    Wide,
    /// Not an opcode.
    Undefined,
}

/// What an instruction does to control flow, or why it may throw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum InstructionClass {
    /// Neither transfers control nor throws.
    Plain,
    /// `ldc` and its wide forms; class, string, method and dynamic constants are resolved and may throw.
    Constant,
    /// Array loads and stores, `arraylength`.
    Array,
    /// Integer division and remainder.
    Division,
    /// `getstatic`, `putstatic` (class initialisation).
    StaticField,
    /// `getfield`, `putfield`.
    InstanceField,
    /// All method calls.
    Invoke,
    /// Object and array creation.
    Allocation,
    /// `checkcast`, `instanceof`.
    TypeCheck,
    /// `monitorenter`, `monitorexit`.
    Monitor,
    /// `athrow`.
    Throw,
    /// Conditional branches.
    Branch,
    /// `goto`, `goto_w`.
    Goto,
    /// `tableswitch`, `lookupswitch`.
    Switch,
    /// All returns.
    Return,
    /// `jsr`, `jsr_w`.
    Jsr,
    /// `ret`.
    Ret,
}

use InstructionClass::*;

/// A set of instruction classes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InstructionClasses(u32);

impl InstructionClasses {
    /// No class.
    pub const EMPTY: Self = InstructionClasses(0);
    /// Everything that may transfer control other than to the next instruction and does not come back by itself.
    pub const CONTROL: Self = Self::of(&[Throw, Branch, Goto, Switch, Return, Ret]);
    /// Everything that may throw.
    pub const MAY_THROW: Self = Self::of(&[
        Constant,
        Array,
        Division,
        StaticField,
        InstanceField,
        Invoke,
        Allocation,
        TypeCheck,
        Monitor,
        Throw,
        Return,
    ]);
    /// Never followed by the next instruction in the code.
    pub const NO_FALL_THROUGH: Self = Self::of(&[Throw, Goto, Switch, Return, Ret]);

    /// The set of these classes.
    pub const fn of(classes: &[InstructionClass]) -> Self {
        let mut bits = 0;
        let mut rest = classes;
        while let [first, tail @ ..] = rest {
            bits |= 1 << *first as u32;
            rest = tail;
        }
        InstructionClasses(bits)
    }

    /// Both sets together.
    pub const fn union(self, other: Self) -> Self {
        InstructionClasses(self.0 | other.0)
    }

    /// Is the class in the set?
    #[inline]
    pub const fn contains(self, class: InstructionClass) -> bool {
        self.0 & (1 << class as u32) != 0
    }
}

/// A row of the table.
#[derive(Clone, Copy, Debug)]
pub struct Opcode {
    /// JVMS mnemonic.
    pub mnemonic: &'static str,
    /// Operand layout.
    pub operands: Operands,
    /// Stack effect in the notation of this module.
    pub effect: &'static str,
    /// Instruction class.
    pub class: InstructionClass,
    /// Slots popped and pushed; `None` when it depends on the operand.
    pub slots: Option<(u8, u8)>,
    /// Length in bytes; 0 when it varies or the opcode is undefined.
    pub length: u8,
}

const UNDEFINED: Opcode = Opcode {
    mnemonic: "undefined",
    operands: Operands::Undefined,
    effect: "*",
    class: Plain,
    slots: None,
    length: 0,
};

impl Opcode {
    /// May this instruction throw? (`ldc` may, depending on its constant.)
    pub const fn may_throw(&self) -> bool {
        InstructionClasses::MAY_THROW.contains(self.class)
    }

    /// Does it end a basic block in every analysis?
    pub const fn ends_block(&self) -> bool {
        InstructionClasses::CONTROL.contains(self.class)
    }

    /// Can control reach the following instruction? (After `jsr` it does so through `ret`.)
    pub const fn falls_through(&self) -> bool {
        !InstructionClasses::NO_FALL_THROUGH.contains(self.class)
    }

    const fn new(
        mnemonic: &'static str,
        operands: Operands,
        effect: &'static str,
        class: InstructionClass,
    ) -> Self {
        let length = match operands {
            Operands::None | Operands::Implicit => 1,
            Operands::Byte | Operands::Pool1 | Operands::Local | Operands::ArrayType => 2,
            Operands::Short | Operands::Pool2 | Operands::Iinc | Operands::Branch2 => 3,
            Operands::MultiNewArray => 4,
            Operands::InvokeInterface | Operands::InvokeDynamic | Operands::Branch4 => 5,
            Operands::TableSwitch | Operands::LookupSwitch | Operands::Wide | Operands::Undefined => 0,
        };
        Opcode { mnemonic, operands, effect, class, slots: slots(effect), length }
    }
}

const fn slots(effect: &str) -> Option<(u8, u8)> {
    let (mut popped, mut pushed, mut after) = (0, 0, false);
    let mut rest = effect.as_bytes();
    while let [kind, tail @ ..] = rest {
        let size = match kind {
            b'*' => return None,
            b'>' => {
                after = true;
                0
            }
            b'J' | b'D' => 2,
            _ => 1,
        };
        if after {
            pushed += size;
        } else {
            popped += size;
        }
        rest = tail;
    }
    Some((popped, pushed))
}

/// The row of an opcode byte.
#[inline]
pub fn opcode(op: u8) -> &'static Opcode {
    // In bounds for every u8; the fallback is never taken and costs nothing.
    OPCODES.get(usize::from(op)).unwrap_or(&UNDEFINED)
}

/// Length of every opcode, 0 if it varies or there is no such opcode.
#[allow(clippy::indexing_slicing)] // evaluated by the compiler
static LENGTHS: [u8; 256] = {
    let mut lengths = [0; 256];
    let mut op = 0;
    while op < 256 {
        lengths[op] = TABLE[op].length;
        op += 1;
    }
    lengths
};

/// Length of an instruction, 0 if it varies or there is no such opcode.
#[inline]
pub(crate) fn length(op: u8) -> usize {
    LENGTHS.get(usize::from(op)).copied().unwrap_or(0).into()
}

/// What a pass over code must know of each opcode. 1 KB stays in the first-level cache, the full rows would not.
#[allow(clippy::indexing_slicing)] // evaluated by the compiler
static STEPS: [u32; 256] = {
    let mut steps = [step::STOP; 256];
    let mut op = 0;
    while op < 256 {
        let row = &TABLE[op];
        let flags = match row.class {
            Branch => Some(step::JUMP),
            Goto if row.length == 3 => Some(step::JUMP | step::LEAVES),
            Return | Throw => Some(step::LEAVES),
            Goto | Switch | Jsr | Ret => None,
            _ => Some(0),
        };
        if let Some(flags) = flags
            && row.length != 0
        {
            steps[op] = (row.length as u32 - 1) << step::REST | flags | step::START;
        }
        op += 1;
    }
    steps
};

/// Parts of a [`step()`].
pub(crate) mod step {
    /// An instruction starts here: always set.
    pub(crate) const START: u32 = 1;
    /// It is a conditional branch or a `goto`, of three bytes.
    pub(crate) const JUMP: u32 = 1 << 8;
    /// Control does not go on to the next instruction.
    pub(crate) const LEAVES: u32 = 1 << 16;
    /// The highest bits, from this one on, are the length less one.
    pub(crate) const REST: u32 = 28;
    /// For what has no fixed length, transfers control in another way, or is no instruction. As a length it reaches
    /// further past eight bytes, wherever it is in them, than any instruction does.
    pub(crate) const STOP: u32 = 15 << REST | START;
}

/// How to step over an instruction with this opcode.
#[inline]
pub(crate) fn step(op: u8) -> u32 {
    STEPS.get(usize::from(op)).copied().unwrap_or(step::STOP)
}

macro_rules! opcodes {
    ($(($value:literal, $name:ident, $mnemonic:literal, $operands:ident, $effect:literal, $class:ident),)*) => {
        $(#[doc = concat!("`", $mnemonic, "`")] pub const $name: u8 = $value;)*

        /// All rows, indexed by opcode.
        pub static OPCODES: [Opcode; 256] = TABLE;

        const TABLE: [Opcode; 256] = {
            let mut table = [UNDEFINED; 256];
            $(table[$value] = Opcode::new($mnemonic, Operands::$operands, $effect, $class);)*
            table
        };
    };
}

#[rustfmt::skip]
opcodes![
    (0x00, NOP, "nop", None, ">", Plain),
    (0x01, ACONST_NULL, "aconst_null", None, ">N", Plain),
    (0x02, ICONST_M1, "iconst_m1", None, ">I", Plain),
    (0x03, ICONST_0, "iconst_0", None, ">I", Plain),
    (0x04, ICONST_1, "iconst_1", None, ">I", Plain),
    (0x05, ICONST_2, "iconst_2", None, ">I", Plain),
    (0x06, ICONST_3, "iconst_3", None, ">I", Plain),
    (0x07, ICONST_4, "iconst_4", None, ">I", Plain),
    (0x08, ICONST_5, "iconst_5", None, ">I", Plain),
    (0x09, LCONST_0, "lconst_0", None, ">J", Plain),
    (0x0a, LCONST_1, "lconst_1", None, ">J", Plain),
    (0x0b, FCONST_0, "fconst_0", None, ">F", Plain),
    (0x0c, FCONST_1, "fconst_1", None, ">F", Plain),
    (0x0d, FCONST_2, "fconst_2", None, ">F", Plain),
    (0x0e, DCONST_0, "dconst_0", None, ">D", Plain),
    (0x0f, DCONST_1, "dconst_1", None, ">D", Plain),
    (0x10, BIPUSH, "bipush", Byte, ">I", Plain),
    (0x11, SIPUSH, "sipush", Short, ">I", Plain),
    (0x12, LDC, "ldc", Pool1, "*", Constant),
    (0x13, LDC_W, "ldc_w", Pool2, "*", Constant),
    (0x14, LDC2_W, "ldc2_w", Pool2, "*", Constant),
    (0x15, ILOAD, "iload", Local, ">I", Plain),
    (0x16, LLOAD, "lload", Local, ">J", Plain),
    (0x17, FLOAD, "fload", Local, ">F", Plain),
    (0x18, DLOAD, "dload", Local, ">D", Plain),
    (0x19, ALOAD, "aload", Local, ">A", Plain),
    (0x1a, ILOAD_0, "iload_0", Implicit, ">I", Plain),
    (0x1b, ILOAD_1, "iload_1", Implicit, ">I", Plain),
    (0x1c, ILOAD_2, "iload_2", Implicit, ">I", Plain),
    (0x1d, ILOAD_3, "iload_3", Implicit, ">I", Plain),
    (0x1e, LLOAD_0, "lload_0", Implicit, ">J", Plain),
    (0x1f, LLOAD_1, "lload_1", Implicit, ">J", Plain),
    (0x20, LLOAD_2, "lload_2", Implicit, ">J", Plain),
    (0x21, LLOAD_3, "lload_3", Implicit, ">J", Plain),
    (0x22, FLOAD_0, "fload_0", Implicit, ">F", Plain),
    (0x23, FLOAD_1, "fload_1", Implicit, ">F", Plain),
    (0x24, FLOAD_2, "fload_2", Implicit, ">F", Plain),
    (0x25, FLOAD_3, "fload_3", Implicit, ">F", Plain),
    (0x26, DLOAD_0, "dload_0", Implicit, ">D", Plain),
    (0x27, DLOAD_1, "dload_1", Implicit, ">D", Plain),
    (0x28, DLOAD_2, "dload_2", Implicit, ">D", Plain),
    (0x29, DLOAD_3, "dload_3", Implicit, ">D", Plain),
    (0x2a, ALOAD_0, "aload_0", Implicit, ">A", Plain),
    (0x2b, ALOAD_1, "aload_1", Implicit, ">A", Plain),
    (0x2c, ALOAD_2, "aload_2", Implicit, ">A", Plain),
    (0x2d, ALOAD_3, "aload_3", Implicit, ">A", Plain),
    (0x2e, IALOAD, "iaload", None, "AI>I", Array),
    (0x2f, LALOAD, "laload", None, "AI>J", Array),
    (0x30, FALOAD, "faload", None, "AI>F", Array),
    (0x31, DALOAD, "daload", None, "AI>D", Array),
    (0x32, AALOAD, "aaload", None, "AI>A", Array),
    (0x33, BALOAD, "baload", None, "AI>I", Array),
    (0x34, CALOAD, "caload", None, "AI>I", Array),
    (0x35, SALOAD, "saload", None, "AI>I", Array),
    (0x36, ISTORE, "istore", Local, "I>", Plain),
    (0x37, LSTORE, "lstore", Local, "J>", Plain),
    (0x38, FSTORE, "fstore", Local, "F>", Plain),
    (0x39, DSTORE, "dstore", Local, "D>", Plain),
    (0x3a, ASTORE, "astore", Local, "A>", Plain),
    (0x3b, ISTORE_0, "istore_0", Implicit, "I>", Plain),
    (0x3c, ISTORE_1, "istore_1", Implicit, "I>", Plain),
    (0x3d, ISTORE_2, "istore_2", Implicit, "I>", Plain),
    (0x3e, ISTORE_3, "istore_3", Implicit, "I>", Plain),
    (0x3f, LSTORE_0, "lstore_0", Implicit, "J>", Plain),
    (0x40, LSTORE_1, "lstore_1", Implicit, "J>", Plain),
    (0x41, LSTORE_2, "lstore_2", Implicit, "J>", Plain),
    (0x42, LSTORE_3, "lstore_3", Implicit, "J>", Plain),
    (0x43, FSTORE_0, "fstore_0", Implicit, "F>", Plain),
    (0x44, FSTORE_1, "fstore_1", Implicit, "F>", Plain),
    (0x45, FSTORE_2, "fstore_2", Implicit, "F>", Plain),
    (0x46, FSTORE_3, "fstore_3", Implicit, "F>", Plain),
    (0x47, DSTORE_0, "dstore_0", Implicit, "D>", Plain),
    (0x48, DSTORE_1, "dstore_1", Implicit, "D>", Plain),
    (0x49, DSTORE_2, "dstore_2", Implicit, "D>", Plain),
    (0x4a, DSTORE_3, "dstore_3", Implicit, "D>", Plain),
    (0x4b, ASTORE_0, "astore_0", Implicit, "A>", Plain),
    (0x4c, ASTORE_1, "astore_1", Implicit, "A>", Plain),
    (0x4d, ASTORE_2, "astore_2", Implicit, "A>", Plain),
    (0x4e, ASTORE_3, "astore_3", Implicit, "A>", Plain),
    (0x4f, IASTORE, "iastore", None, "AII>", Array),
    (0x50, LASTORE, "lastore", None, "AIJ>", Array),
    (0x51, FASTORE, "fastore", None, "AIF>", Array),
    (0x52, DASTORE, "dastore", None, "AID>", Array),
    (0x53, AASTORE, "aastore", None, "AIA>", Array),
    (0x54, BASTORE, "bastore", None, "AII>", Array),
    (0x55, CASTORE, "castore", None, "AII>", Array),
    (0x56, SASTORE, "sastore", None, "AII>", Array),
    (0x57, POP, "pop", None, "1>", Plain),
    (0x58, POP2, "pop2", None, "11>", Plain),
    (0x59, DUP, "dup", None, "1>11", Plain),
    (0x5a, DUP_X1, "dup_x1", None, "11>111", Plain),
    (0x5b, DUP_X2, "dup_x2", None, "111>1111", Plain),
    (0x5c, DUP2, "dup2", None, "11>1111", Plain),
    (0x5d, DUP2_X1, "dup2_x1", None, "111>11111", Plain),
    (0x5e, DUP2_X2, "dup2_x2", None, "1111>111111", Plain),
    (0x5f, SWAP, "swap", None, "11>11", Plain),
    (0x60, IADD, "iadd", None, "II>I", Plain),
    (0x61, LADD, "ladd", None, "JJ>J", Plain),
    (0x62, FADD, "fadd", None, "FF>F", Plain),
    (0x63, DADD, "dadd", None, "DD>D", Plain),
    (0x64, ISUB, "isub", None, "II>I", Plain),
    (0x65, LSUB, "lsub", None, "JJ>J", Plain),
    (0x66, FSUB, "fsub", None, "FF>F", Plain),
    (0x67, DSUB, "dsub", None, "DD>D", Plain),
    (0x68, IMUL, "imul", None, "II>I", Plain),
    (0x69, LMUL, "lmul", None, "JJ>J", Plain),
    (0x6a, FMUL, "fmul", None, "FF>F", Plain),
    (0x6b, DMUL, "dmul", None, "DD>D", Plain),
    (0x6c, IDIV, "idiv", None, "II>I", Division),
    (0x6d, LDIV, "ldiv", None, "JJ>J", Division),
    (0x6e, FDIV, "fdiv", None, "FF>F", Plain),
    (0x6f, DDIV, "ddiv", None, "DD>D", Plain),
    (0x70, IREM, "irem", None, "II>I", Division),
    (0x71, LREM, "lrem", None, "JJ>J", Division),
    (0x72, FREM, "frem", None, "FF>F", Plain),
    (0x73, DREM, "drem", None, "DD>D", Plain),
    (0x74, INEG, "ineg", None, "I>I", Plain),
    (0x75, LNEG, "lneg", None, "J>J", Plain),
    (0x76, FNEG, "fneg", None, "F>F", Plain),
    (0x77, DNEG, "dneg", None, "D>D", Plain),
    (0x78, ISHL, "ishl", None, "II>I", Plain),
    (0x79, LSHL, "lshl", None, "JI>J", Plain),
    (0x7a, ISHR, "ishr", None, "II>I", Plain),
    (0x7b, LSHR, "lshr", None, "JI>J", Plain),
    (0x7c, IUSHR, "iushr", None, "II>I", Plain),
    (0x7d, LUSHR, "lushr", None, "JI>J", Plain),
    (0x7e, IAND, "iand", None, "II>I", Plain),
    (0x7f, LAND, "land", None, "JJ>J", Plain),
    (0x80, IOR, "ior", None, "II>I", Plain),
    (0x81, LOR, "lor", None, "JJ>J", Plain),
    (0x82, IXOR, "ixor", None, "II>I", Plain),
    (0x83, LXOR, "lxor", None, "JJ>J", Plain),
    (0x84, IINC, "iinc", Iinc, ">", Plain),
    (0x85, I2L, "i2l", None, "I>J", Plain),
    (0x86, I2F, "i2f", None, "I>F", Plain),
    (0x87, I2D, "i2d", None, "I>D", Plain),
    (0x88, L2I, "l2i", None, "J>I", Plain),
    (0x89, L2F, "l2f", None, "J>F", Plain),
    (0x8a, L2D, "l2d", None, "J>D", Plain),
    (0x8b, F2I, "f2i", None, "F>I", Plain),
    (0x8c, F2L, "f2l", None, "F>J", Plain),
    (0x8d, F2D, "f2d", None, "F>D", Plain),
    (0x8e, D2I, "d2i", None, "D>I", Plain),
    (0x8f, D2L, "d2l", None, "D>J", Plain),
    (0x90, D2F, "d2f", None, "D>F", Plain),
    (0x91, I2B, "i2b", None, "I>I", Plain),
    (0x92, I2C, "i2c", None, "I>I", Plain),
    (0x93, I2S, "i2s", None, "I>I", Plain),
    (0x94, LCMP, "lcmp", None, "JJ>I", Plain),
    (0x95, FCMPL, "fcmpl", None, "FF>I", Plain),
    (0x96, FCMPG, "fcmpg", None, "FF>I", Plain),
    (0x97, DCMPL, "dcmpl", None, "DD>I", Plain),
    (0x98, DCMPG, "dcmpg", None, "DD>I", Plain),
    (0x99, IFEQ, "ifeq", Branch2, "I>", Branch),
    (0x9a, IFNE, "ifne", Branch2, "I>", Branch),
    (0x9b, IFLT, "iflt", Branch2, "I>", Branch),
    (0x9c, IFGE, "ifge", Branch2, "I>", Branch),
    (0x9d, IFGT, "ifgt", Branch2, "I>", Branch),
    (0x9e, IFLE, "ifle", Branch2, "I>", Branch),
    (0x9f, IF_ICMPEQ, "if_icmpeq", Branch2, "II>", Branch),
    (0xa0, IF_ICMPNE, "if_icmpne", Branch2, "II>", Branch),
    (0xa1, IF_ICMPLT, "if_icmplt", Branch2, "II>", Branch),
    (0xa2, IF_ICMPGE, "if_icmpge", Branch2, "II>", Branch),
    (0xa3, IF_ICMPGT, "if_icmpgt", Branch2, "II>", Branch),
    (0xa4, IF_ICMPLE, "if_icmple", Branch2, "II>", Branch),
    (0xa5, IF_ACMPEQ, "if_acmpeq", Branch2, "AA>", Branch),
    (0xa6, IF_ACMPNE, "if_acmpne", Branch2, "AA>", Branch),
    (0xa7, GOTO, "goto", Branch2, ">", Goto),
    (0xa8, JSR, "jsr", Branch2, ">R", Jsr),
    (0xa9, RET, "ret", Local, ">", Ret),
    (0xaa, TABLESWITCH, "tableswitch", TableSwitch, "I>", Switch),
    (0xab, LOOKUPSWITCH, "lookupswitch", LookupSwitch, "I>", Switch),
    (0xac, IRETURN, "ireturn", None, "I>", Return),
    (0xad, LRETURN, "lreturn", None, "J>", Return),
    (0xae, FRETURN, "freturn", None, "F>", Return),
    (0xaf, DRETURN, "dreturn", None, "D>", Return),
    (0xb0, ARETURN, "areturn", None, "A>", Return),
    (0xb1, RETURN, "return", None, ">", Return),
    (0xb2, GETSTATIC, "getstatic", Pool2, "*", StaticField),
    (0xb3, PUTSTATIC, "putstatic", Pool2, "*", StaticField),
    (0xb4, GETFIELD, "getfield", Pool2, "*", InstanceField),
    (0xb5, PUTFIELD, "putfield", Pool2, "*", InstanceField),
    (0xb6, INVOKEVIRTUAL, "invokevirtual", Pool2, "*", Invoke),
    (0xb7, INVOKESPECIAL, "invokespecial", Pool2, "*", Invoke),
    (0xb8, INVOKESTATIC, "invokestatic", Pool2, "*", Invoke),
    (0xb9, INVOKEINTERFACE, "invokeinterface", InvokeInterface, "*", Invoke),
    (0xba, INVOKEDYNAMIC, "invokedynamic", InvokeDynamic, "*", Invoke),
    (0xbb, NEW, "new", Pool2, ">U", Allocation),
    (0xbc, NEWARRAY, "newarray", ArrayType, "I>A", Allocation),
    (0xbd, ANEWARRAY, "anewarray", Pool2, "I>A", Allocation),
    (0xbe, ARRAYLENGTH, "arraylength", None, "A>I", Array),
    (0xbf, ATHROW, "athrow", None, "A>", Throw),
    (0xc0, CHECKCAST, "checkcast", Pool2, "A>A", TypeCheck),
    (0xc1, INSTANCEOF, "instanceof", Pool2, "A>I", TypeCheck),
    (0xc2, MONITORENTER, "monitorenter", None, "A>", Monitor),
    (0xc3, MONITOREXIT, "monitorexit", None, "A>", Monitor),
    (0xc4, WIDE, "wide", Wide, "*", Plain),
    (0xc5, MULTIANEWARRAY, "multianewarray", MultiNewArray, "*", Allocation),
    (0xc6, IFNULL, "ifnull", Branch2, "A>", Branch),
    (0xc7, IFNONNULL, "ifnonnull", Branch2, "A>", Branch),
    (0xc8, GOTO_W, "goto_w", Branch4, ">", Goto),
    (0xc9, JSR_W, "jsr_w", Branch4, ">R", Jsr),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_complete_and_in_order() {
        assert_eq!(OPCODES.iter().filter(|o| o.operands != Operands::Undefined).count(), 202);
        assert_eq!(opcode(GOTO_W).mnemonic, "goto_w");
        assert_eq!(opcode(0xc9).mnemonic, "jsr_w");
        assert_eq!(opcode(LALOAD).slots, Some((2, 2)));
        assert_eq!(opcode(DUP2_X2).slots, Some((4, 6)));
        assert_eq!(opcode(LCMP).slots, Some((4, 1)));
        assert_eq!(opcode(0xca).length, 0);
    }

    #[test]
    fn the_small_tables_agree() {
        for op in 0..=255 {
            let row = opcode(op);
            assert_eq!(length(op), row.length.into());
            let rare = matches!(row.class, Switch | Jsr | Ret) || op == GOTO_W;
            if rare || row.length == 0 {
                assert_eq!(step(op), step::STOP, "{}", row.mnemonic);
                continue;
            }
            let is_jump = matches!(row.class, Branch | Goto);
            assert_eq!((step(op) >> step::REST) + 1, row.length.into(), "{}", row.mnemonic);
            assert_eq!(step(op) & step::JUMP != 0, is_jump, "{}", row.mnemonic);
            assert_eq!(step(op) & step::LEAVES != 0, !row.falls_through(), "{}", row.mnemonic);
            assert!(!is_jump || row.length == 3);
        }
    }

    #[test]
    fn classes_decide_block_ends() {
        assert!(opcode(ATHROW).ends_block() && opcode(IFNULL).ends_block());
        assert!(!opcode(INVOKESTATIC).ends_block() && !opcode(JSR).ends_block());
        assert!(opcode(IDIV).may_throw() && !opcode(FDIV).may_throw());
        assert!(!opcode(GOTO).falls_through() && opcode(IFEQ).falls_through());
    }
}
