//! Everything that is done with an arena's bytes, for tests that ask only that no bytes do harm.

use quipu_arena::reader::Contents;
use quipu_collector::import::{self, Baseline};
use quipu_profile::{Contents as Parts, Profile};

/// Reads the bytes in every way there is. False if they are no arena.
pub fn exercise(bytes: &[u8]) -> bool {
    let Ok(contents) = Contents::read(bytes) else {
        assert!(import::profile(bytes).is_err(), "one reader accepts what the other refuses");
        return false;
    };
    for (at, node) in contents.nodes.iter().enumerate() {
        assert!(node.parent.is_none_or(|parent| (parent as usize) < at), "parents come first");
        assert!(contents.block_counts(node).count() <= bytes.len() / 8);
    }
    let profile = import::profile(bytes).expect("an arena");
    let again = Profile::from_bytes(&profile.to_bytes(Parts::All));
    assert_eq!(again.as_ref(), Ok(&profile), "what was read can be written");
    let baseline = Baseline::read(bytes).expect("an arena");
    let since = import::profile_since(bytes, Some(&baseline)).expect("an arena");
    assert_eq!(since.metric("calls").map_or(0, |calls| calls.total()), 0, "nothing happened since");
    true
}
