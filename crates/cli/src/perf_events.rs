//! What `--event` can count on this machine, for whoever runs this.

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;

use quipu_kinds::{Chosen, EVENT};
use quipu_perf::{Event, Group, NAMED, Refused, Scope, paranoia, usdt};

use crate::exit::Failure;

/// Events of one kind: those that can be had, and why others cannot.
pub struct Offer {
    /// Who counts them.
    pub of: &'static str,
    /// Those that can be had.
    pub there: Vec<String>,
    /// Those that cannot, and why, each reason once.
    pub missing: Vec<(Vec<String>, String)>,
    /// Whether what the kernel does is left out of those that can be had.
    pub user_only: bool,
}

/// What can be counted.
pub fn offers() -> Vec<Offer> {
    let named = |group: Group| NAMED.iter().filter(move |event| event.group == group).map(|event| event.name);
    vec![
        offer("of the kernel", named(Group::Software)),
        offer("of the processor", named(Group::Hardware)),
        offer("of its caches", named(Group::Cache)),
        offer("breakpoints", ["mem:0x1000:rw", "mem:0x1000:x"].into_iter()),
        offer("tracepoints", ["sched:sched_switch"].into_iter()),
    ]
}

fn offer(of: &'static str, names: impl Iterator<Item = &'static str>) -> Offer {
    let mut offer = Offer { of, there: Vec::new(), missing: Vec::new(), user_only: false };
    for name in names {
        let Ok(event) = Event::parse(name) else { continue };
        match event.allowed() {
            Ok(scope) => {
                offer.user_only |= scope == Scope::User;
                offer.there.push(shown(name));
            }
            Err(Refused { why, .. }) => match offer.missing.iter_mut().find(|(_, known)| *known == why) {
                Some((names, _)) => names.push(shown(name)),
                None => offer.missing.push((vec![shown(name)], why)),
            },
        }
    }
    offer
}

/// Breakpoints are tried anywhere.
fn shown(name: &str) -> String {
    name.replace("0x1000", "PLACE")
}

/// Whether these are the arguments of somebody who wants the list.
pub fn is_asked(arguments: impl Iterator<Item = OsString>) -> bool {
    let words: Vec<OsString> = arguments.take_while(|word| word != "--").collect();
    words.iter().any(|word| word == "--event=list")
        || words.windows(2).any(|pair| pair[0] == "--event" && pair[1] == "list")
}

/// The list.
pub fn list() -> String {
    let mut text = String::new();
    for Offer { of, there, missing, user_only } in offers() {
        if !there.is_empty() {
            text += &format!("ok  {of:<17} {}\n", there.join(" "));
        }
        if user_only {
            text += &format!("    {:<17} without what takes place in the kernel: {}\n", "", more());
        }
        for (names, why) in missing {
            text += &format!("no  {of:<17} {}\n    {:<17} {why}\n", names.join(" "), "");
        }
    }
    if let Some((library, names)) = probes() {
        text +=
            &format!("ok  {:<17} {}\n    {:<17} of {}\n", "probes", names.join(" "), "", library.display());
    }
    text += "\nAlso raw:HEX, an event of the processor by its maker's number. PLACE is an address, 0x7f…, or a symbol that a library\n\
             exports, such as JVM_GC. Any can have a period behind it: page-faults:100 takes a sample for every 100.\n";
    text
}

/// The probes of the JVM that a program would run on, and where that is; none if it was built without.
fn probes() -> Option<(PathBuf, Vec<String>)> {
    const LIBRARIES: [&str; 2] = ["lib/server/libjvm.so", "jre/lib/amd64/server/libjvm.so"];
    let homes = env::var_os("JAVA_HOME").map(PathBuf::from).into_iter().chain(java_in_path());
    let mut libraries = homes.flat_map(|home| LIBRARIES.map(|library| home.join(library)));
    let library = libraries.find(|library| library.exists())?;
    let of_hotspot = usdt::probes(&library).into_iter().filter(|probe| probe.provider == HOTSPOT);
    let mut names: Vec<String> = of_hotspot.map(|probe| format!("usdt:{HOTSPOT}:{}", probe.name)).collect();
    names.sort_unstable();
    names.dedup();
    (!names.is_empty()).then_some((library, names))
}

/// Who has put probes into the VM that are about Java; those of another provider are JNI's functions.
const HOTSPOT: &str = "hotspot";

fn java_in_path() -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    let java = env::split_paths(&path).find_map(|folder| folder.join("java").canonicalize().ok())?;
    Some(java.parent()?.parent()?.to_owned())
}

/// How to be allowed what the kernel does.
pub fn more() -> String {
    let level = paranoia().map_or(String::new(), |level| format!("kernel.perf_event_paranoid is {level}; "));
    format!("{level}sysctl kernel.perf_event_paranoid=1, or CAP_PERFMON for the JVM, allows it")
}

/// Refuses events that nobody knows; with `here`, also those that this machine does not let us count.
pub fn check(chosen: &Chosen, here: bool) -> anyhow::Result<()> {
    for text in chosen.all(EVENT.name()) {
        let event = Event::parse(text).map_err(Failure::usage)?;
        if here {
            event.allowed().map_err(Failure::target)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_asked_for_as_an_event() {
        let asked = |words: &[&str]| is_asked(words.iter().map(OsString::from));
        assert!(asked(&["quipu", "run", "--event", "list"]) && asked(&["quipu", "attach", "--event=list"]));
        assert!(!asked(&["quipu", "run", "--event", "cycles"]));
        assert!(!asked(&["quipu", "run", "--", "java", "--event", "list"]), "the program's own");
    }

    #[test]
    fn everything_that_has_a_name_is_listed_once() {
        let list = list();
        for named in &NAMED {
            let lines = list.split_whitespace().filter(|word| *word == named.name);
            assert!(lines.count() >= 1, "{} is not in\n{list}", named.name);
        }
        assert!(list.contains("mem:PLACE:x") && list.contains("sched:sched_switch"), "{list}");
    }

    #[test]
    fn events_that_nobody_knows_are_wrong_use() {
        let chosen = |text: &str| Chosen::parse(text).unwrap();
        assert!(check(&chosen("event=page-faults:7,event=raw:3c"), false).is_ok());
        let error = check(&chosen("event=page-falts"), false).unwrap_err().to_string();
        assert!(error.starts_with("unknown event 'page-falts': cpu-clock, "), "{error}");
    }
}
