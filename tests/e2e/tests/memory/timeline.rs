//! The timeline against a program of which it is known what it does.

use quipu_e2e::Program;

#[test]
fn threads_classes_and_pauses_are_told() {
    let program = Program::new("Makes").arguments(["40", "2000"]).jvm(["-Xmx64m", "-XX:+UseParallelGC"]);
    program.quipu(["--timeline"]).on_every_jdk(|run| {
        assert!(run.status.success(), "{}", run.said());
        let profile = run.profile();
        assert!(profile.meta.lost.is_empty(), "lost {:?}", profile.meta.lost);
        let named = |name: &str| {
            let events = profile.events().iter().filter(move |event| profile.str(event.name) == name);
            events.collect::<Vec<_>>()
        };
        let of_makers = |name: &str| {
            let is_maker = |thread: u32| {
                profile
                    .threads()
                    .get(thread as usize)
                    .is_some_and(|thread| profile.str(thread.name) == "maker-#")
            };
            named(name).into_iter().filter(|event| is_maker(event.thread)).count()
        };
        assert_eq!((of_makers("thread.start"), of_makers("thread.end")), (40, 40));
        let pauses = named("gc.pause");
        assert!(pauses.len() >= 5, "{} pauses for 150 MB in a heap of 64 MB", pauses.len());
        assert!(pauses.iter().all(|pause| pause.duration > 0));
        // What caused a class to be loaded is in the stack of the event.
        let tree = profile.tree();
        let loaded = |class: &str| {
            let is_of = |event: &&&quipu_profile::Event| {
                event.details.iter().any(|&(_, value)| profile.str(value) == class)
            };
            let loads = named("class.load");
            let found: Vec<_> = loads.iter().filter(is_of).collect();
            assert_eq!(found.len(), 1, "{class} is loaded once");
            let path = tree.path(found[0].node).into_iter().filter_map(|node| tree.method(node));
            path.map(|method| profile.method_name(method)).collect::<Vec<_>>()
        };
        for (class, cause) in [("Makes$Small", "Makes.small"), ("Makes$Other", "Makes.other")] {
            let stack = loaded(class);
            assert!(stack.iter().any(|method| method == cause), "{class}: {stack:?}");
        }
    });
}
