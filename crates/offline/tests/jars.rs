//! Jars of every make.
#![allow(missing_docs, reason = "tests say what they test by their names")]

mod support;

use std::fs;
use std::path::{Path, PathBuf};

use quipu_e2e::{Command, Jdk, ThreadCounts, classes, on_every_jdk, scratch};
use quipu_profile::Profile;
use support::{compile, entries, instrument, jar, tool, try_instrument};

fn calls(profile: &Profile, class: &str, method: &str) -> u64 {
    ThreadCounts::of(profile, |_| true).method(class, method).calls
}

/// A jar of the end-to-end tests' programs, with things that are no classes.
fn programs(jdk: &Jdk) -> PathBuf {
    let folder = scratch("jar");
    fs::create_dir(folder.join("data")).unwrap();
    fs::write(folder.join("data/text.txt"), "ü\r\n").unwrap();
    fs::write(folder.join("data/noise.bin"), (0..=255u8).cycle().step_by(7).take(5_000).collect::<Vec<_>>())
        .unwrap();
    let classes = classes(jdk);
    jar(jdk, &folder, &["cfe", "app.jar", "Foo", "data", "-C", classes.to_str().unwrap(), "."]);
    folder.join("app.jar")
}

#[test]
fn the_same_input_gives_the_same_bytes_and_other_entries_keep_theirs() {
    on_every_jdk(|jdk| {
        let original = programs(jdk);
        let (first, second) = (instrument(jdk, &original, &[]), instrument(jdk, &original, &[]));
        assert_eq!(fs::read(&first.path).unwrap(), fs::read(&second.path).unwrap());
        assert_eq!(fs::read(&first.runtime).unwrap(), fs::read(&second.runtime).unwrap());
        let (before, after) = (entries(jdk, &original), entries(jdk, &first.path));
        let names =
            |entries: &[(String, Vec<u8>)]| entries.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
        let added = names(&after).split_off(before.len());
        assert_eq!(names(&before), names(&after)[..before.len()], "order");
        assert!(added.len() == 2 && added.iter().all(|name| name.starts_with("quipu/jars/J")), "{added:?}");
        for ((name, before), (_, after)) in before.iter().zip(&after) {
            assert!(name.ends_with(".class") || before == after, "{name}");
            assert!(name != "Foo.class" || before != after, "{name}");
        }
        let times = |path: &Path| -> Vec<String> {
            let listed = tool(Command::new(jdk.home.join("bin/jar")).arg("tvf").arg(path));
            let rows = listed.lines().filter(|line| !line.contains("quipu/jars"));
            rows.map(|line| line.split_whitespace().skip(1).collect::<Vec<_>>().join(" ")).collect()
        };
        assert_eq!(times(&original), times(&first.path));
        assert!(first.said.contains(" Foo\n"), "the main class is in the command: {}", first.said);
    });
}

#[test]
fn the_runtime_can_lie_on_the_boot_class_path() {
    on_every_jdk(|jdk| {
        let counted = instrument(jdk, &programs(jdk), &[]);
        let boot = format!("-Xbootclasspath/a:{}", counted.runtime.display());
        let run = support::run::<&str>(jdk, counted.path.to_str().unwrap(), &[&boot], "Foo", &[]);
        assert_eq!(calls(&run.assert_quiet().profile(), "Foo", "f"), 1_000);
    });
}

#[test]
fn what_was_instrumented_is_not_instrumented_again() {
    on_every_jdk(|jdk| {
        let once = instrument(jdk, &programs(jdk), &[]);
        let output = try_instrument(&once.path, &scratch("twice").join("out.jar"), &[]);
        assert_eq!(output.status.code(), Some(2));
        assert!(
            String::from_utf8_lossy(&output.stderr).contains("is instrumented already: give the original")
        );
    });
}

#[test]
fn signatures_are_dropped_with_a_notice() {
    on_every_jdk(|jdk| {
        let signed = programs(jdk);
        let store = signed.with_file_name("keys");
        let keys = ["-keystore", store.to_str().unwrap(), "-storepass", "secret"];
        let mut keytool = Command::new(jdk.home.join("bin/keytool"));
        keytool.args(["-genkeypair", "-alias", "acme", "-keyalg", "EC", "-dname", "CN=Acme"]).args(keys);
        tool(&mut keytool);
        let mut signer = Command::new(jdk.home.join("bin/jarsigner"));
        tool(signer.args(keys).arg(&signed).arg("acme"));
        // Rewritten classes under the old signature would not load.
        let counted = instrument(jdk, &signed, &[]);
        assert!(counted.said.contains("was signed: the signatures are left out"), "{}", counted.said);
        let names: Vec<String> = entries(jdk, &counted.path).into_iter().map(|(name, _)| name).collect();
        assert!(!names.iter().any(|name| name.ends_with(".SF") || name.ends_with(".EC")), "{names:?}");
        let run = counted.run::<&str>(jdk, &[], "Foo", &[]);
        assert_eq!(calls(&run.assert_quiet().profile(), "Foo", "f"), 1_000);
    });
}

#[test]
fn every_version_of_a_class_is_instrumented() {
    on_every_jdk(|jdk| {
        let base = compile(jdk, &["--release", "8"], &["versions/Which.java", "versions/Version.java"]);
        let newer = compile(jdk, &["--release", "11"], &["versions/since11/Version.java"]);
        let folder = scratch("jar");
        let (base, newer) = (base.to_str().unwrap(), newer.to_str().unwrap());
        jar(jdk, &folder, &["-c", "-f", "multi.jar", "-C", base, ".", "--release", "11", "-C", newer, "."]);
        let counted = instrument(jdk, &folder.join("multi.jar"), &[]);
        let run = counted.run::<&str>(jdk, &[], "multi.Which", &[]);
        assert_eq!(run.assert_quiet().stdout(), "eleven\n");
        let profile = run.profile();
        assert_eq!(
            (calls(&profile, "multi.Version", "count"), calls(&profile, "multi.Version", "twice")),
            (7, 14)
        );
        let run = counted.run::<&str>(jdk, &["-Djdk.util.jar.enableMultiRelease=false"], "multi.Which", &[]);
        assert_eq!(run.assert_quiet().stdout(), "base\n");
        let profile = run.profile();
        assert_eq!(
            (calls(&profile, "multi.Version", "count"), calls(&profile, "multi.Version", "twice")),
            (7, 0)
        );
    });
}

#[test]
fn jars_within_jars_stay_stored_and_run() {
    on_every_jdk(|jdk| {
        let folder = scratch("jar");
        let sources = ["nested/Launcher.java", "nested/Main.java", "nested/Library.java"];
        let all = compile(jdk, &["--release", "8"], &sources);
        fs::create_dir_all(folder.join("BOOT-INF/lib")).unwrap();
        fs::create_dir_all(folder.join("BOOT-INF/classes")).unwrap();
        fs::rename(all.join("app"), folder.join("BOOT-INF/classes/app")).unwrap();
        let all = all.to_str().unwrap();
        jar(jdk, &folder, &["cf", "BOOT-INF/lib/library.jar", "-C", all, "lib"]);
        // As Spring Boot makes them: nothing is packed.
        jar(jdk, &folder, &["cfe0", "fat.jar", "boot.Launcher", "BOOT-INF", "-C", all, "boot"]);
        let original = folder.join("fat.jar");
        let plain = support::run(jdk, original.to_str().unwrap(), &[], "boot.Launcher", &[&original]);
        let counted = instrument(jdk, &original, &[]);
        assert!(counted.said.contains("in 2 jars"), "{}", counted.said);
        let run = counted.run(jdk, &[], "boot.Launcher", &[&counted.path]);
        assert_eq!(run.assert_quiet().stdout(), plain.stdout());
        let profile = run.profile();
        assert_eq!(calls(&profile, "app.Main", "own"), 30);
        let main = ThreadCounts::of(&profile, |name| name == "main");
        let path = ["boot.Launcher.main", "app.Main.main", "lib.Library.twice", "lib.Library.add"];
        assert_eq!(main.path(&path).calls, 30);
        // The runtime asked the launcher for the jar's names; the program did not.
        assert_eq!(main.method("boot.Launcher", "getResourceAsStream").calls, 0);
    });
}

#[test]
fn jars_and_loaders_do_not_share_ids() {
    on_every_jdk(|jdk| {
        let ids = compile(jdk, &["--release", "8"], &["Ids.java"]);
        let counted = instrument(jdk, &ids, &[]);
        let foo = instrument(jdk, &programs(jdk), &[]);
        let class_path = format!("{}:{}", counted.class_path(), foo.path.display());
        let run = support::run::<&str>(jdk, &class_path, &[], "ids.Ids", &[]);
        assert_eq!(run.assert_quiet().stdout(), "done\n");
        assert_eq!(calls(&run.profile(), "ids.Ids$Worker", "step"), 30);
        let run = support::run::<&str>(jdk, &class_path, &[], "Foo", &[]);
        assert_eq!(calls(&run.assert_quiet().profile(), "Foo", "f"), 1_000);
    });
}

#[test]
fn methods_that_get_too_long_to_be_compiled_are_named() {
    on_every_jdk(|jdk| {
        let said = instrument(jdk, &classes(jdk).join("Huge.class"), &[]).said;
        assert!(said.contains("HotSpot compiles") && said.contains("\nquipu:   Huge.huge\n"), "{said}");
        assert!(said.contains("java -XX:-DontCompileHugeMethods -cp"), "{said}");
        let said = instrument(jdk, &classes(jdk).join("Foo.class"), &[]).said;
        assert!(!said.contains("HugeMethods"), "{said}");
    });
}

#[test]
fn directories_and_classes_are_instrumented_too() {
    on_every_jdk(|jdk| {
        let classes = classes(jdk);
        let out = scratch("class");
        for output in [out.join("root"), out.join("named/Foo.class")] {
            let output = try_instrument(&classes.join("Foo.class"), &output, &[]);
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        }
        for (root, runtime) in [("root", "quipu-runtime.jar"), ("named", "named/quipu-runtime.jar")] {
            let path = format!("{}:{}", out.join(root).display(), out.join(runtime).display());
            let run = support::run::<&str>(jdk, &path, &[], "Foo", &[]);
            assert_eq!(calls(&run.assert_quiet().profile(), "Foo", "f"), 1_000);
        }
        let output = try_instrument(&classes.join("Foo.class"), &out.join("Bar.class"), &[]);
        assert_eq!(output.status.code(), Some(2));
        let inside = try_instrument(&classes, &classes.join("out"), &[]);
        assert!(String::from_utf8_lossy(&inside.stderr).contains("would lie in the input"));
        let same = try_instrument(&classes, &classes, &[]);
        assert_eq!(same.status.code(), Some(2));
    });
}

#[test]
fn classes_are_found_in_jars_and_in_jars_within_them() {
    on_every_jdk(|jdk| {
        let inner = programs(jdk);
        let folder = scratch("outer");
        fs::create_dir_all(folder.join("BOOT-INF/lib")).unwrap();
        fs::copy(&inner, folder.join("BOOT-INF/lib/app.jar")).unwrap();
        jar(jdk, &folder, &["cf", "outer.jar", "BOOT-INF"]);
        let wanted = fs::read(classes(jdk).join("Foo.class")).unwrap();
        for archive in [inner, folder.join("outer.jar")] {
            let bytes = fs::read(&archive).unwrap();
            let found = quipu_offline::classes_named(&bytes, "Foo").unwrap();
            assert!(found.len() == 1 && found[0] == wanted);
            assert!(quipu_offline::classes_named(&bytes, "oo").unwrap().is_empty());
        }
        assert!(quipu_offline::classes_named(b"no jar", "Foo").is_err());
    });
}

#[test]
fn only_the_threads_asked_for_are_counted() {
    on_every_jdk(|jdk| {
        let counted = instrument(jdk, &programs(jdk), &["--threads", "worker-1*", "--threads", "ü, nobody"]);
        let run = counted.run(jdk, &[], "ManyThreads", &["20", "10", "500"]);
        let profile = run.assert_quiet().profile();
        assert_eq!(calls(&profile, "ManyThreads", "work"), 11 * 500);
        assert_eq!(calls(&profile, "ManyThreads", "main"), 0);
        let run = counted.run(jdk, &["-Dquipu.threads=main"], "ManyThreads", &["20", "10", "500"]);
        let profile = run.assert_quiet().profile();
        assert_eq!(calls(&profile, "ManyThreads", "main"), 1);
        assert_eq!(calls(&profile, "ManyThreads", "work"), 0);
    });
}
