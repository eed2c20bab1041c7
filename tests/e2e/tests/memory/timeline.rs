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
        let about = |event: &quipu_profile::Event, key: &str| {
            let told = event.details.iter().find(|&&(of, _)| profile.str(of) == key);
            told.map_or_else(String::new, |&(_, value)| profile.str(value).to_owned())
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
        // Nothing survives: after a pause little is in use, and before it most of what the program may have.
        let heap = |pause: &quipu_profile::Event, key: &str| {
            let found = pause.details.iter().find(|&&(name, _)| profile.str(name) == key);
            found.unwrap_or_else(|| panic!("no {key}")).1
        };
        let bytes = |pause, key| profile.str(heap(pause, key)).parse::<u64>().expect("a number");
        let after: Vec<u64> = pauses.iter().map(|pause| bytes(pause, "heap.after")).collect();
        assert!(after.iter().all(|&bytes| (1 << 16..48 << 20).contains(&bytes)), "{after:?}");
        let freed: u64 = pauses
            .iter()
            .map(|pause| bytes(pause, "heap.before").saturating_sub(bytes(pause, "heap.after")))
            .sum();
        // 80 MB of large arrays and some small objects are made, and what is left at the end was not freed.
        assert!((30 << 20..400 << 20).contains(&freed), "{freed} bytes were freed");
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
        // By which loader, and how long it took.
        let small = named("class.load").into_iter().find(|event| about(event, "what") == "Makes$Small");
        let small = small.expect("it is loaded");
        assert!(about(small, "loader").contains("AppClassLoader@"), "{}", about(small, "loader"));
        assert!(small.duration > 0);
        let from_boot =
            named("class.load").into_iter().filter(|event| about(event, "loader") == "boot loader");
        assert!(from_boot.count() > 0);
        // The collector's pauses are pauses of the VM, of which there are others.
        let safepoints = named("safepoint");
        let number =
            |event: &quipu_profile::Event, key: &str| about(event, key).parse::<u64>().expect("a number");
        let all: u64 = safepoints.iter().map(|event| number(event, "pauses")).sum();
        // However short the program was. One pause may have two collections in it, the second because the first was not enough.
        assert!(2 * all >= pauses.len() as u64, "{all} pauses of the VM, {} of the collector", pauses.len());
        assert!(safepoints.iter().all(|event| event.duration >= 1000), "of a microsecond at least");
        for (class, cause) in [("Makes$Small", "Makes.small"), ("Makes$Other", "Makes.other")] {
            let stack = loaded(class);
            assert!(stack.iter().any(|method| method == cause), "{class}: {stack:?}");
        }
    });
}

/// What is alive is in use after a collection, whatever the collector.
#[test]
fn what_is_in_use_after_a_pause_is_what_is_alive() {
    for collector in ["-XX:+UseSerialGC", "-XX:+UseParallelGC", "-XX:+UseG1GC"] {
        let program = Program::new("Survives").arguments(["3", "100"]).jvm(["-Xmx256m", collector]);
        program.quipu(["--timeline"]).on_every_jdk(|run| {
            let profile = run.profile();
            let is_pause = |event: &&quipu_profile::Event| profile.str(event.name) == "gc.pause";
            let last = profile.events().iter().rfind(is_pause).expect("a pause");
            let after = last
                .details
                .iter()
                .find(|&&(name, _)| profile.str(name) == "heap.after")
                .expect("a number")
                .1;
            let after: u64 = profile.str(after).parse().expect("a number");
            // 600,000 objects of 64 bytes, a list of them, and what the JDK has itself.
            let size = if run.jdk.feature < 27 { 64 } else { 56 };
            let alive = 600_000 * size + 600_000 * 4;
            assert!((alive..alive + (12 << 20)).contains(&after), "{collector}: {after} after {alive}");
        });
    }
}
