//! Classes that are unloaded while they are being sampled.

use quipu_e2e::{Program, Run, Shares, on_all_jdks, percent, tools};

/// The VM lives, and next to nothing is without a name, though most classes are gone before anybody looks them up.
fn assert_named(run: &Run, metrics: &[&str]) {
    assert!(run.status.success(), "{}", run.said());
    let unloaded: u64 = run.stdout.trim().parse().expect("a number");
    assert!(unloaded > 1000, "{unloaded} classes were unloaded");
    for metric in metrics {
        let shares = Shares::of(run.profile(), metric);
        let loading = shares.thread("loading #");
        let nameless = shares.total("", "[method of an unloaded class]");
        println!("{metric}: {:.3} % without a name", percent(nameless, loading));
        assert!(percent(nameless, loading) < 1.0, "{nameless} of {loading} {metric}; {}", run.said());
        let work = shares.total("Unloading$Work", "run");
        assert!(percent(work, loading) > 10.0, "{work} of {loading} {metric}; {}", run.said());
        let known = ["spin", "pause"].map(|method| shares.total("Unloading$Work", method)).iter().sum();
        assert!(percent(known, work) > 50.0, "{known} of {work} {metric}; {}", run.said());
    }
}

#[test]
fn classes_that_are_gone_before_their_names_are_told_have_names() {
    let program = Program::new("Unloading").arguments(["2000"]);
    program.clone().quipu(["--cpu", "1000", "--wall", "1000"]).on_every_jdk(|run| {
        assert_named(run, &["cpu", "wall"]);
    });
    // Metaspace is freed by another thread while others run.
    let concurrent = program.quipu(["--cpu", "1000"]).jvm(["-XX:+UseZGC"]);
    concurrent.on_every_jdk(|run| assert_named(run, &["cpu"]));
}

/// Where the VM's structures are not described, the VM is asked for names, and never about a method whose class is gone:
/// up to JDK 25, it would follow the id of one to wherever it leads.
#[test]
fn a_vm_that_describes_nothing_is_asked_about_classes_that_are_there_only() {
    let forget = format!("-agentpath:{}=forget=*", tools().oracle.display());
    on_all_jdks(|jdk| {
        let program = Program::new("Unloading").arguments(["1000"]).jvm([&*forget]);
        let run = program.quipu(["--cpu", "1000", "--wall", "1000"]).run(jdk);
        assert!(run.status.success(), "{}", run.said());
        let unloaded: u64 = run.stdout.trim().parse().expect("a number");
        assert!(unloaded > 500, "{unloaded} classes were unloaded");
        // What stays has its name; of what goes, most is gone when its name is looked up.
        let cpu = Shares::of(run.profile(), "cpu");
        let main = cpu.total("Unloading", "main") + cpu.total("Unloading", "load");
        assert!(main > 0 || cpu.thread("loading #") > 0, "{}", run.said());
    });
}
