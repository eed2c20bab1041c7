//! The classes of a package, for profilers that want them by name.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, bail};

use crate::jdk::Jdk;

/// Binary names of the classes of a package and those below it, on a class path and in the JDK.
pub fn of_package(package: &str, class_path: &OsStr, jdk: &Jdk) -> anyhow::Result<Vec<String>> {
    let prefix = package.replace('.', "/") + "/";
    let mut names = Vec::new();
    for part in std::env::split_paths(class_path) {
        let text = if part.is_dir() {
            files(&part)?
        } else {
            printed(jdk, "jar", &["tf".as_ref(), part.as_os_str()])?
        };
        names.extend(text.lines().filter_map(|line| class(line, &prefix)));
    }
    if names.is_empty() {
        let include = format!("regex:/[^/]+/{prefix}.*");
        let image = jdk.home.join("lib/modules");
        let text = printed(
            jdk,
            "jimage",
            &["list".as_ref(), "--include".as_ref(), include.as_ref(), image.as_ref()],
        )?;
        names.extend(text.lines().filter_map(|line| class(line.trim(), &prefix)));
    }
    if names.is_empty() {
        bail!("there are no classes in {package}");
    }
    names.sort();
    Ok(names)
}

/// The class in an entry of an archive, if it is one of those asked for.
fn class(entry: &str, prefix: &str) -> Option<String> {
    let name = entry.strip_suffix(".class").filter(|name| name.starts_with(prefix))?;
    Some(name.replace('/', "."))
}

fn files(directory: &Path) -> anyhow::Result<String> {
    let mut text = String::new();
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.path().is_dir() {
            text.extend(files(&entry.path())?.lines().map(|line| format!("{name}/{line}\n")));
        } else {
            text += &format!("{name}\n");
        }
    }
    Ok(text)
}

fn printed(jdk: &Jdk, tool: &str, arguments: &[&OsStr]) -> anyhow::Result<String> {
    let output = Command::new(jdk.tool(tool))
        .args(arguments)
        .output()
        .with_context(|| format!("cannot run {tool}"))?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::class;

    #[test]
    fn entries_of_the_package_are_classes() {
        assert_eq!(class("org/h2/Driver.class", "org/h2/"), Some("org.h2.Driver".to_owned()));
        assert_eq!(class("org/h2/x/A$1.class", "org/h2/"), Some("org.h2.x.A$1".to_owned()));
        assert_eq!(class("org/h2x/A.class", "org/h2/"), None);
        assert_eq!(class("org/h2/res/help.csv", "org/h2/"), None);
    }
}
