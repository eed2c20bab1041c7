//! Class files of a JDK 8 that is not running: its jar `rt.jar`.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use crate::zip::{Archive, Budget, Entry};

/// Where it is in a JDK, and in a run-time environment alone.
const PLACES: [&str; 2] = ["jre/lib/rt.jar", "lib/rt.jar"];
/// Far larger than any is.
const LARGEST: u64 = 1 << 30;

/// The classes of a JDK 8, by internal name with `.class` behind it.
#[derive(Debug)]
pub struct RtJar(HashMap<Vec<u8>, Entry<'static>>);

impl RtJar {
    /// Opens that of the JDK with this home; `None` if it has none that can be read.
    pub fn open(java_home: &Path) -> Option<RtJar> {
        let path = PLACES.iter().map(|place| java_home.join(place)).find(|path| path.is_file())?;
        if fs::metadata(&path).ok()?.len() > LARGEST {
            return None;
        }
        // There is one, for as long as the process lives.
        let bytes: &'static [u8] = fs::read(&path).ok()?.leak();
        let entries = Archive::read(bytes).ok()?.entries.into_iter();
        let classes = entries.filter(|entry| entry.name.ends_with(b".class"));
        Some(RtJar(classes.map(|entry| (entry.name.to_vec(), entry)).collect()))
    }

    /// The internal names of all classes, in no order.
    pub fn names(&self) -> impl Iterator<Item = &[u8]> {
        self.0.keys().filter_map(|name| name.strip_suffix(b".class"))
    }

    /// The bytes of a class, by internal name.
    pub fn class(&self, name: &[u8]) -> Option<Vec<u8>> {
        let entry = self.0.get(&[name, b".class"].concat())?;
        entry.contents(&Budget::for_input(0)).ok()
    }
}
