//! Native methods of the application: leaves with their number of calls, also where the caller was there first.

use std::fs;
use std::path::{Path, PathBuf};

use quipu_e2e::{Command, Jdk, ThreadCounts, classes, on_every_jdk, scratch, tools};
use quipu_profile::Profile;

const TIMES: u64 = 1_000;

/// What `LateNatives` calls. The environment and the receiver are not looked at.
const SOURCE: &str = "
    int Java_LateNatives_00024Bound_twice(void *env, void *type, int n) { return 2 * n; }
    int Java_LateNatives_00024Base_plus(void *env, void *self, int n) { return n + 1; }
    int Java_LateNatives_00024Tool_twice(void *env, void *type, int n) { return 2 * n; }
    int Java_LateNatives_00024Tool_plus(void *env, void *self, int n) { return n + 1; }
";

fn library(place: &Path, name: &str) -> PathBuf {
    let (source, library) = (place.join("natives.c"), place.join(name));
    fs::write(&source, SOURCE).expect("the source");
    let compiled = Command::new("cc").args(["-shared", "-fPIC", "-o"]).args([&library, &source]).status();
    assert!(compiled.expect("a C compiler, which Rust needs as well").success());
    library
}

/// Runs the program with its classes where `copied` says, and the plugin elsewhere.
fn run(jdk: &Jdk, class_path: &Path, arguments: &[&Path], options: &[&str]) -> Profile {
    let file = scratch("natives").join("out.quipu");
    let mut quipu = Command::new(&tools().quipu);
    quipu.arg("run").args(options).arg("-o").arg(&file).arg("--").arg(jdk.home.join("bin/java"));
    quipu.arg("-cp").arg(class_path).args(["LateNatives", &TIMES.to_string()]).args(arguments);
    let output = quipu.output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    let each: u64 = (0..TIMES).map(|n| 2 * n + 2 * (n + 1) + 2 * n + n + n + 1).sum();
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), each.to_string());
    Profile::load(&file).unwrap_or_else(|e| panic!("{e}: {said}"))
}

fn check(profile: &Profile, level: &str) {
    let main = ThreadCounts::of(profile, |name| name == "main");
    let calls = |class: &str, name: &str| main.method(class, name).calls;
    // Three of four objects are the class that has the native method; the others override it.
    let expected = [
        ("LateNatives$Bound", "twice", TIMES),
        ("LateNatives$Base", "plus", TIMES + TIMES * 3 / 4),
        ("LateNatives$Rebel", "plus", TIMES / 4),
        ("LateNatives$Tool", "twice", TIMES),
        ("LateNatives$Tool", "once", TIMES),
        ("LateNatives$Tool", "plus", TIMES),
    ];
    for (class, name, times) in expected {
        assert_eq!(calls(class, name), times, "{class}.{name}, contexts of {level}");
    }
    let leaves = main.contexts("LateNatives$Base", "plus");
    assert!(leaves.iter().all(|&node| main.is_opaque(node)));
    if level != "none" {
        let path = ["LateNatives.run", "LateNatives$Plugin.applyAsInt", "LateNatives$Tool.twice"];
        assert_eq!(main.path(&path).calls, TIMES);
        assert_eq!(main.path(&["LateNatives.main", "LateNatives$Bound.twice"]).calls, TIMES);
    }
    assert!(profile.meta.lost.is_empty(), "{:?}", profile.meta.lost);
}

/// All classes are on the class path, where they can be looked at before they are loaded.
#[test]
fn natives_on_the_class_path_are_leaves() {
    on_every_jdk(|jdk| {
        let library = library(&scratch("natives"), "natives.so");
        for level in ["all", "app", "none"] {
            check(&run(jdk, &classes(jdk), &[&library], &["--contexts", level]), level);
        }
    });
}

/// The plugin's classes are known to nobody but their loader.
#[test]
fn natives_of_other_loaders_are_leaves() {
    on_every_jdk(|jdk| {
        let place = scratch("natives");
        let (program, plugin) = (place.join("program"), place.join("plugin"));
        for (directory, names) in [
            (&program, &["", "$Bound", "$Base", "$Heir", "$Rebel"][..]),
            (&plugin, &["$Plugin", "$Tool", "$Binding"][..]),
        ] {
            fs::create_dir_all(directory).expect("a directory");
            for name in names {
                let file = format!("LateNatives{name}.class");
                fs::copy(classes(jdk).join(&file), directory.join(&file)).expect("the class");
            }
        }
        // No loader may load what another has.
        let (one, other) = (library(&place, "one.so"), library(&place, "other.so"));
        for level in ["all", "app", "none"] {
            check(&run(jdk, &program, &[&one, &plugin, &other], &["--contexts", level]), level);
        }
        check(&run(jdk, &program, &[&one, &plugin, &other], &["--bba", "precise", "--sites"]), "all");
    });
}
