//! What this crate reads and writes, compared with what the `java-bytecode` crate reads.

mod support;

use bytes::Bytes;
use java_bytecode::raw::ParseOptions;
use java_bytecode::raw::attribute::RawAttributeCode;
use java_bytecode::raw::file::RawClassFile;
use java_bytecode::simple::code::CodePos;
use quipu_classfile::ClassFile;
use support::shapes::{Rewriter, Shape};

/// Instruction positions, stack, locals and exception table of every method must be the same in both readings.
fn compare(bytes: &[u8], what: &str) -> bool {
    let Ok(theirs) = RawClassFile::parse(Bytes::copy_from_slice(bytes), ParseOptions::default()) else {
        return false;
    };
    let ours = ClassFile::parse(bytes).expect("parses");
    assert_eq!(ours.major_version(), theirs.major_version);
    assert_eq!(ours.methods().len(), theirs.methods.len());
    for (method, raw) in ours.methods().zip(&theirs.methods) {
        let name = String::from_utf8_lossy(method.name()).into_owned();
        assert_eq!(method.access_flags(), raw.access_flags.bits(), "{what} {name}");
        let code = method.code().expect("code");
        let Some(raw) = raw.attributes.find::<RawAttributeCode>() else {
            assert!(code.is_none(), "{what} {name}");
            continue;
        };
        let code = code.expect("code");
        assert_eq!((code.max_stack, code.max_locals), (raw.max_stack, raw.max_locals), "{what} {name}");
        let ours: Vec<u32> = code.instructions().map(|i| i.expect("decodes").bci).collect();
        let count = u32::try_from(raw.code.instructions().len()).expect("fits");
        let theirs: Vec<u32> =
            (0..count).map(|i| raw.code.instr_to_byte(CodePos(i)).expect("position")).collect();
        assert_eq!(ours, theirs, "{what} {name}");
        for (e, r) in code.exceptions().zip(&raw.exception_table) {
            let theirs = (r.start_pc, r.end_pc, r.handler_pc, r.catch_type.0);
            assert_eq!((e.start, e.end, e.handler, e.catch_type), theirs, "{what} {name}");
        }
    }
    true
}

#[test]
fn reads_what_another_reader_reads() {
    let (mut compared, mut not_theirs) = (0, 0);
    for jdk in support::jdks() {
        let mut rewriter = Rewriter::default();
        for file in support::sampled(support::class_files(&jdk.classes())) {
            let bytes = std::fs::read(&file).expect("class");
            if !compare(&bytes, &file.display().to_string()) {
                not_theirs += 1;
                continue;
            }
            let class = ClassFile::parse(&bytes).expect("parses");
            for shape in [Shape::Counter, Shape::Full, Shape::Edges] {
                let written = rewriter.rewrite(&class, shape);
                assert!(
                    compare(&written, &format!("{} {shape:?}", file.display())),
                    "{} {shape:?}",
                    file.display()
                );
            }
            compared += 1;
        }
    }
    println!("{compared} classes compared, {not_theirs} the other reader cannot read");
    assert!(compared >= not_theirs * 20);
}
