//! Classes that filters left out, so that a person who mistyped one is told what there is.

use std::collections::BTreeSet;
use std::sync::Mutex;

use quipu_classfile::mutf8;

use crate::locks::lock;
use crate::session::Session;

/// No more than this is kept.
const MOST: usize = 500;

/// The JDK's own, which nobody means.
const JDK: [&[u8]; 4] = [b"java/", b"javax/", b"jdk/", b"sun/"];

static SEEN: Mutex<BTreeSet<Box<[u8]>>> = Mutex::new(BTreeSet::new());

/// Such a class was loaded.
pub fn add(class: &[u8]) {
    if JDK.iter().any(|prefix| class.starts_with(prefix)) {
        return;
    }
    let mut seen = lock(&SEEN);
    if seen.len() < MOST {
        seen.insert(class.into());
    }
}

/// The program ends: tells the reader.
pub fn tell(session: &Session) {
    for class in std::mem::take(&mut *lock(&SEEN)) {
        session.note("start.not included", &mutf8::decode(&class).replace('/', "."));
    }
}
