//! Methods that the JIT replaces by its own code: whichever runs, what is counted afterwards is the same.
//!
//! The list comes from the JDK's class files. Of each method with a body it is known what it writes to fields, and each is
//! called: public ones by a program made from the list, others through `tests/programs/Intrinsics.java`. Compilers are made to
//! compile early, so that callers are compiled and the methods are replaced; that they are, is tested, too.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use quipu_e2e::intrinsics::{self, Intrinsic, Key};
use quipu_e2e::{Command, Jdk, Program, Run, classes, differences, on_all_jdks, on_every_jdk, scratch};
use quipu_profile::{Contents, Profile, Target};

/// Methods whose bodies write to fields that others read, and why counts are the same all the same.
const WRITING: [(&str, &str); 15] = [
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
    ("java/lang/Thread.<init>", "of JDK 8's list for another reason: not replaced"),
];

/// Methods whose bodies write to elements of arrays, and why counts are the same all the same.
const STORING: [(&str, &str); 35] = [
    ("sun/security/provider/MD5.implCompress0", PINNED),
    ("sun/security/provider/SHA.implCompress0", PINNED),
    ("sun/security/provider/SHA2.implCompress0", PINNED),
    ("sun/security/provider/SHA5.implCompress0", PINNED),
    ("sun/security/provider/SHA3.implCompress0", PINNED),
    ("sun/security/provider/SHA3Parallel.", PINNED),
    ("com/sun/crypto/provider/CounterMode.implCrypt", PINNED),
    ("com/sun/crypto/provider/GaloisCounterMode.implGCMCrypt0", PINNED),
    ("java/util/Base64$Decoder.decodeBlock", PINNED),
    ("java/math/BigInteger.implMontgomery", PINNED),
    ("sun/security/util/math/intpoly/MontgomeryIntegerPolynomialP256.mult", PINNED),
    ("java/math/BigInteger.", RESULT),
    ("com/sun/crypto/provider/AESCrypt.impl", RESULT),
    ("com/sun/crypto/provider/AES_Crypt.impl", RESULT),
    ("com/sun/crypto/provider/CipherBlockChaining.impl", RESULT),
    ("com/sun/crypto/provider/GHASH.processBlocks", RESULT),
    ("java/util/Base64$Encoder.encodeBlock", RESULT),
    ("sun/security/util/math/intpoly/IntegerPolynomial.conditionalAssign", RESULT),
    ("java/lang/StringLatin1.inflate", RESULT),
    ("java/lang/StringUTF16.", RESULT),
    ("java/lang/StringCoding.", "the same up to the number that it gives back; nobody reads what is behind"),
    (
        "sun/nio/cs/ISO_8859_1$Encoder.",
        "the same up to the number that it gives back; nobody reads what is behind",
    ),
    ("com/sun/crypto/provider/ML_KEM.", "takes the same way whatever the numbers are"),
    ("sun/security/provider/ML_DSA.", "takes the same way whatever the numbers are"),
    ("java/lang/Math.", "arrays of its own, or where the interpreter replaces it, too"),
    ("java/lang/Integer.toString", "a new text's own"),
    ("java/lang/StringBuffer.", "replaced with OptimizeStringConcat only"),
    ("java/lang/StringBuilder.", "replaced with OptimizeStringConcat only"),
    ("java/lang/Class.cast", "on the way to an exception"),
    ("java/util/Arrays.copyOfRange", "on the way to an exception"),
    ("jdk/internal/util/ArraysSupport.vectorizedHashCode", "on the way to an exception"),
    ("java/lang/reflect/Method.invoke", "runs as bytecode in every tier"),
    ("jdk/internal/vm/vector/", "a new vector's own, or on the way to an exception"),
    ("java/lang/invoke/MethodHandleImpl.profileBoolean", "in code that the VM makes"),
    ("java/lang/Thread.<init>", "of JDK 8's list for another reason: not replaced"),
];

/// In `crates/agent/src/intrinsics.rs`.
const PINNED: &str = "not replaced in deterministic runs";
const RESULT: &str = "fills the array that it is given with its result, as the compilers' code does";

/// Fields of objects that are made on the way and not kept.
const FRESH: [&str; 2] = ["java/lang/Throwable.", "java/lang/AbstractStringBuilder."];

/// Methods that no program can call, or not without more modules.
const NOT_CALLED: [(&str, &str); 16] = [
    ("java/lang/Thread.<init>", "on JDK 8's list for the VM, which is who calls it"),
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
    ("com/sun/crypto/provider/AES_Crypt.impl", "called by opaque methods only"),
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
    on_all_jdks(|jdk| {
        let all = intrinsics::of(jdk);
        assert!(
            all.len() > if jdk.feature == 8 { 80 } else { 250 },
            "JDK {}: {} methods",
            jdk.feature,
            all.len()
        );
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
        let unknown: BTreeSet<String> = all
            .iter()
            .filter(|(_, intrinsic)| intrinsic.stores)
            .map(|(key, _)| name(key))
            .filter(|name| !begins(name, &STORING))
            .collect();
        assert!(unknown.is_empty(), "JDK {}: {unknown:#?}", jdk.feature);
        // The one that is known best, so that the search is known to find any. Older ones make the array with the digest.
        if jdk.feature >= 17 {
            let sha = all.iter().find(|(key, _)| name(key) == "sun/security/provider/SHA2.implCompress0");
            assert_eq!(written(sha.expect("SHA-256").1), ["sun/security/provider/SHA2.W"]);
        }
    });
}

/// Interpreted, by either compiler, by both, and when the VM would.
const MODES: [(&str, When); 5] = [
    ("-Xint", When::Usual),
    ("-XX:TieredStopAtLevel=1", When::Early),
    ("-XX:-TieredCompilation", When::Early),
    ("-XX:+TieredCompilation", When::Early),
    ("-XX:+TieredCompilation", When::Usual),
];
const INTERPRETED: (&str, When) = MODES[0];
const COMPILED: (&str, When) = MODES[2];

/// When compilers compile.
#[derive(Clone, Copy, PartialEq, Eq)]
enum When {
    Usual,
    /// At once, and the program waits for it: a method is replaced where a compiled one calls it, and with the usual thresholds
    /// hardly any of those that call them here would be compiled before they are done.
    Early,
}

impl When {
    fn flags(self, jdk: &Jdk) -> &'static [&'static str] {
        match self {
            When::Usual => &[],
            When::Early if jdk.feature > 8 => &["-Xbatch", "-XX:CompileThresholdScaling=0.01"],
            When::Early => &[
                "-Xbatch",
                "-XX:CompileThreshold=100",
                "-XX:Tier3InvocationThreshold=2",
                "-XX:Tier3MinInvocationThreshold=1",
                "-XX:Tier3CompileThreshold=20",
                "-XX:Tier3BackEdgeThreshold=600",
                "-XX:Tier4InvocationThreshold=50",
                "-XX:Tier4MinInvocationThreshold=6",
                "-XX:Tier4CompileThreshold=150",
                "-XX:Tier4BackEdgeThreshold=400",
            ],
        }
    }
}

fn in_mode(program: &Program, jdk: &Jdk, (flag, when): (&str, When)) -> Program {
    when.flags(jdk).iter().fold(program.clone().jvm([flag]), |program, flag| program.jvm([flag]))
}

/// What a thread did.
fn of_thread(run: &Run, name: &str) -> Profile {
    let mut profile = run.assert_whole().profile().select_threads(|p, thread| p.str(thread.name) == name);
    assert_eq!(profile.threads().len(), 1, "{name}: {}", run.said());
    profile.meta.target = Target::default();
    profile
}

/// The same bytes in every mode; what they are of.
fn same_in_every_mode(program: &Program, thread: &str, jdk: &Jdk) -> Profile {
    let runs = if std::env::var_os("QUIPU_FULL").is_some() { 3 } else { 1 };
    let mut expected: Option<Profile> = None;
    for mode in MODES {
        for n in 1..=runs {
            let profile = of_thread(&in_mode(program, jdk, mode).run(jdk), thread);
            let expected = expected.get_or_insert_with(|| profile.clone());
            if expected.to_bytes(Contents::WithoutRun) != profile.to_bytes(Contents::WithoutRun) {
                let shown: Vec<String> = differences(expected, &profile);
                let shown = shown.iter().take(12).map(|line| format!("{line}\n")).collect::<String>();
                let ((flag, when), early) = (mode, mode.1 == When::Early);
                panic!(
                    "JDK {} {flag} {:?} (early: {early}), run {n}:\n{shown}",
                    jdk.feature,
                    when.flags(jdk)
                );
            }
        }
    }
    expected.expect("a run")
}

#[test]
fn compilers_do_not_change_what_is_counted_around_them() {
    on_every_jdk(|jdk| {
        let all = intrinsics::of(jdk);
        let program = calls(jdk, &all).quipu(["--deterministic"]);
        let profile = same_in_every_mode(&program, "main", jdk);
        let called: BTreeSet<String> = profile.methods().iter().map(|m| full_name(&profile, m)).collect();
        let missed: BTreeSet<String> = all
            .iter()
            .filter(|(_, intrinsic)| intrinsic.has_body)
            .map(|(key, _)| name(key))
            .filter(|name| !called.contains(name) && !begins(name, &NOT_CALLED))
            .collect();
        assert!(missed.is_empty(), "JDK {}: never called: {missed:#?}", jdk.feature);
    });
}

/// What the test above relies on: compiled, the program has most of these methods replaced, and, unless it is a deterministic
/// run, also those that are pinned there.
#[test]
fn compilers_replace_them_unless_they_are_pinned() {
    on_every_jdk(|jdk| {
        let all = intrinsics::of(jdk);
        let marked: BTreeSet<String> = all.keys().map(name).collect();
        let replaced = |program: &Program| {
            let run = in_mode(program, jdk, COMPILED).jvm(["-XX:+PrintIntrinsics"]).run(jdk);
            assert!(run.status.success(), "{}", run.stderr);
            let lines = run.stdout.lines().filter(|line| line.contains("(intrinsic"));
            let names = lines.flat_map(|line| line.split_whitespace().filter(|word| word.contains("::")));
            let names = names.map(|name| name.replace('.', "/").replace("::", "."));
            names.filter(|name| marked.contains(name)).collect::<BTreeSet<String>>()
        };
        let program = calls(jdk, &all);
        let usually = replaced(&program);
        assert!(usually.len() > if jdk.feature == 8 { 40 } else { 90 }, "JDK {}: {usually:#?}", jdk.feature);
        let deterministic = replaced(&program.quipu(["--deterministic"]));
        let pinned: Vec<&String> = usually.difference(&deterministic).collect();
        println!("pinned, of {} that are replaced: {pinned:?}", usually.len());
        // Whatever the processor has.
        let md5 = "sun/security/provider/MD5.implCompress0".to_owned();
        assert!(jdk.feature < 17 || pinned.contains(&&md5), "JDK {}: {pinned:?}", jdk.feature);
        let is_pinned = |name: &&String| {
            WRITING.iter().chain(&STORING).any(|(p, why)| *why == PINNED && name.starts_with(p))
        };
        let left: Vec<&String> = deterministic.iter().filter(is_pinned).collect();
        assert!(left.is_empty(), "JDK {}: {left:?} are replaced", jdk.feature);
    });
}

/// Twice a digest for each of 20,000 objects, on one thread.
#[test]
fn digests_are_counted_the_same_by_chance() {
    let program = Program::new("Digests").arguments(["20000"]);
    on_every_jdk(|jdk| {
        let deterministic = program.clone().quipu(["--deterministic"]).directory(scratch("cwd"));
        let profile = same_in_every_mode(&deterministic, "digests", jdk);
        assert!(profile.metric("bytecodes").is_some_and(|counts| counts.total() > 30_000_000));
        // Older ones make the work array with the digest.
        if jdk.feature < 17 || !has_instructions_for_digests() {
            return;
        }
        // Nothing pinned: what is left behind for the next digest depends on what was compiled.
        let clearing = |mode| {
            let run = in_mode(&program, jdk, mode).run(jdk);
            let counts =
                run.assert_whole().thread("digests").method("sun.security.provider.SHA2", "implReset");
            assert!(counts.calls >= 20_000, "{counts:?}");
            counts.bytecodes
        };
        let (interpreted, compiled) = (clearing(INTERPRETED), clearing(COMPILED));
        assert!(compiled < interpreted, "JDK {}: {compiled}, {interpreted} interpreted", jdk.feature);
    });
}

/// Whether compilers have code of their own for SHA-256.
fn has_instructions_for_digests() -> bool {
    let cpu = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    cpu.split_whitespace().any(|flag| ["sha_ni", "avx2", "sha2"].contains(&flag))
}

fn full_name(profile: &Profile, method: &quipu_profile::Method) -> String {
    format!("{}.{}", profile.str(method.class).replace('.', "/"), profile.str(method.name))
}

/// Calls all there are.
fn calls(jdk: &Jdk, all: &BTreeMap<Key, Intrinsic>) -> Program {
    // Paths are read letter by letter: each run has the same.
    let program = Program::new("IntrinsicCalls").library(generated(jdk, all)).directory(scratch("cwd"));
    // JDK 21 gives an identity hash code more or less before main begins if C2 compiles at once: another order in tables, and not
    // what is tested here. All are the same with this.
    if jdk.feature == 21 {
        program.jvm(["-XX:+UnlockExperimentalVMOptions", "-XX:hashCode=2"])
    } else {
        program
    }
}

/// A program that calls all methods of the list that can be called with simple arguments, and then the others; the folder
/// that it is in.
fn generated(jdk: &Jdk, all: &BTreeMap<Key, Intrinsic>) -> PathBuf {
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
    let newer = if jdk.feature >= 11 { "NewerIntrinsics.main(new String[] {\"120\"});" } else { "" };
    let lattices = if jdk.feature >= 21 { "Lattices.main(new String[] {\"6\"});" } else { "" };
    let source = format!(
        "public class IntrinsicCalls {{
    static long sink;
    static final byte[] BYTES = new byte[40];
    static final char[] CHARS = new char[40];
{methods}
    public static void main(String[] arguments) throws Exception {{
        int n = 2000;
{calls}
        Intrinsics.main(new String[] {{\"120\"}});
        {newer}
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
