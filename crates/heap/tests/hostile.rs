//! Dumps that are cut off, changed, or none at all: what can be read is read, and nothing panics.

#[path = "support/exercise.rs"]
mod exercise;
mod support;

use exercise::exercise;
use proptest::prelude::*;
use quipu_heap::{Dump, HeapError, Unwatched};
use support::shop;

#[test]
fn a_dump_that_is_cut_off_anywhere_says_where() {
    for id_size in [4, 8] {
        let whole = shop(id_size);
        let objects = Dump::open(&whole, &Unwatched).unwrap().objects();
        exercise(&whole).unwrap();
        let mut most = 0;
        for end in (0..9_000).step_by(11).chain(whole.len() - 40..whole.len() - 9) {
            let cut = whole[..end].to_vec();
            match Dump::open(&cut, &Unwatched) {
                Ok(dump) => {
                    assert!(!dump.damage().is_empty(), "cut at {end}");
                    assert!(
                        dump.damage().iter().all(|damage| damage.offset <= end as u64),
                        "{:?}",
                        dump.damage()
                    );
                    assert!(dump.objects() >= most && dump.objects() <= objects);
                    most = dump.objects();
                    exercise(&cut).unwrap();
                }
                Err(HeapError::NotADump { .. } | HeapError::Empty(_)) => {}
                Err(other) => panic!("cut at {end}: {other}"),
            }
        }
        assert!(
            most >= objects - 2,
            "{most} of {objects} are readable of a dump that ends one record too early"
        );
    }
}

/// Dumps for the fuzzer to begin with.
#[test]
#[ignore = "writes files to the directory QUIPU_SEED"]
fn seeds() {
    let folder = std::path::PathBuf::from(std::env::var_os("QUIPU_SEED").expect("a directory in QUIPU_SEED"));
    for id_size in [4, 8] {
        let mut dump = shop(id_size);
        // The large array is of no interest, and slow.
        dump.truncate(9_000);
        std::fs::write(folder.join(format!("shop-{id_size}")), dump).expect("a file");
    }
}

#[test]
fn what_is_no_dump_is_said_to_be_none() {
    for bytes in [&b""[..], b"PK\x03\x04", b"JAVA PROFILE 1.0.3\0\0\0\0\x08\0\0\0\0\0\0\0\0", &[0; 100]] {
        let error = Dump::open(&bytes.to_vec(), &Unwatched).err().expect("no dump");
        assert!(matches!(error, HeapError::NotADump { .. }), "{error}");
    }
    let mut odd = shop(8);
    odd[22] = 5;
    assert!(matches!(Dump::open(&odd, &Unwatched), Err(HeapError::IdSize { size: 5, offset: 19 })));
}

#[test]
fn damage_in_one_segment_leaves_the_others() {
    let mut bytes = shop(8);
    let whole = Dump::open(&bytes, &Unwatched).unwrap().objects();
    // The first record of the second segment.
    let second = bytes.windows(9).rposition(|window| window[0] == 0x1c && window[1..5] == [0; 4]).unwrap();
    bytes[second + 9] = 0x77;
    let dump = Dump::open(&bytes, &Unwatched).unwrap();
    assert_eq!(dump.damage().len(), 1);
    assert_eq!(dump.damage()[0].offset, second as u64 + 9);
    assert!(dump.objects() < whole && dump.objects() > 10);
    exercise(&bytes).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn changed_dumps_never_panic(
        id_size in prop_oneof![Just(4_usize), Just(8)],
        changes in proptest::collection::vec((31_usize..8_000, any::<u8>()), 1..12),
    ) {
        let mut bytes = shop(id_size);
        for (at, value) in changes {
            let at = at % bytes.len().min(8_000);
            bytes[at] = value;
        }
        // An error is fine; a panic is not, nor is an endless loop.
        let _ = exercise(&bytes);
    }
}
