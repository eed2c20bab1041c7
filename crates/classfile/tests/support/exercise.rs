//! Everything the crate can do with one class file, for tests that ask only that nothing panics and that whatever is
//! written can be read again.

use std::hint::black_box;

use quipu_classfile::{BlockAnalysis, Blocks, ClassFile, InstructionClass, InstructionClasses};

use super::shapes::{Rewriter, Shape};

/// Reads all of a class and applies every shape to it. False if it does not parse.
pub fn exercise(bytes: &[u8], rewriter: &mut Rewriter) -> bool {
    let Ok(class) = ClassFile::parse(bytes) else { return false };
    read(&class);
    for shape in [Shape::Counter, Shape::Full, Shape::Edges] {
        let written = rewriter.rewrite(&class, shape);
        let again = ClassFile::parse(&written).expect("what was written parses");
        for (old, new) in class.methods().zip(again.methods()) {
            if let (Ok(Some(old)), Ok(new)) = (old.code(), new.code()) {
                let new = new.expect("code stays code");
                if old.bytes != new.bytes {
                    Blocks::analyse(&new, again.pool(), BlockAnalysis::Default)
                        .expect("edited code is well formed");
                }
            }
        }
    }
    rewriter.refused.clear();
    true
}

fn read(class: &ClassFile<'_>) {
    black_box((class.name(), class.super_name(), class.source_file(), class.interfaces().count()));
    for index in 0..class.pool().count() {
        let _ =
            black_box((class.pool().get(index), class.pool().member(index), class.pool().class_name(index)));
    }
    let some = InstructionClasses::of(&[InstructionClass::Invoke, InstructionClass::Constant]);
    for method in class.methods() {
        black_box(method.has_annotation(b"Ljava/lang/Deprecated;"));
        let Ok(Some(code)) = method.code() else { continue };
        for instruction in code.instructions().flatten() {
            black_box((instruction.local(), instruction.immediate(), instruction.pool_index()));
            black_box(instruction.switch().map(|s| s.cases().count()));
        }
        for analysis in [BlockAnalysis::Default, BlockAnalysis::Precise, BlockAnalysis::Custom(some)] {
            let Ok(blocks) = Blocks::analyse(&code, class.pool(), analysis) else { continue };
            let total: u32 = blocks.iter().map(|b| b.instructions).sum();
            assert_eq!(total as usize, code.instructions().count(), "blocks cover the code once");
            for index in 0..blocks.len().min(50) {
                black_box(blocks.successors(index, &code));
            }
        }
    }
}
