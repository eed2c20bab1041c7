//! Rewritten programs run: inserted code runs when it should, and nothing else changes.

mod support;

use std::fs;
use std::path::Path;

use quipu_classfile::{BlockAnalysis, Blocks, ClassEditor, ClassFile, Edge, Snippet, VerificationType};
use support::shapes::{Rewriter, Shape};

fn assemble(name: &str) -> Vec<u8> {
    let source = fs::read_to_string(support::java_source(name)).expect("source");
    let classes = krakatau2::assemble(&source, krakatau2::AssemblerOptions {});
    let mut classes = classes.unwrap_or_else(|e| panic!("{}", e.format(name, &source)));
    classes.remove(0).data
}

fn java(jdk: &support::Jdk, classes: &Path, main: &str) -> String {
    let output = support::run(jdk.tool("java").args(["-Xverify:all", "-Xint", "-cp"]).arg(classes).arg(main));
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn odd_classes_do_the_same_after_every_shape() {
    let bytes = assemble("Odd.j");
    let class = ClassFile::parse(&bytes).expect("parses");
    for jdk in support::jdks() {
        let work = support::scratch(&format!("odd-{}", jdk.name));
        fs::write(work.join("Odd.class"), &bytes).expect("write");
        let expected = java(&jdk, &work, "Odd");
        assert_eq!(expected.lines().count(), 72);
        for shape in [Shape::Counter, Shape::Full, Shape::Edges] {
            let mut rewriter = Rewriter::default();
            fs::write(work.join("Odd.class"), rewriter.rewrite(&class, shape)).expect("write");
            assert!(rewriter.refused.is_empty(), "{:?}", rewriter.refused);
            assert_eq!(java(&jdk, &work, "Odd"), expected, "{} {shape:?}", jdk.name);
        }
    }
}

#[test]
fn subroutines_and_wide_instructions_have_blocks() {
    let bytes = assemble("Odd.j");
    let class = ClassFile::parse(&bytes).expect("parses");
    let method = |name: &[u8]| {
        let method = class.methods().find(|m| m.name() == name).expect("method");
        let code = method.code().expect("code").expect("code");
        let blocks = Blocks::analyse(&code, class.pool(), BlockAnalysis::Default).expect("blocks");
        blocks.iter().map(|b| b.instructions).collect::<Vec<_>>()
    };
    // jsr does not end a block by itself, but what follows it is where ret goes.
    assert_eq!(method(b"subroutine"), [9, 4, 2, 3, 1, 4, 1]);
    assert_eq!(method(b"wide"), [11, 1, 3]);
}

/// Inserts `Log.hit(what)` in every way there is and prints what runs. Entries, returns and exceptions have two snippets
/// each, as of two instruments that lie one in the other: in capitals what the outer one does.
#[test]
fn inserted_code_runs_exactly_when_it_should() {
    for jdk in support::jdks() {
        let work = support::scratch(&format!("ways-{}", jdk.name));
        support::javac(&jdk, &support::java_source("Ways.java"), &work);
        for name in ["Ways", "Ways$Derived"] {
            let path = work.join(name).with_extension("class");
            let bytes = fs::read(&path).expect("class");
            fs::write(path, instrument(&bytes)).expect("write");
        }
        let expected = "loopAtZero EebbrR\n\
             branches1 EerR\n\
             branches0 EebrR\n\
             caught EeHrR\n\
             uncaught EerR\n\
             thrown EeHxX NegativeArraySizeException\n\
             returned EerR\n\
             before-super EexX ArithmeticException\n\
             in-super Eeb IllegalStateException\n\
             after-super EebxX IllegalArgumentException\n\
             constructed EebbrR\n";
        assert_eq!(java(&jdk, &work, "Ways"), expected, "{}", jdk.name);
    }
}

fn instrument(bytes: &[u8]) -> Vec<u8> {
    let class = ClassFile::parse(bytes).expect("parses");
    let mut editor = ClassEditor::new(&class);
    let hit = editor.pool().method_ref(b"Ways$Log", b"hit", b"(I)V").expect("room");
    let skipped: [&[u8]; 4] = [b"main", b"show", b"<clinit>", b"run"];
    for method in class.methods() {
        let is_helper = skipped.contains(&method.name()) || method.name().starts_with(b"lambda$");
        if is_helper || (class.name() == b"Ways" && method.name() == b"<init>") {
            continue;
        }
        let mut code = editor.edit_method(method.index()).expect("opens").expect("has code");
        let mut snippet = Snippet::new();
        let mut log = |what: u8| {
            let mut s = std::mem::take(&mut snippet);
            s.clear().int16(what.into()).invokestatic(hit, b"(I)V");
            s
        };
        code.insert_entry(&log(b'E')).expect("entry");
        let inner = code.new_local(VerificationType::Int).expect("local");
        code.insert_entry(&log(b'e')).expect("entry");
        code.insert_entry(Snippet::new().int16(b'x'.into()).istore(inner)).expect("entry");
        let branches: Vec<u32> = code
            .code()
            .instructions()
            .flatten()
            .filter(|i| i.info().falls_through() && i.branch_target().is_some())
            .map(|i| i.bci)
            .collect();
        for bci in branches {
            code.insert_on_edge(Edge::Branch(bci), &log(b'b')).expect("edge");
        }
        let mut handlers: Vec<u16> = code.code().exceptions().map(|e| e.handler).collect();
        handlers.dedup();
        for handler in handlers {
            code.insert_at_handler(handler.into(), &log(b'H')).expect("handler");
        }
        code.insert_before_returns(&log(b'r')).expect("returns");
        code.catch_all(Snippet::new().iload(inner).invokestatic(hit, b"(I)V")).expect("handler");
        code.insert_before_returns(&log(b'R')).expect("returns");
        code.catch_all(&log(b'X')).expect("handler");
        code.finish().expect("edited");
    }
    editor.into_bytes().into_owned()
}

/// What is inserted before a handler may throw: the handler of a `synchronized` block unlocks all the same, and comes to an end.
#[test]
fn handlers_run_though_what_is_inserted_before_them_throws() {
    for jdk in support::jdks() {
        let work = support::scratch(&format!("guarded-{}", jdk.name));
        support::javac(&jdk, &support::java_source("Guarded.java"), &work);
        let path = work.join("Guarded.class");
        let bytes = fs::read(&path).expect("class");
        let class = ClassFile::parse(&bytes).expect("parses");
        let mut editor = ClassEditor::new(&class);
        let fail = editor.pool().method_ref(b"Guarded$Failing", b"fail", b"()V").expect("room");
        for method in class.methods().filter(|method| ![&b"show"[..], b"<init>"].contains(&method.name())) {
            let mut code = editor.edit_method(method.index()).expect("opens").expect("has code");
            let mut handlers: Vec<u16> = code.code().exceptions().map(|e| e.handler).collect();
            handlers.dedup();
            for handler in handlers {
                let snippet = Snippet::new().invokestatic(fail, b"()V").clone();
                code.insert_guarded_at_handler(handler.into(), &snippet).expect("handler");
            }
            code.catch_all(&Snippet::new()).expect("handler");
            code.finish().expect("edited");
        }
        fs::write(path, editor.into_bytes()).expect("write");
        let expected = "unlocks StackOverflowError\n\
             clears StackOverflowError cleared\n\
             insideOfLock StackOverflowError\n\
             twice StackOverflowError\n";
        assert_eq!(java(&jdk, &work, "Guarded"), expected, "{}", jdk.name);
    }
}
