//! CPU time without what counting takes.

use quipu_e2e::{Program, Run, Shares, percent};

/// Some seconds: the JIT has to come to what is measured, and to what it is measured by.
const ROUNDS: &str = "4000";

/// The share of what calls all the time, of the time of both.
fn share_of_calls(run: &Run, metric: &str) -> f64 {
    assert!(run.status.success(), "{}", run.said());
    let shares = Shares::of(run.profile(), metric);
    let (calls, loops) = (shares.total("Weighs", "calls"), shares.total("Weighs", "loops"));
    assert!(calls + loops > 0, "no {metric}; {}", run.said());
    percent(calls, calls + loops)
}

#[test]
fn what_counting_takes_is_not_the_programs() {
    quipu_e2e::on_every_jdk(|jdk| {
        let plain = Program::new("Weighs").arguments([ROUNDS]).quipu(["--cpu", "1000"]).run(jdk);
        let truth = share_of_calls(&plain, "cpu");
        let counted = Program::new("Weighs").arguments([ROUNDS]).quipu(["--exact", "--cpu", "1000"]).run(jdk);
        let (raw, corrected) = (share_of_calls(&counted, "cpu"), share_of_calls(&counted, "cpu.corrected"));
        assert!(raw > truth + 10.0, "counting does not show: {truth} % without, {raw} % with");
        // What a call costs is not the same everywhere: by a third more or less, by where code and arena happen to lie.
        let (least, most) = (truth / 3.0, truth + (raw - truth) * 2.0 / 3.0);
        assert!(
            (least..most).contains(&corrected),
            "{truth} % without counting, {raw} % with, {corrected} % corrected"
        );
        // Nothing is lost on the way.
        let profile = counted.profile();
        let total = |name: &str| profile.metric(name).expect(name).total();
        assert_eq!(total("cpu"), total("cpu.probes") + total("cpu.corrected"));
    });
}
