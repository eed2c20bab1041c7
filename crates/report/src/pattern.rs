//! Filters: a part of a name, or a pattern with stars.

use crate::{Options, ReportError};
use quipu_profile::{MethodId, Profile};
use quipu_text::glob;

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
