//! Virtual threads: all their frames, none of their carrier's, and their names.

use quipu_e2e::{Command, Program, Run, Shares, percent, scratch, tools};
use quipu_profile::{Profile, ThreadKind};

use crate::cpu::assert_nearly_whole;

const DEPTH: u32 = 60;

fn divers(run: &Run) -> Profile {
    run.profile().select_threads(|profile, thread| profile.str(thread.name).starts_with("diver-"))
}

fn assert_whole_stacks(run: &Run) {
    assert_nearly_whole(run);
    let divers = divers(run);
    assert_eq!(divers.threads().len(), 4, "{}", run.said());
    assert!(divers.threads().iter().all(|thread| thread.kind == ThreadKind::Virtual));
    let cpu = Shares::of(&divers, "cpu");
    // What was at work was called by all of the recursion, and that by what began the thread.
    let burnt = cpu.total("DeepVirtual", "burn");
    assert!(percent(burnt, cpu.sum()) > 80.0, "{burnt} of {}", cpu.sum());
    assert!(percent(cpu.total("jdk.internal.vm.Continuation", "enter"), cpu.sum()) > 98.0);
    let shallow = shallow(&divers);
    assert!(percent(shallow, burnt) < 1.0, "{shallow} of {burnt} not from the bottom");
    // The carrier has no part in it.
    assert_eq!(cpu.total("java.util.concurrent.ForkJoinWorkerThread", "run"), 0);
}

/// What was used in stacks that do not go all the way down.
fn shallow(divers: &Profile) -> u64 {
    let tree = divers.tree();
    let depths = tree.depths();
    let values = divers.metric("cpu").expect("cpu").values();
    (0..tree.len() as u32)
        .filter(|&node| {
            let method = tree.method(node).map(|method| divers.method_name(method));
            method.as_deref() == Some("DeepVirtual.burn") && depths[node as usize] <= DEPTH
        })
        .map(|node| values[node as usize])
        .sum()
}

#[test]
fn a_virtual_thread_has_its_whole_stack_and_its_name() {
    let program = Program::new("DeepVirtual").arguments([&DEPTH.to_string(), "10"]).since(21);
    let program = program.quipu(["--cpu", "1000", "--merge-threads", "never"]);
    program.on_every_jdk(assert_whole_stacks);
    // Frames in the heap lie differently: wide references, other collectors, code of C1.
    program.clone().jvm(["-XX:+UseSerialGC", "-XX:-UseCompressedOops"]).on_every_jdk(assert_whole_stacks);
    program.jvm(["-XX:TieredStopAtLevel=1", "-XX:+UseParallelGC"]).on_every_jdk(assert_whole_stacks);
}

#[test]
fn a_virtual_thread_has_its_whole_stack_where_collections_are_concurrent() {
    let program = Program::new("DeepVirtual").arguments([&DEPTH.to_string(), "10"]).since(21);
    program
        .quipu(["--cpu", "1000", "--merge-threads", "never"])
        .jvm(["-XX:+UseZGC"])
        .on_every_jdk(assert_whole_stacks);
}

/// Chunks are moved while their threads run, and what is left at the old places is overwritten sooner or later: then a walk
/// fails, and says so; how many do depends on the machine. What is told is right.
#[test]
fn a_virtual_thread_whose_frames_are_being_moved_has_all_of_them_or_says_so() {
    let program = Program::new("DeepVirtual").arguments([&DEPTH.to_string(), "10", "and waste"]).since(21);
    let program =
        program.quipu(["--cpu", "1000", "--merge-threads", "never"]).jvm(["-XX:+UseZGC", "-Xmx64m"]);
    program.on_every_jdk(|run| {
        assert!(run.status.success(), "{}", run.said());
        let (profile, divers) = (run.profile(), divers(run));
        let cpu = Shares::of(&divers, "cpu");
        let whole = cpu.total("jdk.internal.vm.Continuation", "enter");
        // A walk that failed begins with the cause.
        let causes = profile.meta.lost.keys().filter_map(|cause| cause.strip_prefix("walks."));
        let failed: u64 = causes.map(|cause| cpu.total("", &format!("[{cause}]"))).sum();
        assert!(whole > 0, "{}", run.said());
        // Where a thread is put on its carrier or taken off it, none of its frames is there.
        let between = cpu.sum().abs_diff(whole + failed);
        assert!(percent(between, cpu.sum()) < 1.0, "{whole} whole, {failed} failed; {}", run.said());
        assert!(shallow(&divers) <= failed, "{} of {failed}", shallow(&divers));
    });
}

/// A thread that was never taken off its carrier has entered its continuation by another call than one that was.
#[test]
fn virtual_threads_that_never_wait_are_told_apart_from_their_carriers() {
    let program = Program::new("Fresh").arguments(["200"]).since(21).quipu(["--cpu", "1000"]);
    program.on_every_jdk(|run| {
        assert_nearly_whole(run);
        let profile = run.profile();
        let served = Shares::of(profile, "cpu").total("Fresh", "serve");
        let fresh = profile.select_threads(|_, thread| thread.kind == ThreadKind::Virtual);
        let names: Vec<&str> = fresh.threads().iter().map(|thread| fresh.str(thread.name)).collect();
        assert!(names.iter().all(|&name| name == "[virtual]"), "{names:?}");
        let cpu = Shares::of(&fresh, "cpu");
        let theirs = cpu.total("Fresh", "serve");
        assert!(percent(theirs, served) > 99.0, "{theirs} of {served}; {}", run.said());
        // Their name is one that can be asked for.
        let file = scratch("fresh").join("out.quipu");
        profile.save(&file).expect("a file");
        let mut report = Command::new(&tools().quipu);
        let report = report.arg("report").arg(&file).args(["--by", "method", "--thread", "[virtual]"]);
        let said = report.output().expect("it runs");
        let text = String::from_utf8_lossy(&said.stdout);
        assert!(said.status.success() && text.contains("Fresh.burn"), "{text}{said:?}");
        assert_eq!(cpu.total("java.util.concurrent.ForkJoinWorkerThread", "run"), 0);
    });
}

/// Those that wait are on no stack. If there are many, some are looked at in each round, and stand for the others.
#[test]
fn virtual_threads_that_wait_have_their_elapsed_time() {
    for count in [5u64, 20, 400] {
        let program = Program::new("Waiting").arguments([&count.to_string(), "2000"]).since(21);
        program.quipu(["--wall", "100"]).on_every_jdk(|run| {
            assert!(run.status.success(), "{}", run.said());
            let profile = run.profile();
            let wall = Shares::of(profile, "wall");
            // As long as main sleeps, all of them wait.
            let each = Shares::of(profile, "wall.sleeping").thread("main");
            let parked = Shares::of(profile, "wall.parked");
            for method in ["sleeps", "parks"] {
                let waited = percent(parked.total("Waiting", method), count * each);
                assert!((waited - 100.0).abs() < 15.0, "{count} {method}: {waited} %; {}", run.said());
            }
            let theirs = profile.select_threads(|_, thread| thread.kind == ThreadKind::Virtual);
            let names = theirs.threads().iter().map(|thread| theirs.str(thread.name));
            assert!(names.into_iter().all(|name| name == "[virtual]" || name.starts_with("sleeper-")));
            let begun = Shares::of(&theirs, "wall").total("jdk.internal.vm.Continuation", "enter");
            assert!(percent(begun, wall.total("Waiting", "sleeps") + wall.total("Waiting", "parks")) > 99.0);
            let own = ["Quipu", "Quipu wall clock"].map(|name| wall.thread(name));
            assert_eq!(own, [0, 0], "{}", run.said());
        });
    }
}
