//! JVMs that are told to use an archive of classes.

use std::path::{Path, PathBuf};

use quipu_e2e::{Command, Counts, Jdk, ThreadCounts, classes, on_every_jdk_since, scratch, tools};
use quipu_profile::Profile;

/// JDK 8 does not start with an archive and an agent that rewrites classes.
const WITH_AN_AGENT: u32 = 11;

/// Runs `Foo` with these flags and variables; the profile and what was said.
fn count(jdk: &Jdk, class_path: &Path, flags: &[&str], variables: &[(&str, &str)]) -> (Profile, String) {
    let file = scratch("archives").join("out.quipu");
    let mut quipu = Command::new(&tools().quipu);
    quipu.args(["run", "--exact", "-o"]).arg(&file).arg("--").arg(jdk.home.join("bin/java"));
    quipu.args(flags).arg("-cp").arg(class_path).arg("Foo").current_dir(scratch("cwd"));
    for (name, value) in variables {
        quipu.env(name, value);
    }
    let output = quipu.output().expect("it runs");
    let said =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "JDK {}, {flags:?}: {said}", jdk.feature);
    assert!(said.contains("1002000"), "{said}");
    (Profile::load(file).expect("a profile"), said)
}

/// The counts are those of a run without an archive, and it was said what is done without.
fn assert_counted(profile: &Profile, said: &str, flag: &str) {
    let main = ThreadCounts::of(profile, |name| name == "main");
    assert_eq!(main.method("Foo", "sum"), Counts { calls: 1, bytecodes: 10_007 });
    assert!(profile.meta.lost.is_empty(), "{:?}", profile.meta.lost);
    let (warned, ran) = (said.find(&format!("quipu: {flag}: ")), said.find("quipu: wrote"));
    assert!(warned.is_some() && warned < ran, "{said}");
    assert!(!said.contains("error"), "{said}");
}

#[test]
fn a_jvm_that_must_use_its_archive_starts_and_is_counted() {
    on_every_jdk_since(WITH_AN_AGENT, |jdk| {
        let (profile, said) = count(jdk, &classes(jdk), &["-Xshare:on"], &[]);
        assert_counted(&profile, &said, "-Xshare:on");
        let (_, said) = count(jdk, &classes(jdk), &[], &[]);
        assert!(!said.contains("-Xshare"), "{said}");
    });
}

/// What is timed below a root, made or locked is found without fields of threads.
#[test]
fn kinds_that_do_without_fields_leave_the_vm_its_archive() {
    on_every_jdk_since(WITH_AN_AGENT, |jdk| {
        let java = jdk.home.join("bin/java").display().to_string();
        let classes = classes(jdk).display().to_string();
        let line = |flags: &[&str]| {
            let words = [&[java.as_str()], flags, &["-cp", &classes, "Foo"]].concat();
            words.into_iter().map(str::to_owned).collect::<Vec<_>>()
        };
        let said = |program: &str, arguments: &[String]| {
            let output = Command::new(program).args(arguments).current_dir(scratch("cwd")).output();
            let output = output.expect("it runs");
            let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
            assert!(output.status.success() && said.contains("1002000"), "{said}");
            said
        };
        let file = scratch("archives").join("out.quipu").display().to_string();
        let quipu = tools().quipu.display().to_string();
        let profiled = |kind: [&str; 2], line: &[String]| {
            let own = ["run", kind[0], kind[1], "-o", &file, "--"].map(str::to_owned);
            said(&quipu, &[&own[..], line].concat())
        };
        let shared = |said: &str| said.matches("source: shared objects file").count();
        let told = line(&["-Xlog:class+load"]);
        let without = shared(&said("env", &told));
        for kind in [["--root", "Foo.sum"], ["--alloc", "all"], ["--locks", "all"]] {
            let with = shared(&profiled(kind, &told));
            // Without its archive, the VM has none. Classes that are loaded after the start and rewritten are not the archive's.
            assert!(with >= without * 3 / 4, "JDK {}, {kind:?}: {with} of {without} classes", jdk.feature);
            let warned = profiled(kind, &line(&["-Xshare:on"]));
            assert!(!warned.contains("without fields"), "{warned}");
        }
    });
}

/// Wherever it was said.
#[test]
fn flags_in_variables_and_files_are_known() {
    on_every_jdk_since(WITH_AN_AGENT, |jdk| {
        for variable in ["JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS"] {
            let (profile, said) = count(jdk, &classes(jdk), &[], &[(variable, "-Xshare:on")]);
            assert_counted(&profile, &said, "-Xshare:on");
        }
        let file = scratch("arguments").join("flags");
        std::fs::write(&file, "-Xmx100m\n-Xshare:on\n").expect("a file");
        let (profile, said) = count(jdk, &classes(jdk), &[&format!("@{}", file.display())], &[]);
        assert_counted(&profile, &said, "-Xshare:on");
    });
}

/// Since JDK 25 a cache is made by one run of the program.
#[test]
fn a_jvm_with_an_ahead_of_time_cache_uses_it_and_is_counted() {
    on_every_jdk_since(WITH_AN_AGENT, |jdk| {
        if jdk.feature < 25 {
            return;
        }
        let jar = jar(jdk);
        let cache = scratch("cache").join("foo.aot");
        let mut java = Command::new(jdk.home.join("bin/java"));
        java.arg(format!("-XX:AOTCacheOutput={}", cache.display())).arg("-cp").arg(&jar).arg("Foo");
        let made = java.current_dir(scratch("cwd")).output().expect("java runs");
        assert!(cache.exists(), "{}", String::from_utf8_lossy(&made.stderr));
        let cache = format!("-XX:AOTCache={}", cache.display());
        for mode in ["auto", "on"] {
            // With `on` the VM does not start without its cache.
            let (profile, said) = count(jdk, &jar, &[&cache, &format!("-XX:AOTMode={mode}")], &[]);
            assert_counted(&profile, &said, "-XX:AOTCache");
        }
    });
}

/// Caches know of classes in jars only.
fn jar(jdk: &Jdk) -> PathBuf {
    let jar = scratch("jar").join("foo.jar");
    let mut make = Command::new(jdk.home.join("bin/jar"));
    let made = make.arg("cf").arg(&jar).arg("-C").arg(classes(jdk)).arg("Foo.class").status();
    assert!(made.expect("jar runs").success());
    jar
}
