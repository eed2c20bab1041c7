//! HotSpot's text, line by line.

use crate::{Dump, How, Lock, Thread, Wait, header};

pub(crate) fn dump(text: &str) -> Dump {
    let mut dump = Dump::default();
    let mut synchronizers = false;
    for line in text.lines() {
        // What HotSpot itself says of deadlocks repeats threads.
        if line.starts_with("Found ") && line.contains("deadlock") {
            break;
        }
        if let Some(thread) = header::parse(line) {
            dump.threads.push(thread);
            synchronizers = false;
            continue;
        }
        let Some(thread) = dump.threads.last_mut() else { continue };
        let line = line.trim();
        if let Some(state) = line.strip_prefix("java.lang.Thread.State: ") {
            thread.state = state.split(' ').next().unwrap_or_default().to_owned();
        } else if let Some(frame) = line.strip_prefix("at ") {
            thread.frames.push(frame.to_owned());
        } else if line.starts_with("Locked ownable synchronizers") {
            synchronizers = true;
        } else if let Some(carried) = line.strip_prefix("Carrying virtual thread #") {
            thread.carries = carried.trim().parse().ok();
        } else if let Some(said) = line.strip_prefix("- ") {
            locks(thread, said, synchronizers);
        }
    }
    for thread in &mut dump.threads {
        settle(thread);
    }
    dump
}

/// What is said below a frame, or of synchronizers.
fn locks(thread: &mut Thread, said: &str, synchronizers: bool) {
    const WAITS: [(&str, How); 4] = [
        ("waiting to lock ", How::Monitor),
        ("waiting to re-lock in wait() ", How::Monitor),
        ("waiting on ", How::Notification),
        ("parking to wait for ", How::Parked),
    ];
    const CLASS: &str = "waiting on the Class initialization monitor for ";
    if let Some(class) = said.strip_prefix(CLASS) {
        let lock = Lock { address: 0, class: class.trim().to_owned() };
        thread.waits_for.get_or_insert(Wait { how: How::Class, lock, owner: None });
    } else if let Some((how, rest)) =
        WAITS.iter().find_map(|(words, how)| Some((*how, said.strip_prefix(words)?)))
    {
        if let Some(lock) = lock(rest) {
            thread.waits_for.get_or_insert(Wait { how, lock, owner: None });
        }
    } else if let Some(rest) = said.strip_prefix("locked ") {
        thread.holds.extend(lock(rest));
    } else if synchronizers {
        thread.holds.extend(lock(said));
    }
}

/// `<0x000000069ec193b0> (a java.lang.Object)`
fn lock(text: &str) -> Option<Lock> {
    let (address, rest) = text.trim_start().strip_prefix("<0x")?.split_once('>')?;
    let address = u64::from_str_radix(address, 16).ok()?;
    let class = rest.trim().strip_prefix("(a ").and_then(|class| class.strip_suffix(')')).unwrap_or_default();
    // The class of a class is told with its name: `java.lang.Class for Foo`.
    Some(Lock { address, class: class.to_owned() })
}

/// A lock that was entered twice is held once; one that a thread waits on was let go for that.
fn settle(thread: &mut Thread) {
    thread.holds.sort_unstable();
    thread.holds.dedup();
    if let Some(wait) = thread.waits_for.as_mut().filter(|wait| wait.how == How::Notification) {
        // It was notified, and wants the monitor again: older versions say that in its state only.
        wait.how = if thread.state == "BLOCKED" { How::Monitor } else { How::Notification };
    }
    if let Some(Wait { how: How::Notification | How::Monitor, lock, .. }) = &thread.waits_for {
        let address = lock.address;
        thread.holds.retain(|held| held.address != address);
    }
}
