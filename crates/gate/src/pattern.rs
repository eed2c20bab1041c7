//! Names people ask for: a part of a name, or a pattern with stars.

use quipu_text::glob;

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
