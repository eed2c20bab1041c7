//! Rewritten classes are linked by real JVMs with full verification.

mod support;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use quipu_classfile::{ClassEditor, ClassFile, EditError, VerificationType};
use support::Jdk;
use support::shapes::{Rewriter, Shape};

/// Rewrites class files below `from` to the same places below `to`. Returns how many methods were left alone for a
/// reason other than the format's and HotSpot's own limits.
fn rewrite(files: &[PathBuf], from: &Path, to: &Path, shape: Shape) {
    let mut rewriter = Rewriter::default();
    for file in files {
        let bytes = fs::read(file).expect("class");
        let class = ClassFile::parse(&bytes).expect("parses");
        let target = to.join(file.strip_prefix(from).expect("below"));
        fs::create_dir_all(target.parent().expect("parent")).expect("directory");
        fs::write(target, rewriter.rewrite(&class, shape)).expect("write");
    }
    rewriter.refused.retain(|(_, reason)| {
        !matches!(
            reason,
            EditError::TooLarge { .. } | EditError::EmptyFinalizer | EditError::ObjectConstructor
        )
    });
    assert!(rewriter.refused.is_empty(), "left alone: {:?}", rewriter.refused);
    println!("{shape:?}: {} methods of {} classes", rewriter.edited, files.len());
}

fn names(files: &[PathBuf], root: &Path, skip: usize) -> String {
    let mut names = String::new();
    for file in files {
        let inner: PathBuf = file.strip_prefix(root).expect("below").components().skip(skip).collect();
        let name = inner.with_extension("").to_string_lossy().replace('/', ".");
        let _ = writeln!(names, "{name}");
    }
    names
}

/// Links the named classes; the report's lines about bad classes, and its summary.
fn link(jdk: &Jdk, options: &[String], names: &str, work: &Path) -> (Vec<String>, String) {
    let list = work.join("names");
    fs::write(&list, names).expect("names");
    support::javac(jdk, &support::java_source("LinkAll.java"), work);
    let mut java = jdk.tool("java");
    java.args(["-Xverify:all", "-Xshare:off", "-XX:-PrintWarnings"]).args(options);
    java.arg("-cp").arg(class_path(options, work)).arg("LinkAll").arg(list);
    let output = java.output().expect("java");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let summary = text.lines().last().unwrap_or_default().to_string();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(summary.starts_with("linked "), "{} did not finish: {text}{errors}", jdk.name);
    (text.lines().filter(|l| l.starts_with("BAD ")).map(String::from).collect(), summary)
}

/// The linking program, and whatever directory is given as `-Dunder.test=`.
fn class_path(options: &[String], work: &Path) -> String {
    let under_test = options.iter().find_map(|o| o.strip_prefix("-Dunder.test="));
    under_test.map_or(work.display().to_string(), |d| format!("{}:{d}", work.display()))
}

fn jdk_links(shape: Shape) {
    for jdk in support::jdks() {
        let root = jdk.classes();
        let mut files = support::sampled(support::class_files(&root));
        files.retain(|f| !f.ends_with("module-info.class"));
        let work = support::scratch(&format!("link-{}-{shape:?}", jdk.name));
        let rewritten = work.join("rewritten");
        rewrite(&files, &root, &rewritten, shape);
        let mut options = vec!["--add-modules=ALL-SYSTEM".to_string()];
        for module in fs::read_dir(&rewritten).expect("modules").flatten() {
            let name = module.file_name().to_string_lossy().into_owned();
            options.push(format!("--patch-module={name}={}", module.path().display()));
        }
        let (bad, summary) = link(&jdk, &options, &names(&files, &root, 1), &work);
        assert!(bad.is_empty(), "{}:\n{}", jdk.name, bad.join("\n"));
        println!("{} {shape:?}: {summary}", jdk.name);
    }
}

#[test]
fn jdk_links_with_block_counters() {
    jdk_links(Shape::Counter);
}

#[test]
fn jdk_links_with_locals_and_catch_all() {
    jdk_links(Shape::Full);
}

#[test]
fn jdk_links_with_a_snippet_on_every_edge() {
    jdk_links(Shape::Edges);
}

#[test]
fn libraries_link_as_well_as_before() {
    let Some(jdk) = support::any_jdk() else { return };
    for (name, root) in support::libraries() {
        let mut files = support::class_files(&root);
        files.retain(|f| {
            !f.ends_with("module-info.class") && !f.components().any(|c| c.as_os_str() == "META-INF")
        });
        let names = names(&files, &root, 0);
        let work = support::scratch("link-library");
        let before = link(&jdk, &[format!("-Dunder.test={}", root.display())], &names, &work);
        for shape in [Shape::Counter, Shape::Full, Shape::Edges] {
            let rewritten = work.join("rewritten");
            let _ = fs::remove_dir_all(&rewritten);
            rewrite(&files, &root, &rewritten, shape);
            let after = link(&jdk, &[format!("-Dunder.test={}", rewritten.display())], &names, &work);
            assert_eq!(before, after, "{name} {shape:?}");
        }
        println!("{name}: {}", before.1);
    }
}

/// Without this the tests above would also pass on a JVM that does not verify.
#[test]
fn a_wrong_edit_is_noticed() {
    for jdk in support::jdks() {
        let root = jdk.classes();
        let work = support::scratch(&format!("link-wrong-{}", jdk.name));
        let patch = work.join("patch");
        fs::create_dir_all(patch.join("javax/print")).expect("directory");
        // A class the launcher does not need itself.
        let bytes = fs::read(root.join("java.desktop/javax/print/DocFlavor.class")).expect("DocFlavor");
        let class = ClassFile::parse(&bytes).expect("parses");
        let mut editor = ClassEditor::new(&class);
        for method in class.methods() {
            if let Some(mut code) = editor.edit_method(method.index()).expect("editable") {
                // Declared in every frame, but never assigned.
                code.new_local(VerificationType::Int).expect("local");
                code.finish().expect("edit");
            }
        }
        fs::write(patch.join("javax/print/DocFlavor.class"), editor.into_bytes()).expect("write");
        let options = [format!("--patch-module=java.desktop={}", patch.display())];
        let (bad, _) = link(&jdk, &options, "javax.print.DocFlavor\n", &work);
        assert_eq!(bad.len(), 1, "{} did not verify", jdk.name);
    }
}

/// Branches that no longer reach become `goto_w` and trampolines, with frames where there were none.
#[test]
fn methods_grown_past_the_reach_of_branches_still_run() {
    for jdk in support::jdks() {
        let work = support::scratch(&format!("big-{}", jdk.name));
        support::javac(&jdk, &support::java_source("MakeBig.java"), &work);
        for (size, shape) in
            [(700, Shape::Edges), (1000, Shape::Full), (1100, Shape::Counter), (1100, Shape::Full)]
        {
            let original = work.join(format!("original{size}"));
            fs::create_dir_all(&original).expect("directory");
            support::run(
                jdk.tool("java").arg("-cp").arg(&work).arg("MakeBig").arg(&work).arg(size.to_string()),
            );
            support::javac(&jdk, &work.join("Big.java"), &original);
            let rewritten = work.join(format!("rewritten{size}{shape:?}"));
            rewrite(&support::class_files(&original), &original, &rewritten, shape);
            let result = |classes: &Path| {
                support::run(jdk.tool("java").arg("-Xverify:all").arg("-cp").arg(classes).arg("Big")).stdout
            };
            assert_eq!(result(&original), result(&rewritten), "{size} {shape:?}");
        }
    }
}
