//! Tests that ask what time it is.

use quipu_profile::Profile;

use super::run::trees;

/// What everything ends in that asks for the time.
const CLOCKS: [&str; 4] = [
    "java.lang.System.currentTimeMillis",
    "java.lang.System.nanoTime",
    "jdk.internal.misc.VM.getNanoTimeAdjustment",
    "sun.misc.VM.getNanoTimeAdjustment",
];

/// Whether a test asks for the time: what it does may then depend on how much time has passed, which is chance.
pub fn reads_clock(profile: &Profile, test: &str) -> bool {
    let Some(name) = trees(profile).remove(test) else { return false };
    let tree = profile.tree();
    let roots = profile.threads().iter().filter(|thread| profile.str(thread.name) == name);
    let mut methods = roots.flat_map(|thread| tree.subtree(thread.root)).filter_map(|node| tree.method(node));
    methods.any(|method| CLOCKS.contains(&profile.method_name(method).as_str()))
}
