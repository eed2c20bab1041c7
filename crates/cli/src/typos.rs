//! What was asked for by a name that there is not, told at the end of a run, with the names that come nearest.

use quipu_kinds::Chosen;
use quipu_profile::{Profile, nearest};
use quipu_text::glob;

/// Names shown.
const SHOWN: usize = 3;

/// What the agent told of classes that filters left out.
const NOT_INCLUDED: &str = "start.not included";
/// A root that was not instrumented, why some method that it names could not be, and methods that there were instead.
const UNMET: &str = "root.unmet";
const WHY: &str = "root.why";
const NEAR: &str = "root.near";
/// A part of a method that no method below a root had.
const NO_REGION: &str = "root.region.unmet";
/// What it told of a user's agent that could not be made.
const WITHOUT_AGENT: &str = "start.without agent";

/// Sentences about filters that nothing matched. The names that were seen are taken out of the profile: they were for this.
pub fn in_filters(chosen: &Chosen, profile: &mut Profile) -> Vec<String> {
    let (seen, rest): (Vec<_>, Vec<_>) = std::mem::take(&mut profile.run.extra)
        .into_iter()
        .partition(|(key, _)| [NOT_INCLUDED, NEAR].contains(&key.as_str()));
    profile.run.extra = rest;
    let (near, seen): (Vec<_>, Vec<_>) = seen.into_iter().partition(|(key, _)| key == NEAR);
    let ran: Vec<&str> = profile.methods().iter().map(|method| profile.str(method.class)).collect();
    let mut candidates: Vec<&str> = seen.iter().map(|(_, name)| name.as_str()).collect();
    let packages: Vec<&str> = candidates.iter().flat_map(|name| packages(name)).collect();
    candidates.extend(packages);
    candidates.sort_unstable();
    candidates.dedup();
    let missed = chosen.all("include").filter(|pattern| {
        let class = pattern.split('#').next().unwrap_or(pattern);
        !ran.iter().any(|name| is_below(name, class) || glob(class, name))
    });
    let hint = |name: &str| {
        let near = nearest(&name.replace('*', ""), candidates.iter().copied(), SHOWN);
        if near.is_empty() { String::new() } else { format!("; there is {}", near.join(", ")) }
    };
    let mut sentences: Vec<String> = missed
        .map(|pattern| format!("--include {pattern}: no class of that name ran{}", hint(pattern)))
        .collect();
    let told = |wanted: &'static str| {
        profile.run.extra.iter().filter(move |(key, _)| key == wanted).map(|(_, value)| value.as_str())
    };
    let methods: Vec<&str> = near.iter().map(|(_, name)| name.as_str()).collect();
    sentences.extend(told(UNMET).map(|root| {
        let why: Vec<&str> = told(WHY)
            .filter_map(|why| why.split_once('\t'))
            .filter(|(of, _)| *of == root)
            .map(|(_, why)| why)
            .collect();
        if !why.is_empty() {
            return format!("--root {root}: not instrumented: {}", why.join("; "));
        }
        let name = root.split(['(', ':']).next().unwrap_or(root).replace('#', ".");
        let near = nearest(&name.replace('*', ""), methods.iter().copied(), SHOWN);
        let hint = match name.rsplit_once('.') {
            _ if !near.is_empty() => format!("; there is {}", near.join(", ")),
            Some((class, _)) => hint(class),
            None => String::new(),
        };
        format!("--root {root}: no such method was loaded{hint}")
    }));
    let regions = told(NO_REGION).map(|region| format!("--region {region}: no such lines were below a root"));
    sentences.extend(regions);
    sentences
}

/// A sentence about a user's agent that could not be made.
pub fn in_agent(chosen: &Chosen, profile: &Profile) -> Option<String> {
    let (_, class) = profile.run.extra.iter().find(|(key, _)| key == WITHOUT_AGENT)?;
    let jar = chosen.get("agent").and_then(|agent| agent.split_once('=')).map(|(jar, _)| jar);
    let names =
        jar.and_then(|jar| quipu_offline::class_names(&std::fs::read(jar).ok()?).ok()).unwrap_or_default();
    let known = names.contains(class);
    let near = nearest(class, names.iter().map(String::as_str).filter(|_| !known), SHOWN);
    let hint = if near.is_empty() { String::new() } else { format!("; the jar has {}", near.join(", ")) };
    Some(format!("the agent {class} could not be made, see above: the profile is without what it does{hint}"))
}

fn is_below(name: &str, class: &str) -> bool {
    name.strip_prefix(class).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '$']))
}

/// The packages that a class is in, and those around them.
fn packages(class: &str) -> Vec<&str> {
    class.match_indices('.').map(|(at, _)| &class[..at]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_below_packages_and_classes() {
        assert!(is_below("com.acme.Main", "com.acme") && is_below("com.acme.Main$1", "com.acme.Main"));
        assert!(is_below("com.acme", "com.acme") && !is_below("com.acmes.Main", "com.acme"));
        assert_eq!(packages("com.acme.Main"), ["com", "com.acme"]);
    }
}
