//! Tests that do not do the same work each time, and why.

use std::collections::{BTreeMap, BTreeSet};

use quipu_gate::suite;

use super::count::{Counted, Detail, Runner};

/// Most tests that are run by themselves.
const MOST: usize = 50;

/// The tests whose two runs were not the same, and where they part.
pub(super) fn partings(first: &Counted, second: &Counted) -> BTreeMap<String, String> {
    let mut unstable = BTreeMap::new();
    for (name, work) in &first.tests {
        match second.tests.get(name) {
            Some(again) if again == work => {}
            Some(_) => {
                unstable.insert(name.clone(), where_they_part(first, second, name));
            }
            None => {
                unstable.insert(name.clone(), "it ran in only one of two runs".to_owned());
            }
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

/// Runs these tests twice without the others, and adds what that shows: whether they vary by themselves, or meet something
/// that other tests leave behind.
pub(super) fn look_closer(
    runner: &Runner<'_>,
    among_others: &Counted,
    unstable: &mut BTreeMap<String, String>,
) -> anyhow::Result<()> {
    let selectors = suite::selectors(&among_others.profile);
    let only: BTreeSet<String> =
        unstable.keys().take(MOST).filter_map(|test| selectors.get(test).cloned()).collect();
    eprintln!("quipu: running what differs twice without the other tests, to see why");
    let (Ok(Ok(one)), Ok(Ok(two))) =
        (runner.count(Detail::Numbers, Some(&only)), runner.count(Detail::Numbers, Some(&only)))
    else {
        // A build that wants all its tests says so itself.
        return Ok(());
    };
    for (test, sentence) in unstable.iter_mut().take(MOST) {
        let (Some(first), Some(second)) = (one.tests.get(test), two.tests.get(test)) else { continue };
        *sentence += &if first != second {
            "; without the other tests it differs, too".to_owned()
        } else {
            let place = suite::parting(&among_others.profile, &one.profile, test);
            let place = place.map_or_else(String::new, |place| format!(", in {}", place.path.join(" > ")));
            format!(
                "; without the other tests it does the same each time: it meets what they leave behind{place}"
            )
        };
    }
    Ok(())
}
