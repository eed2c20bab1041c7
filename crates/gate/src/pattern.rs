//! Names people ask for: a part of a name, or a pattern with stars.

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

/// The names a filter wants, as indices. One that is the whole of some name means exactly that.
pub(crate) fn select(filter: &str, names: &[String]) -> Vec<usize> {
    let pick = |wanted: &dyn Fn(&str) -> bool| -> Vec<usize> {
        (0..names.len()).filter(|&at| wanted(&names[at])).collect()
    };
    let exact = pick(&|name| name == filter);
    match filter.contains('*') {
        _ if !exact.is_empty() => exact,
        true => pick(&|name| glob(filter, name)),
        false => pick(&|name| name.contains(filter)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_names_win_over_parts() {
        let names = ["a.B.get", "a.B.getAll", "c.D.put"].map(str::to_owned);
        assert_eq!(select("a.B.get", &names), [0]);
        assert_eq!(select("get", &names), [0, 1]);
        assert_eq!(select("*.put", &names), [2]);
        assert_eq!(select("a*All", &names), [1]);
        assert!(select("x", &names).is_empty() && select("*x*", &names).is_empty());
    }
}
