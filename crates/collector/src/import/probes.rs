//! What counting itself costs: CPU time that was sampled while everything was counted has that in it.
//!
//! Each call costs the same, as measured in the target. A context that was called often and has few samples, by chance, owes
//! the difference; its caller pays it, as far as it can. So sums over a subtree are right but for chance, and no time is
//! negative.

use quipu_profile::{MetricSpec, NO_NODE, Profile};

/// Adds `cpu.probes` and `cpu.corrected`, if it is known what a call costs.
pub fn correct(profile: &mut Profile, picos: u64) {
    let (Some(cpu), Some(calls)) = (profile.metric("cpu"), profile.metric("calls")) else { return };
    let of = |name: &str| MetricSpec { name: name.to_owned(), ..cpu.spec().clone() };
    let (probes_spec, corrected_spec) = (of("cpu.probes"), of("cpu.corrected"));
    let owed = calls.values().iter().map(|&calls| u128::from(calls) * u128::from(picos) / 1000);
    let mut owed: Vec<u64> = owed.map(|nanos| u64::try_from(nanos).unwrap_or(u64::MAX)).collect();
    let total: u64 = owed.iter().fold(0, |sum, &nanos| sum.saturating_add(nanos));
    let mut corrected = cpu.values().to_vec();
    let mut paid = vec![0; corrected.len()];
    // Children stand behind their parents.
    for node in (0..corrected.len()).rev() {
        paid[node] = owed[node].min(corrected[node]);
        corrected[node] -= paid[node];
        let parent = profile.tree().parents()[node];
        if parent != NO_NODE {
            let rest = owed[node] - paid[node];
            owed[parent as usize] = owed[parent as usize].saturating_add(rest);
        }
    }
    let unpaid = total - paid.iter().sum::<u64>().min(total);
    let nanos = picos as f64 / 1e3;
    let mut cost =
        format!("counting took about {:.1} ms of CPU time, {nanos:.2} ns a call", total as f64 / 1e6);
    if unpaid > 0 {
        cost +=
            &format!("; {:.1} ms of that are more than was sampled, and not corrected", unpaid as f64 / 1e6);
    }
    profile.run.cost.push(cost);
    profile.add_metric(probes_spec, paid);
    profile.add_metric(corrected_spec, corrected);
}
