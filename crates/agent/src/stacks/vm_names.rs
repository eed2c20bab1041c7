//! Full names of the VM's own threads. The kernel keeps fifteen letters of a thread's name, and of threads that run no
//! Java it is the only one to ask.

/// Letters of a thread's name that the kernel keeps.
const KEPT: usize = 15;

/// HotSpot's names that are longer; those that end in `#` go on with a number.
const LONGER: [&str; 17] = [
    "C1 CompilerThread#",
    "C2 CompilerThread#",
    "JVMCI CompilerThread#",
    "Reference Handler",
    "Signal Dispatcher",
    "Monitor Deflation Thread",
    "Notification Thread",
    "VM Periodic Task Thread",
    "StringDedupThread",
    "Shenandoah GC Threads#",
    "ShenControlThread",
    "Shenandoah Control Thread",
    "ShenRegulatorThread",
    "ZDirector Thread",
    "ZUncommitter Thread",
    "JFR Recorder Thread",
    "Attach Listener Thread",
];

/// What is meant by the kernel's name. Threads of one name are made and numbered in the order of their ids, and the last
/// one goes first: `before` tells how many of this name are there with smaller ids.
pub fn full_name(kept: &[u8], before: impl FnOnce() -> usize) -> Vec<u8> {
    let name = LONGER.iter().find(|name| kept.len() == KEPT && name.as_bytes().starts_with(kept));
    match name.map(|name| name.strip_suffix('#').ok_or(name)) {
        Some(Ok(numbered)) => format!("{numbered}{}", before()).into_bytes(),
        Some(Err(name)) => name.as_bytes().to_vec(),
        None => kept.to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_kernel_cuts_off_is_put_back() {
        for (kept, full) in [
            ("C2 CompilerThre", "C2 CompilerThread3"),
            ("VM Periodic Tas", "VM Periodic Task Thread"),
            ("GC Thread#1", "GC Thread#1"),
            ("C2", "C2"),
            ("my own fifteen!", "my own fifteen!"),
        ] {
            assert_eq!(full_name(kept.as_bytes(), || 3), full.as_bytes(), "{kept}");
        }
    }
}
