//! What the collector decides is not the program's work.

use std::collections::BTreeSet;

use quipu_classfile::{ClassFile, Method};
use quipu_e2e::{Counts, Jdk, Program, ThreadCounts, differences, on_all_jdks, on_every_jdk};
use quipu_offline::RuntimeImage;
use quipu_profile::Profile;
use quipu_rewrite::Treatment;

/// What the program itself does; starting the thread that collects is not part of it.
fn work(run: &quipu_e2e::Run) -> Profile {
    run.assert_whole().profile().select_threads(|profile, thread| profile.str(thread.name) == "main")
}

/// Each JDK has lists of its own of what is to be cleaned, so this is held against all of them.
#[test]
fn the_collector_does_not_change_what_is_counted() {
    on_all_jdks(|jdk| same_with_collections(jdk, "Collected"));
    on_every_jdk(|jdk| same_with_collections(jdk, "Cleaned"));
}

fn same_with_collections(jdk: &Jdk, main: &str) {
    let program = Program::new(main).quipu(["--deterministic"]);
    if !program.runs_on(jdk) {
        return;
    }
    let calm = work(&program.run(jdk));
    let busy = work(&program.clone().arguments(["collect"]).run(jdk));
    let below = |profile: &Profile| ThreadCounts::of(profile, |_| true).method(main, "work");
    assert_eq!(below(&calm).calls, 1);
    assert_ne!(below(&calm), Counts::default());
    let place = format!("{main}.work");
    let differing: Vec<String> =
        differences(&calm, &busy).into_iter().filter(|line| line.contains(&place)).collect();
    assert!(differing.is_empty(), "JDK {}:\n{}", jdk.feature, differing.join("\n"));
}

/// Methods that ask what was collected and are not hidden, and why.
const ASKING: [(&str, &str); 20] = [
    ("java/lang/ref/Finalizer$", OWN_THREAD),
    ("java/lang/ref/NativeReferenceQueue.remove", OWN_THREAD),
    ("jdk/internal/ref/CleanerImpl.run", OWN_THREAD),
    ("java/nio/BufferCleaner$CleaningRunnable.run", OWN_THREAD),
    ("sun/java2d/Disposer.run", OWN_THREAD),
    ("sun/java2d/marlin/OffHeapArray$OffHeapDisposer.run", OWN_THREAD),
    ("sun/rmi/transport/DGCClient$EndpointEntry$RenewCleanThread.run", OWN_THREAD),
    ("sun/rmi/transport/ObjectTable$Reaper.run", OWN_THREAD),
    ("jdk/internal/net/http/common/SSLFlowDelegate$Monitor.run", OWN_THREAD),
    ("com/sun/xml/internal/org/jvnet/mimepull/WeakDataFile$1.run", OWN_THREAD),
    (
        "java/util/ResourceBundle.findBundle",
        "does much else; bundles are held softly, and such references stay",
    ),
    ("com/sun/java/swing/", DESKTOP),
    ("javax/swing/", DESKTOP),
    ("sun/awt/", DESKTOP),
    ("sun/swing/", DESKTOP),
    ("sun/java2d/Disposer.pollRemove", DESKTOP),
    ("com/sun/tools/jdi/", "debuggers"),
    ("jdk/vm/ci/", "compilers written in Java"),
    ("jdk/nashorn/", "scripts, whose compiled code is held softly"),
    ("sun/tracing/dtrace/", "probes of DTrace, which Linux has not"),
];
const OWN_THREAD: &str = "on a thread of its own, which waits for it";
const DESKTOP: &str = "desktop programs";

/// Another caller is another way for the collector to decide what is counted.
#[test]
fn what_asks_for_collected_objects_is_known() {
    on_all_jdks(|jdk| {
        let image = RuntimeImage::open(&jdk.home).expect("the JDK's run-time image");
        let (mut unknown, mut hidden) = (BTreeSet::new(), 0);
        for name in image.names() {
            let bytes = image.class(name).expect("a class of the image");
            if !bytes.windows(14).any(|part| part == b"ReferenceQueue") {
                continue;
            }
            let class = ClassFile::parse(&bytes).expect("a class of the JDK");
            for method in class.methods().filter(asks) {
                let [class, name] = [class.name(), method.name()].map(String::from_utf8_lossy);
                let place = format!("{class}.{name}");
                if Treatment::of(&method, None, false).hides() {
                    hidden += 1;
                } else if !ASKING.iter().any(|(known, _)| place.starts_with(known)) {
                    unknown.insert(place);
                }
            }
        }
        assert!(unknown.is_empty(), "JDK {}: {unknown:#?}", jdk.feature);
        assert!(hidden > 10, "JDK {}: {hidden}", jdk.feature);
    });
}

/// Whether a method takes something from a queue of what was collected.
fn asks(method: &Method<'_, '_>) -> bool {
    let Ok(Some(code)) = method.code() else { return false };
    let pool = method.class().pool();
    let mut called =
        code.instructions().flatten().filter_map(|instruction| pool.member(instruction.pool_index()?).ok());
    called.any(|called| {
        called.owner.ends_with(b"ReferenceQueue")
            && (called.name == b"poll" || called.name.starts_with(b"remove"))
    })
}
