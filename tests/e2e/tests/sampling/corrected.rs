//! CPU time without what counting takes.

use quipu_e2e::{Program, Run, Shares, percent};

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
        let plain = Program::new("Weighs").arguments(["1500"]).quipu(["--cpu", "1000"]).run(jdk);
        let truth = share_of_calls(&plain, "cpu");
        let counted = Program::new("Weighs").arguments(["1500"]).quipu(["--exact", "--cpu", "1000"]).run(jdk);
        let (raw, corrected) = (share_of_calls(&counted, "cpu"), share_of_calls(&counted, "cpu.corrected"));
        assert!(raw > truth + 10.0, "counting does not show: {truth} % without, {raw} % with");
        let (before, after) = ((raw - truth).abs(), (corrected - truth).abs());
        assert!(after < before / 2.0, "{truth} % without counting, {raw} % with, {corrected} % corrected");
        // Nothing is lost on the way.
        let profile = counted.profile();
        let total = |name: &str| profile.metric(name).expect(name).total();
        assert_eq!(total("cpu"), total("cpu.probes") + total("cpu.corrected"));
    });
}
