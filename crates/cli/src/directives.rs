//! `quipu ctl PID directives`: what the JVM's compiler goes by, changed while it runs.

use std::path::Path;

use quipu_collector::attach::{Attach, AttachError, Target};

use crate::exit::Failure;

/// Adds the directives of a file, or takes out those that were added. Returns what the JVM said.
pub fn change(pid: u32, file: Option<&Path>) -> anyhow::Result<String> {
    let target = Target::find(pid).map_err(Failure::target)?;
    let command = match file {
        Some(file) => ["Compiler.directives_add \"", &for_target(&target, file)?, "\""].concat(),
        None => "Compiler.directives_clear".to_owned(),
    };
    let said = Attach::new(&target).jcmd(&command).map_err(|error| match error {
        AttachError::Command { output, .. } => Failure::target(format!(
            "this JVM takes no directives, which needs Java 9 or newer: {}",
            output.trim()
        )),
        error => Failure::target(error),
    })?;
    // It fails without saying so in its status.
    if file.is_some() && !said.contains("directives added") {
        return Err(Failure::target(format!("the JVM did not take them: {}", said.trim())));
    }
    let said = said.trim();
    Ok(if said.is_empty() { "directives that were added are gone" } else { said }.to_owned())
}

/// The file as the target finds it.
fn for_target(target: &Target, file: &Path) -> anyhow::Result<String> {
    let cannot =
        |why: &dyn std::fmt::Display| Failure::usage(format!("cannot read {}: {why}", file.display()));
    std::fs::File::open(file).map_err(|error| cannot(&error))?;
    let path = file.canonicalize().map_err(|error| cannot(&error))?;
    if !target.shares_our_files() {
        return Err(Failure::usage(format!(
            "the JVM has other files: copy {} to where it finds it, and ask it with jcmd PID Compiler.directives_add FILE",
            file.display()
        )));
    }
    let name = path.to_str().filter(|name| !name.contains('"'));
    Ok(name.ok_or_else(|| cannot(&"the JVM is told its name in UTF-8 and in quotation marks"))?.to_owned())
}
