//! A history of commits, asked of git, and work trees of single commits.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;

use crate::exit::Failure;

/// The repository that the current directory is in.
pub struct Repository {
    root: PathBuf,
    /// From the root to the current directory.
    inside: PathBuf,
}

/// A commit.
#[derive(Clone, Debug)]
pub struct Commit {
    pub id: String,
    pub subject: String,
    pub author: String,
    pub date: String,
}

impl fmt::Display for Commit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Commit { id, subject, author, date } = self;
        write!(f, "{} {subject} ({author}, {date})", &id[..id.len().min(12)])
    }
}

/// What git is to print of a commit, one thing on each line.
const FORMAT: &str = "--format=%H%n%s%n%an%n%as";

impl Repository {
    /// Finds it.
    pub fn here() -> anyhow::Result<Repository> {
        let here = std::env::current_dir()?;
        let root = git(&here, &["rev-parse", "--show-toplevel"])?;
        let root = PathBuf::from(root.trim_end());
        let inside = here.canonicalize()?.strip_prefix(&root).map(Path::to_owned).unwrap_or_default();
        Ok(Repository { root, inside })
    }

    /// The commit that a revision stands for.
    pub fn commit(&self, revision: &str) -> anyhow::Result<Commit> {
        // Whatever the text is, it is no option.
        let peeled = format!("{revision}^{{commit}}");
        let id = git(&self.root, &["rev-parse", "--verify", "--end-of-options", &peeled])
            .map_err(|_| Failure::usage(format!("{revision} is no revision that git knows")))?;
        let told = git(&self.root, &["log", "-1", FORMAT, id.trim_end()])?;
        commits(&told).pop().context("git tells nothing of a commit that it knows")
    }

    /// Where the histories of two commits part; the good one itself if the bad one comes after it.
    pub fn merge_base(&self, good: &Commit, bad: &Commit) -> anyhow::Result<Commit> {
        let base = git(&self.root, &["merge-base", &good.id, &bad.id])
            .map_err(|_| Failure::usage(format!("{} and {} have no commit in common", good.id, bad.id)))?;
        self.commit(base.trim_end())
    }

    /// The commits after one up to another, oldest first; of merges, only the side that was merged into.
    pub fn between(&self, good: &Commit, bad: &Commit) -> anyhow::Result<Vec<Commit>> {
        let range = format!("{}..{}", good.id, bad.id);
        Ok(commits(&git(&self.root, &["log", "--first-parent", "--reverse", FORMAT, &range])?))
    }

    /// A work tree of its own, which lasts as long as what is returned.
    pub fn check_out(&self, commit: &Commit) -> anyhow::Result<WorkTree<'_>> {
        let name = format!("quipu-bisect-{}-{}", std::process::id(), &commit.id[..commit.id.len().min(12)]);
        let path = std::env::temp_dir().join(name);
        let text = path.to_str().context("the directory for temporary files has an odd name")?;
        git(&self.root, &["worktree", "add", "--quiet", "--force", "--detach", text, &commit.id])?;
        Ok(WorkTree { repository: self, path })
    }
}

/// A commit, checked out.
pub struct WorkTree<'a> {
    repository: &'a Repository,
    path: PathBuf,
}

impl WorkTree<'_> {
    /// Does something in the folder of the work tree that corresponds to the current one.
    pub fn inside<T>(&self, f: impl FnOnce() -> anyhow::Result<T>) -> anyhow::Result<T> {
        let before = std::env::current_dir()?;
        let there = self.path.join(&self.repository.inside);
        std::env::set_current_dir(&there).with_context(|| format!("{} is not there", there.display()))?;
        let done = f();
        std::env::set_current_dir(before)?;
        done
    }
}

impl Drop for WorkTree<'_> {
    fn drop(&mut self) {
        let removed = self
            .path
            .to_str()
            .map(|path| git(&self.repository.root, &["worktree", "remove", "--force", path]).map(|_| ()));
        if !matches!(removed, Some(Ok(()))) {
            eprintln!("quipu: {} could not be removed", self.path.display());
        }
    }
}

fn commits(told: &str) -> Vec<Commit> {
    let lines: Vec<&str> = told.lines().collect();
    let commit = |lines: &[&str]| match lines {
        [id, subject, author, date] => Some(Commit {
            id: (*id).to_owned(),
            subject: printable(subject),
            author: printable(author),
            date: (*date).to_owned(),
        }),
        _ => None,
    };
    lines.chunks(4).filter_map(commit).collect()
}

/// A terminal must not obey what somebody wrote.
fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

/// What git prints; what it complains of is the error.
fn git(directory: &Path, arguments: &[&str]) -> anyhow::Result<String> {
    let output = Command::new("git").current_dir(directory).args(arguments).output();
    let output = output.map_err(|e| Failure::target(format!("cannot run git: {e}")))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(Failure::usage(format!(
            "git {}: {said}",
            arguments.first().copied().unwrap_or_default()
        )));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
