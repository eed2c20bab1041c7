//! How many tests run at the same time. Not on how many threads: one with a timeout gets a thread of its own, and still runs
//! before the next.

use std::sync::{Mutex, PoisonError};

/// More than run tests at the same time.
const MOST: usize = 4096;

struct Running {
    /// The threads that have said that a test begins, once for each of these tests.
    threads: Vec<i32>,
    /// The most that there were.
    most: usize,
}

static RUNNING: Mutex<Running> = Mutex::new(Running { threads: Vec::new(), most: 1 });

/// A test begins, as the current thread tells; how many then run, if it was never as many.
pub fn begin() -> Option<usize> {
    // SAFETY: has no requirements.
    changed(|running| running.begin(unsafe { libc::gettid() }))
}

/// A test has ended, as the current thread tells.
pub fn end() {
    // SAFETY: has no requirements.
    changed(|running| running.end(unsafe { libc::gettid() }));
}

fn changed<T>(change: impl FnOnce(&mut Running) -> T) -> T {
    // Poisoned only by a panic, after which it is off by one test at most.
    change(&mut RUNNING.lock().unwrap_or_else(PoisonError::into_inner))
}

impl Running {
    fn begin(&mut self, thread: i32) -> Option<usize> {
        // One that never ends is forgotten.
        self.threads.truncate(MOST);
        self.threads.push(thread);
        // A test that runs tests itself waits for them.
        let mut distinct = self.threads.clone();
        distinct.sort_unstable();
        distinct.dedup();
        let now = distinct.len();
        (now > self.most).then(|| {
            self.most = now;
            now
        })
    }

    fn end(&mut self, thread: i32) {
        // A virtual thread may have another carrier by now.
        let at = self.threads.iter().rposition(|&running| running == thread);
        if let Some(at) = at.or(self.threads.len().checked_sub(1)) {
            self.threads.swap_remove(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_counted_that_run_at_the_same_time() {
        let mut running = Running { threads: Vec::new(), most: 1 };
        assert_eq!(running.begin(1), None);
        assert_eq!(running.begin(1), None, "one that the first has started");
        running.end(1);
        running.end(1);
        assert_eq!(running.begin(2), None, "on another thread, after the first");
        assert_eq!(running.begin(3), Some(2));
        running.end(4);
        assert_eq!(running.begin(4), None, "two again");
        assert_eq!(running.begin(5), Some(3));
        (0..5).for_each(|_| running.end(9));
        assert!(running.threads.is_empty());
    }
}
