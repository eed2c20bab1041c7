//! Every kind on every JDK, briefly. The table in the README is what comes of it; `QUIPU_BLESS=1` writes it anew.
//!
//! `QUIPU_FULL=1` adds all compilers and collectors that each JDK has, and has all other end-to-end tests run on all of these
//! JDKs that they can run on. `scripts/jdks` brings those that the machine has not.
#![allow(missing_docs, reason = "tests say what they test by their names")]

mod counting;
mod running;
mod sampling;
mod table;

use std::panic::{AssertUnwindSafe, catch_unwind};

use quipu_e2e::{Jdk, jdks};

/// Something that people do, and how it is seen to work.
struct Row {
    /// As the table has it.
    title: String,
    /// The first JDK that can do it.
    since: u32,
    /// Fails if it does not work on a JDK that can; or, on an older one, if that is not said.
    check: Box<dyn Fn(&Jdk) + Sync>,
    /// It takes so long that it is tried with `QUIPU_FULL=1` only; else the table keeps what was found then.
    long: bool,
}

impl Row {
    fn new(title: &str, since: u32, check: impl Fn(&Jdk) + Sync + 'static) -> Row {
        Row { title: title.to_owned(), since, check: Box::new(check), long: false }
    }

    fn long(title: &str, since: u32, check: impl Fn(&Jdk) + Sync + 'static) -> Row {
        Row { long: true, ..Row::new(title, since, check) }
    }

    fn is_tried(&self) -> bool {
        !self.long || std::env::var_os("QUIPU_FULL").is_some()
    }
}

fn rows() -> Vec<Row> {
    [counting::rows(), sampling::rows(), running::rows()].into_iter().flatten().collect()
}

/// Two JDKs at a time, so that what waits does not keep the processors idle.
const AT_ONCE: usize = 2;

#[test]
fn every_kind_works_on_every_jdk() {
    let mut jdks = jdks::find_all();
    // One of each release: the machine's own come first.
    jdks.dedup_by_key(|jdk| jdk.feature);
    assert!(!jdks.is_empty(), "a JDK to test with");
    let rows = rows();
    let next = std::sync::atomic::AtomicUsize::new(0);
    let failures = std::sync::Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(jdk) = jdks.get(next.fetch_add(1, std::sync::atomic::Ordering::Relaxed)) {
                    for (number, row) in rows.iter().enumerate().filter(|(_, row)| row.is_tried()) {
                        let begun = std::time::Instant::now();
                        let failed = catch_unwind(AssertUnwindSafe(|| (row.check)(jdk))).is_err();
                        let time = begun.elapsed().as_secs_f32();
                        println!("JDK {}: {}: {time:.1} s", jdk.feature, row.title);
                        if failed {
                            failures.lock().expect("nobody fails here").push((jdk.feature, number));
                        }
                    }
                }
            });
        }
    });
    let failures = failures.into_inner().expect("nobody fails here");
    for (feature, number) in &failures {
        println!("JDK {feature}: {} does not work", rows[*number].title);
    }
    table::check(&jdks, &rows, &failures);
    assert!(failures.is_empty(), "{} of {} do not work", failures.len(), rows.len() * jdks.len());
}
