//! Independent sections on two threads or more.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// `jobs` mapped by `work`, results in order. Runs on the calling thread alone unless `spread`.
pub(super) fn map<J: Sync, R: Send>(jobs: &[J], spread: bool, work: impl Fn(&J) -> R + Sync) -> Vec<R> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from).min(jobs.len());
    if !spread || cores < 2 {
        return jobs.iter().map(work).collect();
    }
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, R)>> = Mutex::new(Vec::with_capacity(jobs.len()));
    std::thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| {
                while let Some((at, job)) = jobs.iter().enumerate().nth(next.fetch_add(1, Ordering::Relaxed))
                {
                    let result = work(job);
                    done.lock().expect("no panic while holding it").push((at, result));
                }
            });
        }
    });
    let mut done = done.into_inner().expect("all threads have ended");
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, result)| result).collect()
}
