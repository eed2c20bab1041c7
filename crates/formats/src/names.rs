//! Names as other tools may see them.
//!
//! Class and thread names are whatever the target put there. Every export passes them through here once, so that no
//! control character (a line break ends a record in several formats, most are illegal in XML) leaves the program.

use quipu_profile::{MethodId, Profile, Thread, ThreadKind};
use std::borrow::Cow;

/// The frame that stands for everything below [`Options::max_depth`](crate::Options::max_depth).
pub(crate) const DEEPER: &str = "[deeper frames]";

/// The frame that stands for contexts too small to be told apart.
pub(crate) const SMALL: &str = "[small contexts]";

/// `text` without control characters, and without those that turn the direction of what follows: a name must not be
/// able to show as another one.
pub(crate) fn clean(text: &str) -> Cow<'_, str> {
    let bad = |c: char| {
        c.is_control()
            || matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
            || matches!(c, '\u{fffe}' | '\u{ffff}')
    };
    if text.contains(bad) {
        Cow::Owned(text.chars().map(|c| if bad(c) { '\u{fffd}' } else { c }).collect())
    } else {
        Cow::Borrowed(text)
    }
}

/// `class.name` of every method, by id.
pub(crate) fn methods(profile: &Profile) -> Vec<String> {
    (0..profile.methods().len())
        .map(|id| {
            let name = profile.method_name(id as MethodId);
            match clean(&name) {
                // Several readers take a record without a name for the end of something.
                _ if name.is_empty() => "[unnamed]".to_owned(),
                Cow::Owned(cleaned) => cleaned,
                Cow::Borrowed(_) => name,
            }
        })
        .collect()
}

/// What to call a thread's tree.
pub(crate) fn thread(profile: &Profile, thread: &Thread) -> String {
    match (clean(profile.str(thread.name)), thread.kind) {
        (name, _) if !name.is_empty() => name.into_owned(),
        (_, ThreadKind::Root) => "all threads".to_owned(),
        _ => "unnamed thread".to_owned(),
    }
}

/// `java/util/HashMap.java`: the source file in its package's directory, as source trees have it.
pub(crate) fn source_path(profile: &Profile, method: MethodId) -> Option<String> {
    let method = profile.method(method);
    let (class, source) = (profile.str(method.class), profile.str(method.source));
    if source.is_empty() {
        return None;
    }
    // A hidden class is called `pkg.Name/0x…`; what follows the slash is not part of the package.
    let class = class.split('/').next().unwrap_or(class);
    Some(match class.rsplit_once('.') {
        Some((package, _)) if !source.contains('/') => {
            format!("{}/{}", clean(&package.replace('.', "/")), clean(source))
        }
        _ => clean(source).into_owned(),
    })
}
