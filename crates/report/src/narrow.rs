//! What of a profile is looked at: some threads, some labels, Java alone, without some frames.

use crate::{ReportError, pattern};
use quipu_kinds::{KINDS, Kind};
use quipu_profile::{MethodFlags, Profile, Thread};
use std::borrow::Cow;
use std::collections::BTreeSet;

/// What to look at; everything unless told otherwise, but for the JVM's own threads in profiles of elapsed time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Narrowing {
    /// Only the thread of this name, or those that match it if it has a `*`.
    pub thread: Option<String>,
    /// Only threads whose name contains one of these, or matches it if it has a `*`.
    pub include_threads: Vec<String>,
    /// None of the threads whose name contains one of these, or matches it.
    pub exclude_threads: Vec<String>,
    /// The JVM's own threads, too, where they would be left out.
    pub all_threads: bool,
    /// Only what carries this label, key and value.
    pub label: Option<(String, String)>,
    /// Only Java: functions of libraries, the VM and the kernel become part of the method that called them.
    pub java: bool,
    /// Methods whose name contains one of these, or matches it, become part of their callers.
    pub hide: Vec<String>,
}

/// Threads that the JVM has for itself, and ours. They wait nearly always: in a profile of elapsed time they would be the
/// heaviest.
const JVMS_OWN: [&str; 32] = [
    "Quipu*",
    "C1 CompilerThread*",
    "C2 CompilerThread*",
    "JVMCI CompilerThread*",
    "Sweeper thread",
    "GC Thread*",
    "G1 *",
    "ParGC Thread*",
    "ZWorker*",
    "ZDirector*",
    "ZDriver*",
    "ZStat",
    "ZUncommitter*",
    "Shenandoah *",
    "VM Thread",
    "VM Periodic Task Thread",
    "Service Thread",
    "Monitor Deflation Thread",
    "Signal Dispatcher",
    "Notification Thread",
    "Attach Listener*",
    "Reference Handler",
    "Finalizer",
    "Common-Cleaner",
    "DestroyJavaVM",
    "VirtualThread-unblocker",
    "VirtualThread-unparker",
    "Read-Poller",
    "Write-Poller",
    // Until JDK 26, and since.
    "MasterPoller",
    "Master-Poller",
    "StringDedup*",
];

/// The part looked at.
pub struct Narrowed<'a> {
    /// The profile, cut.
    pub profile: Cow<'a, Profile>,
    /// How many threads of the JVM's own were left out without being asked for.
    pub left_out: u64,
}

impl Narrowing {
    /// Cuts a profile that will be looked at by this metric.
    pub fn apply<'a>(&self, profile: &'a Profile, metric: &str) -> Result<Narrowed<'a>, ReportError> {
        let mut profile = Cow::Borrowed(profile);
        if let Some(wanted) = &self.thread {
            profile = Cow::Owned(only_thread(&profile, wanted)?);
        }
        let mut left_out = 0;
        let asked = self.all_threads || self.thread.is_some() || !self.include_threads.is_empty();
        let is_of = |kind: &&&Kind| kind.metrics.iter().any(|of| of.name == metric);
        let waiting = KINDS.iter().find(is_of).is_some_and(|kind| kind.waiting);
        let is_own = |name: &str| !asked && waiting && JVMS_OWN.iter().any(|own| quipu_text::glob(own, name));
        let any = |patterns: &[String], name: &str| patterns.iter().any(|p| pattern::wants(p, name));
        let wants = |name: &str| {
            (self.include_threads.is_empty() || any(&self.include_threads, name))
                && !any(&self.exclude_threads, name)
        };
        for pattern in self.include_threads.iter().chain(&self.exclude_threads) {
            let names = || profile.threads().iter().map(|thread| profile.str(thread.name));
            if !names().any(|name| pattern::wants(pattern, name)) {
                return Err(ReportError::unknown("thread", pattern, names()));
            }
        }
        let name = |profile: &'_ Profile, thread: &Thread| profile.str(thread.name).to_owned();
        // A profile of nothing but such threads was meant to be one.
        let others = profile.threads().iter().any(|thread| !is_own(profile.str(thread.name)));
        let keeps = |profile: &Profile, thread: &Thread| {
            let name = name(profile, thread);
            wants(&name) && !(others && is_own(&name))
        };
        if profile.threads().iter().any(|thread| !keeps(&profile, thread)) {
            let own = profile.threads().iter().filter(|thread| others && is_own(profile.str(thread.name)));
            left_out = own.fold(0, |sum, thread| sum + thread.threads.max(1));
            profile = Cow::Owned(profile.select_threads(keeps));
        }
        if let Some((key, value)) = &self.label {
            profile = Cow::Owned(only_label(&profile, key, value)?);
        }
        if self.java {
            profile = Cow::Owned(java_only(&profile));
        }
        if !self.hide.is_empty() {
            let mut hidden = vec![false; profile.methods().len()];
            for pattern in &self.hide {
                let marks = pattern::methods(&profile, pattern)?;
                hidden.iter_mut().zip(marks).for_each(|(hidden, mark)| *hidden |= mark);
            }
            profile = Cow::Owned(profile.hide(|_, method| hidden[method as usize]));
        }
        Ok(Narrowed { profile, left_out })
    }
}

/// Without functions that are not Java, and without the threads that run nothing else.
fn java_only(profile: &Profile) -> Profile {
    let foreign = |profile: &Profile, method| profile.method(method).flags.contains(MethodFlags::FOREIGN);
    let runs_java = |profile: &Profile, thread: &Thread| {
        let methods = profile.tree().subtree(thread.root).filter_map(|node| profile.tree().method(node));
        methods.into_iter().any(|method| !foreign(profile, method))
    };
    profile.select_threads(runs_java).hide(foreign)
}

/// The profile cut to the threads with this name; `*` stands for anything.
pub fn only_thread(profile: &Profile, wanted: &str) -> Result<Profile, ReportError> {
    let names = || profile.threads().iter().map(|thread| profile.str(thread.name));
    // A thread's name may have a star in it: the name itself comes first.
    let exact = names().any(|name| name == wanted);
    let wants = |name: &str| if exact { name == wanted } else { quipu_text::glob(wanted, name) };
    if !names().any(wants) {
        return Err(ReportError::unknown("thread", wanted, names()));
    }
    Ok(profile.select_threads(|profile, thread| wants(profile.str(thread.name))))
}

/// The profile cut to what carries a label: whole threads, and samples of the others.
fn only_label(profile: &Profile, key: &str, value: &str) -> Result<Profile, ReportError> {
    let threads = profile.threads().iter().flat_map(|thread| &thread.labels);
    let samples = profile.samples().iter().flat_map(|sample| profile.labels(sample.labels));
    let known: BTreeSet<_> = threads.chain(samples).copied().collect();
    if !known.iter().any(|&(k, v)| (profile.str(k), profile.str(v)) == (key, value)) {
        let known: Vec<String> =
            known.iter().map(|&(k, v)| format!("{}={}", profile.str(k), profile.str(v))).collect();
        let wanted = format!("{key}={value}");
        return Err(ReportError::unknown("label", &wanted, known.iter().map(String::as_str)));
    }
    Ok(profile.select_label(key, value))
}
