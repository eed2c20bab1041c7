//! Methods that were running when their class was changed, and run on as they were.

use quipu_e2e::{Command, Shares, Working, on_every_jdk, percent, scratch, tools};
use quipu_profile::Profile;

use crate::attached::finish;

fn attach(working: &Working, options: &[&str]) -> Profile {
    let file = scratch("attached").join("out.quipu");
    let mut quipu = Command::new("timeout");
    quipu.arg("60").arg(&tools().quipu).args(["attach", &working.id()]).args(options).args(["-d", "1", "-o"]);
    let output = quipu.arg(&file).output().expect("it runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Profile::load(&file).expect("a profile")
}

#[test]
fn what_was_counted_exactly_before_can_be_sampled() {
    on_every_jdk(|jdk| {
        let working = Working::start_program(jdk, "OldVersions");
        attach(&working, &["--exact"]);
        for metric in ["cpu", "wall"] {
            let profile = attach(&working, &[&format!("--{metric}"), "1000"]);
            let shares = Shares::of(&profile, metric);
            let main = shares.thread("main");
            for method in ["main", "descend", "loop"] {
                let share = percent(shares.total("OldVersions", method), main);
                assert!(share > 95.0, "{metric}: {method} has {share} % of {main}");
            }
            let walks = profile.run.extra.iter().find(|(key, _)| key == "stack walks").expect("walks");
            let walks: u64 = walks.1.parse().expect("a number");
            let lost: Vec<_> =
                profile.meta.lost.iter().filter(|(cause, _)| cause.starts_with("walks.")).collect();
            let failed: u64 = lost.iter().map(|(_, n)| **n).sum();
            assert!(walks > 100 && percent(failed, walks) < 1.0, "{metric}: {lost:?} of {walks}");
        }
        finish(working);
    });
}
