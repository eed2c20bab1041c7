//! Filters: a part of a name, or a pattern with stars.

use crate::{Options, ReportError};
use quipu_profile::{MethodId, Profile};

/// Does the whole of `text` match `pattern`, in which `*` stands for anything?
pub(crate) fn glob(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = text.strip_prefix(parts.next().unwrap_or("")) else { return false };
    let Some(last) = parts.next_back() else { return rest.is_empty() };
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

/// Does a filter want this name?
pub(crate) fn wants(filter: &str, name: &str) -> bool {
    if filter.contains('*') { glob(filter, name) } else { name.contains(filter) }
}

/// For each method whether the filter wants it; without a filter it wants all.
pub(crate) fn wanted(profile: &Profile, options: &Options) -> Result<Vec<bool>, ReportError> {
    match &options.filter {
        None => Ok(vec![true; profile.methods().len()]),
        Some(filter) => methods(profile, filter),
    }
}

/// For each method whether a filter wants its `class.name`; an error that lists near names when it wants none.
///
/// A filter that is the whole name of some method means exactly those, not also what merely contains it.
pub(crate) fn methods(profile: &Profile, filter: &str) -> Result<Vec<bool>, ReportError> {
    let names: Vec<String> =
        (0..profile.methods().len() as MethodId).map(|id| profile.method_name(id)).collect();
    let exact: Vec<bool> = names.iter().map(|name| name == filter).collect();
    if exact.contains(&true) {
        return Ok(exact);
    }
    let wanted: Vec<bool> = names.iter().map(|name| wants(filter, name)).collect();
    if wanted.contains(&true) {
        return Ok(wanted);
    }
    Err(ReportError::unknown("method", filter, names.iter().map(String::as_str)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_stand_for_anything() {
        for (pattern, text, matches) in [
            ("a*c", "abc", true),
            ("a*c", "abcd", false),
            ("*", "", true),
            ("*b*", "abc", true),
            ("ab*bc", "abc", false),
            ("a*b*c", "aXbYc", true),
            ("abc", "abc", true),
            ("abc", "abcd", false),
            ("a**c", "ac", true),
        ] {
            assert_eq!(glob(pattern, text), matches, "{pattern} {text}");
        }
    }
}
