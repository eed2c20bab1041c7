//! Methods that the JIT replaces by its own code: whichever runs, what is counted afterwards is the same.
//!
//! The list comes from the JDK's class files. Of each method with a body it is known what it writes to fields, and each is
//! called often enough to be compiled on the way: public ones by a program made from the list, others through
//! `tests/programs/since17/Intrinsics.java`.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use quipu_e2e::intrinsics::{self, Intrinsic, Key};
use quipu_e2e::{Command, Jdk, Program, classes, differences, on_every_jdk, scratch};
use quipu_profile::{Contents, Profile, Target};

/// Methods whose bodies write to fields that others read, and why counts are the same all the same.
const WRITING: [(&str, &str); 14] = [
    ("sun/security/provider/SHA.implCompress0", PINNED),
    ("sun/security/provider/SHA2.implCompress0", PINNED),
    ("sun/security/provider/SHA5.implCompress0", PINNED),
    ("com/sun/crypto/provider/CounterMode.implCrypt", PINNED),
    ("com/sun/crypto/provider/GaloisCounterMode.implGCMCrypt0", PINNED),
    ("java/lang/Math.fma", "where the processor has it, the interpreter replaces it, too"),
    ("java/lang/StringBuffer.", "replaced with OptimizeStringConcat only"),
    ("java/lang/StringBuilder.", "replaced with OptimizeStringConcat only"),
    ("java/lang/reflect/Method.invoke", "runs as bytecode in every tier"),
    ("java/util/stream/Streams$RangeIntSpliterator.forEachRemaining", "runs as bytecode in every tier"),
    ("jdk/internal/vm/Continuation.enter", "runs as bytecode in every tier"),
    ("jdk/internal/vm/vector/", "what is written is a new vector's own, or on the way to an exception"),
    ("java/lang/Integer.toString", "what is written is a new text's own"),
    ("java/lang/Class.cast", "on the way to an exception"),
];

/// In `crates/agent/src/intrinsics.rs`.
const PINNED: &str = "not replaced in deterministic runs";

/// Fields of objects that are made on the way and not kept.
const FRESH: [&str; 2] = ["java/lang/Throwable.", "java/lang/AbstractStringBuilder."];

/// Methods that no program can call, or not without more modules.
const NOT_CALLED: [(&str, &str); 14] = [
    ("jdk/internal/vm/vector/", "of a module in incubation"),
    ("jdk/internal/vm/Continuation", "of virtual threads; hidden from profiles"),
    ("jdk/internal/misc/Unsafe.", "left alone: the runtime calls it"),
    ("java/lang/invoke/", "in code that the VM makes"),
    ("java/lang/Object.<init>", "every object's"),
    ("java/lang/reflect/Method.invoke", "runs as bytecode"),
    ("java/util/stream/Streams$RangeIntSpliterator.forEachRemaining", "runs as bytecode"),
    ("java/lang/ref/Reference.", "called by what is opaque itself"),
    ("java/lang/CharacterDataLatin1.", "called as a method of the class above it"),
    ("java/lang/StringUTF16.equals", "nobody calls it"),
    ("java/lang/StringLatin1.inflate", "called by opaque methods only"),
    ("java/util/DualPivotQuicksort.", "called by opaque methods only"),
    ("com/sun/crypto/provider/AESCrypt.impl", "called by opaque methods only"),
    ("jdk/internal/util/ArraysSupport.vectorizedMismatch", "called by opaque methods only"),
];

fn name((class, method, _): &Key) -> String {
    format!("{class}.{method}")
}

fn begins(name: &str, with: &[(&str, &str)]) -> bool {
    with.iter().any(|(prefix, _)| name.starts_with(prefix))
}

/// Another field that the body of such a method writes is another way to tell whether it ran.
#[test]
fn what_their_bodies_write_is_known() {
    on_every_jdk(|jdk| {
        // Older ones have other lists, and the programs need this one.
        if jdk.feature < 17 {
            return;
        }
        let all = intrinsics::of(jdk);
        assert!(all.len() > 300, "{} methods", all.len());
        let written = |intrinsic: &Intrinsic| {
            let writes = intrinsic.writes.iter().filter(|field| !FRESH.iter().any(|f| field.starts_with(f)));
            writes.cloned().collect::<Vec<_>>()
        };
        let unknown: Vec<_> = all
            .iter()
            .map(|(key, intrinsic)| (name(key), written(intrinsic)))
            .filter(|(name, writes)| !writes.is_empty() && !begins(name, &WRITING))
            .collect();
        assert!(unknown.is_empty(), "JDK {}: {unknown:?}", jdk.feature);
        // The one that is known best, so that the search is known to find any.
        let sha = all.iter().find(|(key, _)| name(key) == "sun/security/provider/SHA2.implCompress0");
        assert_eq!(written(sha.expect("SHA-256").1), ["sun/security/provider/SHA2.W"]);
    });
}

#[test]
fn compilers_do_not_change_what_is_counted_around_them() {
    let runs = if std::env::var_os("QUIPU_FULL").is_some() { 3 } else { 1 };
    on_every_jdk(|jdk| {
        // Older ones have other lists, and the programs need this one.
        if jdk.feature < 17 {
            return;
        }
        let all = intrinsics::of(jdk);
        let program = Program::new("IntrinsicCalls").library(generated(jdk, &all)).quipu(["--deterministic"]);
        // Paths are read letter by letter: each run has the same.
        let program = program.directory(scratch("cwd"));
        let mut expected: Option<Profile> = None;
        for flag in ["-XX:+TieredCompilation", "-Xint", "-XX:TieredStopAtLevel=1", "-XX:-TieredCompilation"] {
            for n in 1..=runs {
                let run = program.clone().jvm([flag]).run(jdk);
                let profile = run.assert_whole().profile();
                let mut profile = profile.select_threads(|p, thread| p.str(thread.name) == "main");
                profile.meta.target = Target::default();
                let expected = expected.get_or_insert_with(|| profile.clone());
                if expected.to_bytes(Contents::WithoutRun) != profile.to_bytes(Contents::WithoutRun) {
                    let shown: Vec<String> = differences(expected, &profile);
                    let shown = shown.iter().take(12).map(|line| format!("{line}\n")).collect::<String>();
                    panic!("JDK {} {flag}, run {n}:\n{shown}", jdk.feature);
                }
            }
        }
        let profile = expected.expect("a run");
        let called: BTreeSet<String> = profile
            .methods()
            .iter()
            .map(|m| format!("{}.{}", profile.str(m.class).replace('.', "/"), profile.str(m.name)))
            .collect();
        let missed: BTreeSet<String> = all
            .iter()
            .filter(|(_, intrinsic)| intrinsic.has_body)
            .map(|(key, _)| name(key))
            .filter(|name| !called.contains(name) && !begins(name, &NOT_CALLED))
            .collect();
        assert!(missed.is_empty(), "JDK {}: never called: {missed:#?}", jdk.feature);
    });
}

/// A program that calls all methods of the list that can be called with simple arguments, and then the others; the folder
/// that it is in.
fn generated(jdk: &Jdk, all: &std::collections::BTreeMap<Key, Intrinsic>) -> PathBuf {
    let mut methods = String::new();
    let mut calls = String::new();
    let callable = all
        .iter()
        .filter(|(key, intrinsic)| intrinsic.has_body && intrinsic.is_public && key.0.starts_with("java/"));
    for (n, call) in callable.filter_map(|(key, intrinsic)| call(key, intrinsic)).enumerate() {
        let _ = writeln!(
            methods,
            "    static void call{n}(int n) {{ for (int i = 0; i < n; i++) {{ {call} }} }}"
        );
        let _ = writeln!(calls, "        call{n}(n);");
    }
    let lattices = if jdk.feature >= 21 { "Lattices.main(new String[] {\"6\"});" } else { "" };
    let source = format!(
        "public class IntrinsicCalls {{
    static long sink;
    static final byte[] BYTES = new byte[40];
    static final char[] CHARS = new char[40];
{methods}
    public static void main(String[] arguments) throws Exception {{
        int n = 6000;
{calls}
        Intrinsics.main(new String[] {{\"120\"}});
        {lattices}
        System.out.println(sink);
    }}
}}
"
    );
    let folder = scratch("intrinsics");
    let file = folder.join("IntrinsicCalls.java");
    fs::write(&file, source).expect("a source");
    let mut javac = Command::new(jdk.home.join("bin/javac"));
    javac.args(["-nowarn", "-g", "-cp"]).arg(classes(jdk)).arg("-d").arg(&folder).arg(&file);
    let output = javac.output().expect("javac runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    folder
}

/// A statement that calls a method, with arguments that depend on `i`.
fn call((class, method, descriptor): &Key, intrinsic: &Intrinsic) -> Option<String> {
    let owner = class.replace(['/', '$'], ".");
    let (parameters, result) = descriptor.strip_prefix('(')?.split_once(')')?;
    let arguments = arguments(parameters)?.join(", ");
    let simple = owner.rsplit('.').next()?;
    let receiver = match simple {
        _ if method == "<init>" => return Some(format!("sink += new {owner}({arguments}) == null ? 1 : 0;")),
        _ if intrinsic.is_static => owner.clone(),
        "StringBuilder" | "StringBuffer" => format!("new {owner}(\"text\")"),
        "Boolean" => "Boolean.valueOf(i > 3)".to_owned(),
        "Character" => "Character.valueOf((char) i)".to_owned(),
        "Byte" | "Short" | "Integer" | "Long" | "Float" | "Double" => {
            format!(
                "{simple}.valueOf(({}) i)",
                if simple == "Integer" { "int".to_owned() } else { simple.to_lowercase() }
            )
        }
        "Class" => "String.class".to_owned(),
        "String" => "(\"text\" + (i & 3))".to_owned(),
        _ => return None,
    };
    let call = format!("{receiver}.{method}({arguments})");
    Some(match result {
        "V" => format!("{call};"),
        "Z" => format!("sink += {call} ? 1 : 0;"),
        "B" | "S" | "C" | "I" | "J" | "F" | "D" => format!("sink += (long) {call};"),
        _ => format!("sink += {call} == null ? 1 : 0;"),
    })
}

/// Expressions for a descriptor's parameters; none if one is of another type.
fn arguments(mut parameters: &str) -> Option<Vec<String>> {
    const VALUES: [(&str, &str); 12] = [
        ("[B", "BYTES"),
        ("[C", "CHARS"),
        ("Ljava/lang/String;", "\"text\""),
        ("Ljava/lang/Object;", "\"text\""),
        ("B", "(byte) i"),
        ("S", "(short) i"),
        ("C", "(char) ('a' + (i & 15))"),
        ("I", "(i & 7) + 1"),
        ("J", "(i & 7) + 1L"),
        ("F", "(i & 7) * 0.25f"),
        ("D", "(i & 7) * 0.25"),
        ("Z", "(i & 1) == 0"),
    ];
    let mut values = Vec::new();
    while !parameters.is_empty() {
        let (kind, value) = VALUES.iter().find(|(kind, _)| parameters.starts_with(kind))?;
        values.push((*value).to_owned());
        parameters = &parameters[kind.len()..];
    }
    Some(values)
}
