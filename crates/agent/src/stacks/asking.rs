//! Which thread of the machine runs which Java thread, asked of the threads themselves: for a VM whose tables do not say.
//!
//! Each is sent a signal, and its handler has JNI tell which environment is its own. One is asked at a time, since the question
//! is a word: the kernel's id of the thread that is asked. The one that answers makes it negative first, so that whoever asks
//! does not go on to the next meanwhile, and an answer that comes too late finds another question.

use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::atomic::{AtomicI32, AtomicPtr, Ordering};
use std::time::{Duration, Instant};

use quipu_jvm::Jvm;
use quipu_jvm::sys::{JNI_VERSION_1_6, JNIEnv};

/// How long to wait for one thread, which may have to wait for a processor.
const PATIENCE: Duration = Duration::from_millis(500);

/// How long to wait for all of them.
const PATIENCE_IN_ALL: Duration = Duration::from_secs(10);

static ASKED: AtomicI32 = AtomicI32::new(0);
static ANSWER: AtomicPtr<JNIEnv> = AtomicPtr::new(std::ptr::null_mut());

/// The kernel's ids of Java threads, by environment. `signal` is one whose handler answers. For one at a time.
pub fn all(signal: i32) -> HashMap<*mut JNIEnv, i32> {
    let began = Instant::now();
    let Ok(tasks) = std::fs::read_dir("/proc/self/task") else { return HashMap::new() };
    let ids = tasks.flatten().filter_map(|task| task.file_name().to_str()?.parse::<i32>().ok());
    // One that blocks the signal would not answer; most of those are not Java's.
    let asked = ids.take_while(|_| began.elapsed() < PATIENCE_IN_ALL).filter(|&tid| !blocks(tid, signal));
    asked.filter_map(|tid| Some((ask(tid, signal)?, tid))).collect()
}

/// Whether a thread has a signal blocked; `false` if the kernel does not say.
fn blocks(tid: i32, signal: i32) -> bool {
    let status = std::fs::read_to_string(["/proc/self/task/", &tid.to_string(), "/status"].concat());
    let status = status.unwrap_or_default();
    let blocked = status.lines().find_map(|line| line.strip_prefix("SigBlk:"));
    let blocked = blocked.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    u32::try_from(signal - 1).is_ok_and(|bit| blocked.checked_shr(bit).unwrap_or(0) & 1 == 1)
}

fn ask(tid: i32, signal: i32) -> Option<*mut JNIEnv> {
    ANSWER.store(std::ptr::null_mut(), Ordering::Relaxed);
    ASKED.store(tid, Ordering::Release);
    // SAFETY: a signal that has a handler, to a thread of this process; it fails if that has ended.
    let sent = unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), tid, signal) } == 0;
    let began = Instant::now();
    loop {
        match ASKED.load(Ordering::Acquire) {
            0 => break,
            // Answering.
            ..0 => {}
            _ if sent && began.elapsed() < PATIENCE => {}
            asked => {
                let _ = ASKED.compare_exchange(asked, 0, Ordering::AcqRel, Ordering::Relaxed);
                continue;
            }
        }
        std::thread::sleep(Duration::from_micros(20));
    }
    Some(ANSWER.load(Ordering::Acquire)).filter(|env| !env.is_null())
}

/// Answers, if it is this thread that was asked. For signal handlers.
pub fn answer(vm: Jvm, tid: i32) {
    if ASKED.compare_exchange(tid, -tid, Ordering::AcqRel, Ordering::Relaxed).is_err() {
        return;
    }
    let mut env: *mut c_void = std::ptr::null_mut();
    // SAFETY: a query that writes to `env`. HotSpot answers it from the thread's own memory, without a lock.
    if unsafe { ((**vm.raw()).v1_2.GetEnv)(vm.raw(), &mut env, JNI_VERSION_1_6) } == 0 {
        ANSWER.store(env.cast(), Ordering::Relaxed);
    }
    ASKED.store(0, Ordering::Release);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocked_signals_are_known() {
        let (asked, done) = (std::sync::mpsc::channel(), std::sync::mpsc::channel::<()>());
        let thread = std::thread::spawn(move || {
            crate::own_thread::block_signals();
            // SAFETY: a plain query.
            asked.0.send(unsafe { libc::gettid() }).unwrap();
            let _ = done.1.recv();
        });
        let other = asked.1.recv().unwrap();
        assert!(blocks(other, libc::SIGPROF));
        // SAFETY: a plain query.
        assert!(!blocks(unsafe { libc::gettid() }, libc::SIGPROF));
        assert!(!blocks(-1, libc::SIGPROF));
        drop(done.0);
        thread.join().unwrap();
    }
}
