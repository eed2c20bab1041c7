//! Elapsed time goes to everybody, by what they do.

use quipu_e2e::{Program, Shares, percent};

use crate::cpu::assert_nearly_whole;

#[test]
fn threads_that_wait_are_seen_waiting_in_their_way() {
    // Both at once, into one profile.
    let program = Program::new("Burning").arguments(["500"]).quipu(["--wall", "200", "--cpu", "1000"]);
    let program = program.quipu(["--merge-threads", "never"]);
    program.on_every_jdk(|run| {
        assert_nearly_whole(run);
        let profile = run.profile();
        let wall = Shares::of(profile, "wall");
        let states = [
            ("sleeping", "sleeps"),
            ("parked", "parks"),
            ("blocked", "blocks"),
            ("waiting", "waitsFor"),
            ("native", "reads"),
        ];
        for (i, (state, method)) in states.into_iter().enumerate() {
            let in_state = Shares::of(profile, &format!("wall.{state}"));
            for thread in [i, i + 5].map(|i| format!("waiting {i}")) {
                let share = percent(in_state.thread(&thread), wall.thread(&thread));
                // Those that block park for a while before.
                let least = if state == "blocked" { 50.0 } else { 85.0 };
                assert!(share > least, "{thread} is {state} for {share} %; {}", run.said());
            }
            assert!(in_state.total("Burning", method) > 0, "{method} is {state}");
        }
        let running = Shares::of(profile, "wall.running");
        let busy = running.thread("three parts") + running.thread("one part");
        assert!(percent(busy, running.sum()) > 50.0);
        // All threads that live as long as the program have the same time.
        let main = wall.thread("main");
        for i in 0..10 {
            let other = percent(wall.thread(&format!("waiting {i}")), main);
            assert!((80.0..101.0).contains(&other), "waiting {i} has {other} % of main's time");
        }
        let cpu = Shares::of(profile, "cpu");
        let share = percent(cpu.thread("three parts"), cpu.thread("three parts") + cpu.thread("one part"));
        assert!((share - 75.0).abs() <= 3.0, "{share} %");
    });
}

#[test]
fn only_the_threads_that_were_chosen_are_sampled() {
    let program = Program::new("Burning").arguments(["100"]).quipu(["--wall", "--threads", "waiting *"]);
    let program = program.quipu(["--merge-threads", "never"]);
    program.on_every_jdk(|run| {
        let profile = run.profile();
        let names: Vec<&str> = profile.threads().iter().map(|thread| profile.str(thread.name)).collect();
        assert!(names.iter().all(|name| name.starts_with("waiting ")) && names.len() == 10, "{names:?}");
    });
}
