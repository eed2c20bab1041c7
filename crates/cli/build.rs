//! Puts the agent's library into the program, if there is one to put: `./release` names it in `QUIPU_AGENT_LIBRARY`.

use std::error::Error;
use std::path::PathBuf;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-env-changed=QUIPU_AGENT_LIBRARY");
    let text = match std::env::var_os("QUIPU_AGENT_LIBRARY").filter(|path| !path.is_empty()) {
        Some(path) => {
            let path = PathBuf::from(path).canonicalize()?;
            println!("cargo::rerun-if-changed={}", path.display());
            format!("Some(include_bytes!({:?}))", path.display().to_string())
        }
        None => "None".to_owned(),
    };
    std::fs::write(PathBuf::from(std::env::var("OUT_DIR")?).join("agent.rs"), text)?;
    Ok(())
}
