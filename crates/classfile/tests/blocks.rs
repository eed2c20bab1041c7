//! Block analyses on code whose blocks are known.

mod support;

use quipu_classfile::{
    BlockAnalysis, Blocks, ClassFile, FlowKind, InstructionClass, InstructionClasses, mutf8,
};

/// The example of the bytecode-counting paper: two for the initialisation, three for the test of the loop, two for
/// the return and seven for the body.
const FOO: &str = "
public class Foo {
    static int sum(int from, int to) {
        int result = 0;
        while (true) {
            if (from > to) return result;
            result += f(from);
            ++from;
        }
    }
    static int f(int i) { return i % 2 == 0 ? i : 2; }
    @Deprecated static int get(int[] a, Object o) {
        synchronized (o) { return a[0]; }
    }
}";

fn with_foo(test: impl Fn(&ClassFile<'_>)) {
    for jdk in support::jdks() {
        let work = support::scratch(&format!("foo-{}-{:?}", jdk.name, std::thread::current().id()));
        std::fs::write(work.join("Foo.java"), FOO).expect("write");
        support::javac(&jdk, &work.join("Foo.java"), &work);
        let bytes = std::fs::read(work.join("Foo.class")).expect("class");
        test(&ClassFile::parse(&bytes).expect("parses"));
    }
}

fn blocks(class: &ClassFile<'_>, name: &[u8], analysis: BlockAnalysis) -> (Blocks, Vec<u32>) {
    let method = class.methods().find(|m| m.name() == name).expect("method");
    let code = method.code().expect("code").expect("code");
    let blocks = Blocks::analyse(&code, class.pool(), analysis).expect("blocks");
    let sizes = blocks.iter().map(|b| b.instructions).collect();
    (blocks, sizes)
}

#[test]
fn the_paper_s_example_has_four_blocks() {
    with_foo(|class| {
        let (found, mut sizes) = blocks(class, b"sum", BlockAnalysis::Default);
        sizes.sort_unstable();
        assert_eq!(sizes, [2, 2, 3, 7]);
        let headers: Vec<u32> = found.iter().filter(|b| b.is_loop_header).map(|b| b.start).collect();
        assert_eq!(headers, [2]);
        assert!(found.has_loops() && !found.is_straight_line());
        let method = class.methods().find(|m| m.name() == b"sum").expect("sum");
        let code = method.code().expect("code").expect("code");
        let test = found.successors(1, &code);
        assert_eq!(
            test.iter().map(|f| f.kind).collect::<Vec<_>>(),
            [FlowKind::Branch, FlowKind::FallThrough]
        );
    });
}

#[test]
fn precise_blocks_end_where_something_may_throw() {
    with_foo(|class| {
        // The call of f splits the body: four up to and including it, three after.
        let (_, mut sizes) = blocks(class, b"sum", BlockAnalysis::Precise);
        sizes.sort_unstable();
        assert_eq!(sizes.iter().sum::<u32>(), 14);
        assert_eq!(sizes.len(), 5);
        let invokes = InstructionClasses::of(&[InstructionClass::Invoke]);
        assert_eq!(blocks(class, b"sum", BlockAnalysis::Custom(invokes)).1.len(), 5);
        let divisions = InstructionClasses::of(&[InstructionClass::Division]);
        assert_eq!(blocks(class, b"sum", BlockAnalysis::Custom(divisions)).1.len(), 4);
    });
}

#[test]
fn handlers_start_blocks_and_annotations_are_found() {
    with_foo(|class| {
        let (found, _) = blocks(class, b"get", BlockAnalysis::Default);
        assert!(found.iter().any(|b| b.is_handler));
        let get = class.methods().find(|m| m.name() == b"get").expect("get");
        assert!(get.has_annotation(b"Ljava/lang/Deprecated;"));
        assert!(!get.has_annotation(b"Ljava/lang/Override;"));
        assert!(blocks(class, b"<init>", BlockAnalysis::Default).0.is_straight_line());
        assert_eq!(class.source_file().map(mutf8::decode).as_deref(), Some("Foo.java"));
    });
}
