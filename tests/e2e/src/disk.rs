//! Small disks.

use std::path::Path;

use crate::child::Command;

/// A command that becomes the one whose words are its further arguments, with a file system of this size in the place of a directory;
/// `None`, which is said, if that cannot be had here.
pub fn with_disk_of(size: &str, directory: &Path) -> Option<Command> {
    const WORDS: [&str; 4] = ["--mount", "--map-root-user", "sh", "-c"];
    let mount = format!("mount -t tmpfs -o mode=700,size={size} none '{}'", directory.display());
    let works = Command::new("unshare").args(WORDS).arg(&mount).output();
    if !works.is_ok_and(|output| output.status.success()) {
        println!("skipped: unshare --mount does not work here");
        return None;
    }
    let mut command = Command::new("unshare");
    command.args(WORDS).arg(format!("{mount} && exec \"$@\"")).arg("sh");
    Some(command)
}
