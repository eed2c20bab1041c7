//! Makes `src/sys/table.rs` and `src/sys/layout.rs` from a JDK's `jvmti.h`. See `gen/README.md`.

mod emit;
mod header;
mod jdks;
mod tokens;

use std::path::{Path, PathBuf};

fn main() -> Result<(), String> {
    let path = match std::env::args_os().nth(1) {
        Some(path) => PathBuf::from(path),
        None => jdks::find().pop().ok_or("no JDK with include/jvmti.h found; name a header")?.jvmti_h(),
    };
    let text = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let header = header::parse(&text).map_err(|error| format!("{}: {error}", path.display()))?;
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/sys");
    for (name, text) in [("table.rs", emit::table(&header)), ("layout.rs", emit::layout(&header))] {
        std::fs::write(folder.join(name), text).map_err(|error| format!("{name}: {error}"))?;
    }
    eprintln!("made from {}", path.display());
    Ok(())
}
