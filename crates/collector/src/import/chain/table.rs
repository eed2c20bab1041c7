//! How well contexts could be chained: the paper's Table 1, and what the paper could not say.

use quipu_profile::Builder;

/// How much of two stacks is the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Same {
    /// Callers of the youngest method, until one differs.
    pub callers: u32,
    /// Whether none does.
    pub all: bool,
}

/// Counts of nodes and samples.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Table {
    nodes: u64,
    ambiguous: u64,
    samples: u64,
    /// Samples of whose callers there is no doubt, for so many levels.
    sure: [u64; LEVELS.len()],
    all_sure: u64,
    unknown: u64,
    compared: u64,
    /// Samples whose callers are those that a walk found, for so many levels; and all of them.
    right: [u64; LEVELS.len()],
    all_right: u64,
}

/// Levels that are told, as in the paper.
const LEVELS: [u32; 2] = [1, 3];

impl Table {
    /// Nodes, and whether each has several callers at its depth.
    pub fn count_nodes(&mut self, several: impl Iterator<Item = bool>) {
        for several in several {
            self.nodes += 1;
            self.ambiguous += u64::from(several);
        }
    }

    /// A sample, of so many callers of which there is no doubt; `None` for all of them.
    pub fn count(&mut self, sure: Option<u32>, unknown: bool) {
        self.samples += 1;
        self.unknown += u64::from(unknown);
        self.all_sure += u64::from(!unknown && sure.is_none());
        for (slot, level) in self.sure.iter_mut().zip(LEVELS) {
            *slot += u64::from(!unknown && sure.is_none_or(|sure| sure >= level));
        }
    }

    /// A sample that was walked, too.
    pub fn compare(&mut self, same: Same) {
        self.compared += 1;
        self.all_right += u64::from(same.all);
        for (slot, level) in self.right.iter_mut().zip(LEVELS) {
            *slot += u64::from(same.all || same.callers >= level);
        }
    }

    /// Tells of it in a profile.
    pub fn tell(&self, builder: &mut Builder) {
        let mut tell = |key: &str, value: String| builder.run.extra.push((key.to_owned(), value));
        let Table { nodes, ambiguous, samples, sure, all_sure, unknown, compared, right, all_right } = *self;
        let several = percent(ambiguous, nodes);
        tell(
            "chained contexts",
            format!("{nodes} nodes, of which {ambiguous} ({several}) have several callers at one depth"),
        );
        let [one, three] = sure.map(|sure| percent(sure, samples));
        let [all, unknown] = [all_sure, unknown].map(|part| percent(part, samples));
        tell(
            "chained callers",
            format!(
                "without doubt for one level in {one} of {samples} samples, for three in {three}, to the end in {all}; never seen in {unknown}"
            ),
        );
        if compared > 0 {
            let [one, three] = right.map(|right| percent(right, compared));
            let all = percent(all_right, compared);
            tell(
                "chained and walked",
                format!(
                    "the same for one level in {one} of {compared} samples, for three in {three}, to the end in {all}"
                ),
            );
        }
    }
}

fn percent(part: u64, whole: u64) -> String {
    format!("{:.1} %", part as f64 / whole.max(1) as f64 * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_told_as_in_the_paper() {
        let mut table = Table::default();
        table.count_nodes([true, false, false, false].into_iter());
        for (sure, unknown) in
            [(Some(0), false), (Some(2), false), (Some(3), false), (None, false), (None, true)]
        {
            table.count(sure, unknown);
        }
        for same in [Same { callers: 1, all: false }, Same { callers: 0, all: true }] {
            table.compare(same);
        }
        let mut builder = Builder::new();
        table.tell(&mut builder);
        let told: Vec<&str> = builder.run.extra.iter().map(|(_, value)| value.as_str()).collect();
        assert_eq!(
            told,
            [
                "4 nodes, of which 1 (25.0 %) have several callers at one depth",
                "without doubt for one level in 60.0 % of 5 samples, for three in 40.0 %, to the end in 20.0 %; never seen in 20.0 %",
                "the same for one level in 100.0 % of 2 samples, for three in 50.0 %, to the end in 50.0 %",
            ]
        );
    }
}
