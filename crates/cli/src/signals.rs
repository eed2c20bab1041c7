//! Signals that are sent to this process: those that are meant for the program it runs, and those that end a wait.

use std::process::{Child, ExitStatus};
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::SignalsInfo;
use signal_hook::iterator::exfiltrator::WithRawSiginfo;

use crate::exit::Failure;

/// What a supervisor, a shell or a person sends to a program. SIGQUIT gets a thread dump of a JVM and ends nothing.
const FOR_THE_TARGET: [i32; 4] = [SIGTERM, SIGHUP, SIGINT, SIGQUIT];
const ENDING: [i32; 3] = [SIGTERM, SIGHUP, SIGINT];

/// The kernel's own signals, such as those of a terminal's keys, go to all processes in the foreground: the target has
/// them already. (`SI_KERNEL` of `siginfo_t`.)
const FROM_KERNEL: i32 = 0x80;

/// How often it is looked whether JVMs that have outlived the command are still there.
const GLANCE: Duration = Duration::from_millis(50);

/// Signals are taken from here on, and passed on as soon as there is a target.
pub struct Relay(SignalsInfo<WithRawSiginfo>);

/// How a target ended.
#[derive(Clone, Copy, Debug)]
pub struct Ended {
    /// Its own status.
    pub status: ExitStatus,
    /// Whether it was told to end by a signal that came here.
    pub told: bool,
}

impl Relay {
    /// Takes signals, but those that are ignored: a program started with `nohup` ignores them, too.
    pub fn new() -> anyhow::Result<Relay> {
        let ignored = ignored();
        let wanted = FOR_THE_TARGET.into_iter().filter(|signal| ignored >> (signal - 1) & 1 == 0);
        Ok(Relay(SignalsInfo::new(wanted)?))
    }

    /// Waits for the end of a program, and passes signals on to it. Once it has ended after one, `jvms` that came of it and
    /// are still there get it as well, and are waited for: a shell that is told to end leaves its children behind.
    ///
    /// What comes later is not heeded: the profile is being written then.
    pub fn until_ended(
        mut self,
        child: &mut Child,
        jvms: impl Fn() -> Vec<Pid> + Sync,
    ) -> anyhow::Result<Ended> {
        let pid = Pid::from_child(child);
        let over = self.0.handle();
        let (ended, last) = (AtomicBool::new(false), AtomicI32::new(0));
        let pass = |number: i32| {
            let Some(signal) = Signal::from_named_raw(number) else { return };
            let to = if ended.load(Ordering::Acquire) { jvms() } else { vec![pid] };
            // One that has just ended needs no signal.
            to.into_iter().for_each(|pid| _ = kill_process(pid, signal));
        };
        thread::scope(|scope| {
            scope.spawn(|| {
                for info in self.0.forever() {
                    if ENDING.contains(&info.si_signo) {
                        last.store(info.si_signo, Ordering::Release);
                    }
                    if info.si_code != FROM_KERNEL {
                        pass(info.si_signo);
                    }
                }
            });
            // Its id stays its own until it is waited for below, when no signal can go to it any more.
            let seen = ended_but_there(pid);
            ended.store(true, Ordering::Release);
            let signal = last.load(Ordering::Acquire);
            if signal != 0 {
                pass(signal);
                while !jvms().is_empty() {
                    thread::sleep(GLANCE);
                }
            }
            over.close();
            seen
        })?;
        Ok(Ended { status: child.wait()?, told: last.into_inner() != 0 })
    }
}

fn ended_but_there(pid: Pid) -> rustix::io::Result<()> {
    rustix::io::retry_on_intr(|| {
        waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT).map(drop)
    })
}

/// The signals that this process was started to ignore, one bit each.
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

/// Becomes true when this process is told to end; from the first call on, that is all that happens then.
pub fn end_wanted() -> anyhow::Result<&'static AtomicBool> {
    static WANTED: OnceLock<Result<Arc<AtomicBool>, String>> = OnceLock::new();
    let register = || {
        let (wanted, ignored) = (Arc::new(AtomicBool::new(false)), ignored());
        for signal in ENDING.into_iter().filter(|signal| ignored >> (signal - 1) & 1 == 0) {
            signal_hook::flag::register(signal, Arc::clone(&wanted)).map_err(|e| e.to_string())?;
        }
        Ok(wanted)
    };
    match WANTED.get_or_init(register) {
        Ok(wanted) => Ok(wanted),
        Err(why) => Err(Failure::target(format!("signals cannot be handled: {why}"))),
    }
}

/// Becomes true when a person asks for what there is so far: Ctrl-\ in the terminal of this process, which is not the target's.
pub fn snapshot_wanted() -> anyhow::Result<Arc<AtomicBool>> {
    let wanted = Arc::new(AtomicBool::new(false));
    if ignored() >> (SIGQUIT - 1) & 1 == 0 {
        signal_hook::flag::register(SIGQUIT, Arc::clone(&wanted))?;
    }
    Ok(wanted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn ignored_signals_are_known() {
        // The Rust runtime ignores SIGPIPE.
        assert_eq!(ignored() >> (signal_hook::consts::SIGPIPE - 1) & 1, 1);
        assert_eq!(ignored() >> (SIGTERM - 1) & 1, 0);
    }

    #[test]
    fn a_target_that_ends_by_itself_was_told_nothing() {
        let mut child = Command::new("sh").args(["-c", "exit 7"]).spawn().unwrap();
        let ended = Relay::new().unwrap().until_ended(&mut child, Vec::new).unwrap();
        assert_eq!((ended.status.code(), ended.told), (Some(7), false));
    }
}
