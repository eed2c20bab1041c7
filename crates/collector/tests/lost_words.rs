//! Everything that can be lost can be told.

use quipu_arena::layout::CAUSES;
use quipu_profile::lost_in_words;

#[test]
fn every_cause_of_loss_has_words() {
    for cause in CAUSES {
        for count in [1, 2] {
            let words = lost_in_words(cause, count);
            assert!(
                !words.contains(cause),
                "{cause} is told as {words:?}: add words in crates/profile/src/lost.rs"
            );
        }
    }
}
