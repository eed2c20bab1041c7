//! The JDK whose classes are meant when none is named.

use std::path::{Path, PathBuf};

use quipu_offline::RuntimeImage;

use crate::exit::Failure;

/// The image of the JDK that was named (`none` for none), or that of JAVA_HOME or PATH.
pub fn image(named: Option<&Path>) -> anyhow::Result<Option<RuntimeImage>> {
    if let Some(home) = named {
        if home.as_os_str() == "none" {
            return Ok(None);
        }
        let image = RuntimeImage::open(home)
            .ok_or_else(|| Failure::usage(format!("{} is not the home of a JDK", home.display())))?;
        return Ok(Some(image));
    }
    let given = std::env::var_os("JAVA_HOME").map(PathBuf::from);
    let on_path = std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default())
        .filter_map(|folder| folder.join("java").canonicalize().ok())
        .filter_map(|java| java.ancestors().nth(2).map(Path::to_path_buf))
        .next();
    Ok(given.into_iter().chain(on_path).find_map(|home| RuntimeImage::open(&home)))
}
