//! What kind of code each frame is: the tier of Java methods, and functions of libraries and of the VM.

use quipu_e2e::{Program, Run, Shares, percent};
use quipu_profile::{MethodFlags, Profile};

use crate::cpu::assert_nearly_whole;

/// CPU time that was used by a method, and what it calls, while code of a tier was running.
fn tier(run: &Run, tier: &str, class: &str, name: &str) -> u64 {
    run.profile().metric(tier).map_or(0, |_| Shares::of(run.profile(), tier).total(class, name))
}

const TIERS: [&str; 5] = ["cpu.interpreted", "cpu.c1", "cpu.c2", "cpu.native", "cpu.unknown"];

/// A sample is in the tier of the code that was running: for every node, tiers are parts of a whole.
fn assert_tiers_add_up(profile: &Profile) {
    let all = profile.metric("cpu").expect("cpu").values();
    let mut sums = vec![0; all.len()];
    for tier in TIERS.iter().filter_map(|tier| profile.metric(tier)) {
        sums.iter_mut().zip(tier.values()).for_each(|(sum, value)| *sum += value);
    }
    assert_eq!(sums, all);
}

/// Shares of the tiers of `Burning.spin`, in percent.
fn spinning(run: &Run) -> [f64; 5] {
    assert_nearly_whole(run);
    assert_tiers_add_up(run.profile());
    let spin = Shares::of(run.profile(), "cpu").total("Burning", "spin");
    let tiers = TIERS.map(|name| tier(run, name, "Burning", "spin"));
    assert_eq!(tiers.iter().sum::<u64>(), spin, "each sample is in one tier");
    tiers.map(|tier| percent(tier, spin))
}

#[test]
fn frames_have_the_tier_that_the_jvm_was_limited_to() {
    let burning = Program::new("Burning").arguments(["150"]).quipu(["--cpu", "1000"]);
    burning.clone().jvm(["-Xint"]).on_every_jdk(|run| {
        let [interpreted, ..] = spinning(run);
        assert!(interpreted > 95.0, "{interpreted} %");
        assert!(run.profile().metric("cpu.c1").is_none() && run.profile().metric("cpu.c2").is_none());
    });
    burning.clone().jvm(["-XX:TieredStopAtLevel=1"]).on_every_jdk(|run| {
        let [_, c1, c2, ..] = spinning(run);
        assert!(c1 > 80.0 && c2 == 0.0, "{c1} %, {c2} %");
    });
    burning.jvm(["-XX:-TieredCompilation"]).on_every_jdk(|run| {
        let [_, c1, c2, ..] = spinning(run);
        assert!(c2 > 50.0 && c1 == 0.0, "{c1} %, {c2} %");
    });
}

#[test]
fn functions_of_libraries_stand_below_the_native_method_that_calls_them() {
    Program::new("Deflating").arguments(["700"]).quipu(["--cpu", "1000"]).on_every_jdk(|run| {
        assert_nearly_whole(run);
        let profile = run.profile();
        let cpu = Shares::of(profile, "cpu");
        let native = cpu.total("java.util.zip.Deflater", "deflateBytesBytes");
        assert!(percent(native, cpu.thread("main")) > 50.0, "{}", run.said());
        assert_eq!(tier(run, "cpu.native", "java.util.zip.Deflater", "deflateBytesBytes"), native);
        // The bridge is libzip's; the work is done in there, or in the system's libz.
        let bridge = cpu.total("", "Java_java_util_zip_Deflater_deflateBytesBytes");
        // Until it has been noticed that the library is there, the frames end where Java does.
        assert!(percent(bridge, native) > 90.0, "{bridge} of {native}");
        let foreign = |node: &u32| {
            let method = profile.tree().method(*node).map(|method| profile.method(method));
            method.is_some_and(|method| {
                method.flags.contains(MethodFlags::FOREIGN)
                    && ["libz", "libzip"].iter().any(|name| profile.str(method.module).starts_with(name))
            })
        };
        let values = profile.metric("cpu").expect("cpu").values();
        let inside: u64 =
            (0..profile.tree().len() as u32).filter(foreign).map(|node| values[node as usize]).sum();
        assert!(percent(inside, native) > 80.0, "{inside} of {native}");
    });
}

#[test]
fn threads_of_the_vm_have_its_functions() {
    Program::new("Hot").arguments(["3"]).quipu(["--cpu", "1000"]).on_every_jdk(|run| {
        assert_nearly_whole(run);
        let profile = run.profile();
        // By its whole name, of which the kernel keeps 15 letters.
        let compilers = profile
            .select_threads(|profile, thread| profile.str(thread.name).starts_with("C2 CompilerThread"));
        let cpu = Shares::of(&compilers, "cpu");
        assert!(cpu.sum() > 0, "{}", run.said());
        let compiling = cpu.total("", "CompileBroker::compiler_thread_loop");
        assert!(percent(compiling, cpu.sum()) > 90.0, "{compiling} of {}", cpu.sum());
    });
}
