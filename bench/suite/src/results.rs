//! What a run of the suite leaves in the repository: JSON with every figure, and the tables in a document.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, bail};
use serde::Serialize;

use crate::jdk::Jdk;
use crate::overview;
use crate::report;
use crate::schedule::Record;
use crate::summary::Row;

/// Where and when the figures were made.
#[derive(Clone, Debug, Serialize)]
pub struct Setting {
    /// The day, `2026-01-31`.
    pub date: String,
    /// The command.
    pub command: String,
    /// The processor.
    pub cpu: String,
    /// How many.
    pub cpus: usize,
    /// Bytes of memory.
    pub memory: u64,
    /// The kernel.
    pub kernel: String,
    /// The JDKs.
    pub jdks: Vec<String>,
    /// The commit, with `+` if files were changed since.
    pub commit: String,
    /// How many processes wanted to run when the suite began: more than one or two and others were at work too.
    pub load: f64,
}

impl Setting {
    /// Of this machine, now.
    pub fn here(root: &Path, jdks: &[Jdk], command: String) -> Setting {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let field = |text: &str, key: &str| {
            text.lines()
                .find_map(|line| Some(line.strip_prefix(key)?.split_once(':')?.1.trim().to_owned()))
                .unwrap_or_default()
        };
        let memory = field(&read("/proc/meminfo"), "MemTotal");
        Setting {
            date: date(
                SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() / 86_400),
            ),
            command,
            cpu: field(&read("/proc/cpuinfo"), "model name"),
            cpus: std::thread::available_parallelism().map_or(1, usize::from),
            memory: memory.split(' ').next().and_then(|kb| kb.parse::<u64>().ok()).unwrap_or(0) * 1024,
            kernel: read("/proc/sys/kernel/osrelease").trim().to_owned(),
            jdks: jdks.iter().map(|jdk| format!("{} ({})", jdk.version, jdk.vendor)).collect(),
            commit: commit(root),
            load: read("/proc/loadavg").split(' ').next().and_then(|load| load.parse().ok()).unwrap_or(0.0),
        }
    }

    /// As a sentence.
    pub fn markdown(&self) -> String {
        format!(
            "Made on {} at commit {} with `{}`: {} × {}, {} GB, Linux {}, load at the start {:.1}; JDK {}.\n",
            self.date,
            self.commit,
            self.command,
            self.cpus,
            self.cpu,
            self.memory >> 30,
            self.kernel,
            self.load,
            self.jdks.join(", JDK ")
        )
    }
}

/// Writes everything as JSON.
pub fn write_json(path: &Path, setting: &Setting, rows: &[Row], records: &[Record]) -> anyhow::Result<()> {
    let all = serde_json::json!({"setting": setting, "rows": rows, "runs": records});
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    fs::write(path, serde_json::to_string(&all)? + "\n")
        .with_context(|| format!("cannot write {}", path.display()))
}

/// The tables, one for each question and JDK.
pub fn markdown(setting: &Setting, rows: &[Row]) -> String {
    let mut text = format!("{}\n{}", setting.markdown(), overview::table(rows).markdown());
    let tables: BTreeSet<(&str, u32)> = rows.iter().map(|row| (row.question.as_str(), row.jdk)).collect();
    for (question, release) in tables {
        let its: Vec<Row> =
            rows.iter().filter(|row| row.question == question && row.jdk == release).cloned().collect();
        text += &format!("\n### {question}: JDK {release}\n\n{}\n", report::table(&its).markdown());
        for note in report::notes(&its) {
            text += &format!("- {}\n", note.replace('\n', "\n  "));
        }
    }
    text
}

/// The README's table, with where and when.
pub fn short_markdown(setting: &Setting, rows: &[Row]) -> String {
    format!("{}\n{}", overview::short(rows).markdown(), setting.markdown())
}

/// Replaces what is between the markers of a section in a document.
pub fn replace_section(document: &Path, section: &str, text: &str) -> anyhow::Result<()> {
    let old = fs::read_to_string(document).with_context(|| format!("cannot read {}", document.display()))?;
    let (begin, end) = (format!("<!-- bench:{section} -->\n"), format!("<!-- /bench:{section} -->"));
    let (Some(from), Some(to)) = (old.find(&begin), old.find(&end)) else {
        bail!("{} has no section marked {begin}", document.display());
    };
    fs::write(document, format!("{}{begin}{text}{}", &old[..from], &old[to..]))?;
    Ok(())
}

/// Where the JSON of a run goes: one file a day and name.
pub fn json_path(bench: &Path, setting: &Setting, name: &str) -> PathBuf {
    bench.join("results").join(format!("{}-{name}.json", setting.date))
}

fn commit(root: &Path) -> String {
    let git = |arguments: &[&str]| {
        let output = Command::new("git").arg("-C").arg(root).args(arguments).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let changed =
        git(&["status", "--porcelain", "--untracked-files=no"]).is_some_and(|text| !text.is_empty());
    git(&["rev-parse", "--short", "HEAD"]).unwrap_or_default() + if changed { "+" } else { "" }
}

/// A day since 1970 in the calendar (Howard Hinnant's `civil_from_days`).
fn date(day: u64) -> String {
    let z = day + 719_468;
    let (era, doe) = (z / 146_097, z % 146_097);
    let yoe = (doe - doe / 1_460 + doe / 36_524 - doe / 146_096) / 365;
    let doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    let mp = (5 * doy + 2) / 153;
    let (month, shift) = if mp < 10 { (mp + 3, 0) } else { (mp - 9, 1) };
    format!("{:04}-{month:02}-{:02}", yoe + era * 400 + shift, doy - (153 * mp + 2) / 5 + 1)
}

#[cfg(test)]
mod tests {
    use super::{date, replace_section};

    #[test]
    fn a_section_is_replaced_and_nothing_else() {
        let file = std::env::temp_dir().join(format!("quipu-bench-section-{}.md", std::process::id()));
        let text = "before\n<!-- bench:x -->\nold\n<!-- /bench:x -->\nafter <!-- bench:y -->\n";
        std::fs::write(&file, text).unwrap();
        replace_section(&file, "x", "new\n").unwrap();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), text.replace("old", "new"));
        assert!(replace_section(&file, "z", "new\n").is_err());
        std::fs::remove_file(&file).unwrap();
    }

    #[test]
    fn days_have_dates() {
        assert_eq!(date(0), "1970-01-01");
        assert_eq!(date(11_016), "2000-02-29");
        assert_eq!(date(20_454), "2026-01-01");
    }
}
