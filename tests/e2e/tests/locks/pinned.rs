//! Virtual threads that wait and keep their carriers.

use quipu_e2e::Program;

use super::of_lock;

/// From here on they give them back within monitors.
const GIVES_BACK: u32 = 24;

#[test]
fn virtual_threads_that_keep_their_carriers_are_told() {
    let program = Program::new("Pins").since(21).jvm(["-Djdk.reflect.useNativeAccessorOnly=true"]);
    program.quipu(["--locks"]).on_every_jdk(|run| {
        assert!(run.status.success(), "{}", run.said());
        let profile = run.profile();
        let tree = profile.tree();
        for (method, always) in [
            ("Pins.within", false),
            ("Pins.contended", false),
            ("Pins.notified", false),
            ("Pins.below", true),
        ] {
            let passes = |event: &&quipu_profile::Event| {
                let at = |node| tree.method(node).is_some_and(|of| profile.method_name(of) == method);
                profile.str(event.name) == "thread.pinned" && tree.path(event.node).into_iter().any(at)
            };
            let pinned: u64 = profile.events().iter().filter(passes).map(|event| event.duration).sum();
            match always || run.jdk.feature < GIVES_BACK {
                true => assert!(pinned >= 20_000_000, "{pinned} ns of 30 ms in {method}; {}", run.said()),
                false => assert_eq!(pinned, 0, "{method}; {}", run.said()),
            }
        }
        let is_free = |node: u32| tree.method(node).is_some_and(|of| profile.method_name(of) == "Pins.free");
        let free = profile.events().iter().filter(|event| {
            profile.str(event.name) == "thread.pinned" && tree.path(event.node).into_iter().any(is_free)
        });
        assert_eq!(free.count(), 0, "{}", run.said());
        // Waits of virtual threads to be notified are those of others.
        assert_eq!(of_lock(profile, "wait.count", "java.lang.Object", "Pins.notified"), 1, "{}", run.said());
        let time = of_lock(profile, "wait.time", "java.lang.Object", "Pins.notified");
        assert!(time >= 20_000_000, "{time} ns of 30 ms; {}", run.said());
    });
}
