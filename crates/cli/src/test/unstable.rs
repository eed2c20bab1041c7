//! Tests that do not do the same work each time, and why.

use std::collections::{BTreeMap, BTreeSet};

use quipu_gate::suite;

use crate::exit::DONE;

use super::count::{Counted, Detail, Runner};
use super::others::MOST_ALONE;

/// Most tests that are run without the others.
const MOST: usize = 50;

/// The tests whose two runs were not the same, and where they part. Of a second run that failed or was killed nothing is
/// said of tests that it did not come to.
pub(super) fn partings(first: &Counted, second: &Counted) -> BTreeMap<String, String> {
    let mut unstable = BTreeMap::new();
    for (name, work) in &first.tests {
        match second.tests.get(name) {
            Some(again) if again == work => {}
            Some(_) => {
                unstable.insert(name.clone(), where_they_part(first, second, name));
            }
            None if second.status == DONE => {
                unstable.insert(name.clone(), "it ran in only one of two runs".to_owned());
            }
            None => {}
        }
    }
    unstable
}

fn where_they_part(first: &Counted, second: &Counted, name: &str) -> String {
    match suite::parting(&first.profile, &second.profile, name) {
        Some(place) => place.sentence(),
        // Its tree has the contexts of all runs of its method.
        None => "all runs of its method together do the same, but one of them does what another did before: something that \
                 is kept, by whichever comes first"
            .to_owned(),
    }
}

/// Runs these tests twice without the others, and the first of them that still differ each by itself, and adds what that
/// shows: whether a test varies by itself, or meets something that other tests leave behind.
pub(super) fn look_closer(
    runner: &Runner<'_>,
    among_others: &Counted,
    unstable: &mut BTreeMap<String, String>,
) -> anyhow::Result<()> {
    let selectors = suite::selectors(&among_others.profile);
    let mut looked: Vec<(&str, &mut String)> =
        unstable.iter_mut().take(MOST).map(|(test, sentence)| (test.as_str(), sentence)).collect();
    let only: BTreeSet<String> =
        looked.iter().filter_map(|(test, _)| selectors.get(*test).cloned()).collect();
    eprintln!("quipu: running what differs twice without the other tests, to see why");
    let Some([one, two]) = twice(runner, &only)? else {
        eprintln!("quipu: that does not work without the other tests: why they differ is not known");
        return Ok(());
    };
    let several = only.len() > 1;
    let mut alone = 0;
    for (test, sentence) in &mut looked {
        let (Some(first), Some(second)) = (one.tests.get(*test), two.tests.get(*test)) else { continue };
        if first == second {
            **sentence += &meets(among_others, &one, test, "without the other tests");
        } else if !several {
            **sentence += "; alone it differs, too";
        } else if alone < MOST_ALONE {
            // Those that differ can be each other's reason.
            alone += 1;
            let itself = selectors.get(*test).cloned().into_iter().collect();
            let Some([one, two]) = twice(runner, &itself)? else { continue };
            **sentence += &match (one.tests.get(*test), two.tests.get(*test)) {
                (Some(first), Some(second)) if first == second => meets(among_others, &one, test, "alone"),
                (Some(_), Some(_)) => "; alone it differs, too".to_owned(),
                _ => String::new(),
            };
        } else {
            **sentence += "; without the tests that do the same each time it differs, too";
        }
    }
    Ok(())
}

/// That a test does the same each time if others do not run before it.
fn meets(among_others: &Counted, one: &Counted, test: &str, when: &str) -> String {
    let place = suite::parting(&among_others.profile, &one.profile, test);
    let place = place.map_or_else(String::new, |place| format!(", in {}", place.path.join(" > ")));
    format!("; {when} it does the same each time: it meets what other tests leave behind{place}")
}

/// Two runs of these tests; none if the command does not bear that: a build that wants all its tests says so itself, and a test
/// that needs others fails the same way each time.
fn twice(runner: &Runner<'_>, only: &BTreeSet<String>) -> anyhow::Result<Option<[Counted; 2]>> {
    let run = || anyhow::Ok(runner.count(Detail::Numbers, Some(only))?.ok().filter(Counted::is_whole));
    let Some(one) = run()? else { return Ok(None) };
    Ok(run()?.map(|two| [one, two]))
}
