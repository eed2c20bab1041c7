//! The jar that instrumented programs need.

use crate::error::Error;
use crate::zip::{Archive, Entry};

/// The classes of `quipu.runtime`.
const CLASSES: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/runtime_classes.rs"));

/// What the runtime is to do unless the program is started with other properties.
#[derive(Debug, Clone, Default)]
pub struct RuntimeOptions {
    /// Whether call sites are told apart; must be as in the plan.
    pub sites: bool,
    /// Contexts below this depth are folded.
    pub max_depth: Option<u32>,
    /// Which ended threads share a tree with later ones: `name`, `all` or `never`.
    pub merge_threads: Option<String>,
    /// The size the profile may grow to.
    pub limit: Option<u64>,
    /// Names of the threads to count, with stars; all if there are none.
    pub threads: Vec<String>,
    /// When contexts are sampled; must be so in the plan too.
    pub bytecodes: Option<BytecodeSampling>,
}

/// When contexts are sampled.
#[derive(Debug, Clone, Copy)]
pub struct BytecodeSampling {
    /// Bytecodes from one sample to the next, at least.
    pub every: u64,
    /// How many more there are is random, and below this.
    pub jitter: u64,
    /// Where each thread's random numbers begin.
    pub seed: u64,
}

/// A value as it must stand in a properties file, which is Latin-1 and trims.
fn escape(value: &str) -> String {
    value.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect()
}

/// The bytes of `quipu-runtime.jar`.
pub fn jar(options: &RuntimeOptions) -> Result<Vec<u8>, Error> {
    let mut properties = format!("sites={}\n", options.sites);
    if let Some(depth) = options.max_depth {
        properties += &format!("max-depth={depth}\n");
    }
    if let Some(merge) = &options.merge_threads {
        properties += &format!("merge-threads={merge}\n");
    }
    if let Some(limit) = options.limit {
        properties += &format!("limit={limit}\n");
    }
    if !options.threads.is_empty() {
        properties += &format!("threads={}\n", escape(&options.threads.join("\n")));
    }
    if let Some(BytecodeSampling { every, jitter, seed }) = options.bytecodes {
        properties += &format!("bytecodes={every}\njitter={jitter}\nseed={seed}\n");
    }
    let mut archive = Archive::empty();
    let files = CLASSES.iter().map(|(name, bytes)| (*name, *bytes));
    for (name, bytes) in files.chain([("options.properties", properties.as_bytes())]) {
        archive.entries.push(Entry::new(format!("quipu/runtime/{name}").into_bytes(), bytes)?);
    }
    archive.write()
}
