//! What to measure: the kinds of profile and their options, shared by `run` and `attach`.

use clap::{Args, ValueEnum};

/// What to measure.
#[derive(Args, Debug)]
pub struct Kinds {
    /// Count every call and every executed bytecode, per calling context (default)
    #[arg(long, help_heading = "What to measure")]
    pub exact: bool,

    #[command(flatten)]
    pub exact_options: ExactOptions,

    /// Most memory for the profile while the target runs, e.g. 500M or 8G [default: 10% of RAM, at most 4G]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub arena_limit: Option<u64>,
}

/// Options of `--exact`.
#[derive(Args, Debug)]
#[command(next_help_heading = "Exact profiles")]
pub struct ExactOptions {
    /// Where blocks of bytecodes end: `default`, `precise` (exact under exceptions too), or a list of
    /// instruction classes such as `calls,throws`
    #[arg(long, value_name = "WHICH", default_value = "default")]
    pub bba: String,

    /// Two calls of one method from different places in a caller are two contexts
    #[arg(long)]
    pub sites: bool,

    /// Count executions of every basic block too, for `report --by line`
    #[arg(long)]
    pub blocks: bool,

    /// Fold contexts below this depth
    #[arg(long, value_name = "N")]
    pub max_depth: Option<u32>,

    /// Only these packages, classes or methods (com.acme, com.acme.Foo, com.acme.Foo#bar*); repeatable
    #[arg(long, value_name = "PATTERN")]
    pub include: Vec<String>,

    /// Not these packages, classes or methods; repeatable
    #[arg(long, value_name = "PATTERN")]
    pub exclude: Vec<String>,

    /// Which ended threads share a tree with later ones
    #[arg(long, value_name = "HOW", value_enum, default_value_t = MergeThreads::Name)]
    pub merge_threads: MergeThreads,

    /// Pin what makes two runs of the JDK differ (hash seeds, Map.of order, JIT shortcuts), and say what was pinned
    #[arg(long)]
    pub deterministic: bool,
}

/// Which ended threads share a tree with later ones.
#[derive(ValueEnum, Clone, Copy, Debug)]
pub enum MergeThreads {
    /// Those whose names differ in digits only
    Name,
    /// All
    All,
    /// None
    Never,
}

impl MergeThreads {
    /// As the agent spells it.
    pub fn as_str(self) -> &'static str {
        match self {
            MergeThreads::Name => "name",
            MergeThreads::All => "all",
            MergeThreads::Never => "never",
        }
    }
}

/// `500M`, `8G`, `1048576`.
fn size(text: &str) -> Result<u64, String> {
    let (digits, unit) = match text.strip_suffix(['k', 'K', 'm', 'M', 'g', 'G']) {
        Some(digits) => (digits, text.chars().last().map_or('b', |c| c.to_ascii_lowercase())),
        None => (text, 'b'),
    };
    let factor = match unit {
        'k' => 1 << 10,
        'm' => 1 << 20,
        'g' => 1 << 30,
        _ => 1,
    };
    let number: u64 = digits.parse().map_err(|_| "must be a size like 500M or 8G".to_owned())?;
    number.checked_mul(factor).ok_or_else(|| "is too large".to_owned())
}

#[cfg(test)]
mod tests {
    use super::size;

    #[test]
    fn sizes_have_units() {
        assert_eq!(size("500M"), Ok(500 << 20));
        assert_eq!(size("8g"), Ok(8 << 30));
        assert_eq!(size("77"), Ok(77));
        assert!(size("lots").is_err());
        assert!(size("99999999999G").is_err());
    }
}
