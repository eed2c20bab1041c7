//! Names of files that say which process wrote them, when and where.

use std::path::PathBuf;

/// The file that a pattern names in this process: `%p` is its id, `%t` the time (UTC), `%h` the host, `%%` a percent sign.
pub fn file(pattern: &str) -> PathBuf {
    PathBuf::from(expand(pattern, |letter| match letter {
        'p' => Some(std::process::id().to_string()),
        't' => Some(time()),
        'h' => Some(host()),
        '%' => Some("%".to_owned()),
        _ => None,
    }))
}

/// Puts something in the place of letters behind a percent sign; those that stand for nothing are left as they are.
fn expand(pattern: &str, meaning: impl Fn(char) -> Option<String>) -> String {
    let mut name = String::new();
    let mut letters = pattern.chars();
    while let Some(letter) = letters.next() {
        let mut ahead = letters.clone();
        match ahead.next().filter(|_| letter == '%').and_then(&meaning) {
            Some(text) => {
                name.push_str(&text);
                letters = ahead;
            }
            None => name.push(letter),
        }
    }
    name
}

/// Now, as 20261118-013000.
fn time() -> String {
    // SAFETY: the kernel fills in the time, and the library what it means.
    let now = unsafe {
        let mut now: libc::tm = std::mem::zeroed();
        let seconds = libc::time(std::ptr::null_mut());
        libc::gmtime_r(&seconds, &mut now);
        now
    };
    let date = format!("{:04}{:02}{:02}", now.tm_year + 1900, now.tm_mon + 1, now.tm_mday);
    format!("{date}-{:02}{:02}{:02}", now.tm_hour, now.tm_min, now.tm_sec)
}

/// The host's name; in a container that is the container's, in Kubernetes the pod's.
fn host() -> String {
    let mut name = [0u8; 256];
    // SAFETY: the kernel writes at most so many bytes; the last stays 0.
    unsafe { libc::gethostname(name.as_mut_ptr().cast(), name.len() - 1) };
    let end = name.iter().position(|&byte| byte == 0).unwrap_or(0);
    // A name with a slash would be a path.
    String::from_utf8_lossy(name.get(..end).unwrap_or_default()).replace('/', "-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_stand_for_something() {
        let upper =
            |letter: char| letter.is_ascii_lowercase().then(|| letter.to_ascii_uppercase().to_string());
        assert_eq!(expand("/a/%p-%t%", upper), "/a/P-T%");
        assert_eq!(expand("%P%%x", upper), "%P%X");
        let name = file("x-%p-%t.arena").display().to_string();
        assert!(
            name.starts_with(&format!("x-{}-2", std::process::id())) && name.ends_with(".arena"),
            "{name}"
        );
        assert_eq!(name.rsplit('-').next().map(str::len), Some("013000.arena".len()));
    }
}
