//! What to measure: the options of `run`, `attach` and `instrument`, made of the declarations in [`quipu_kinds`].

use std::path::Path;

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use quipu_kinds::{Chosen, KINDS, SHARED, Setting, Value, settings};
use quipu_rewrite::Weights;

use crate::exit::Failure;
use crate::perf_events;

pub use quipu_kinds::size;

/// The kinds that were asked for, and their options.
#[derive(Clone, Debug)]
pub struct Kinds {
    chosen: Chosen,
}

impl Kinds {
    /// What was chosen; if that is no kind, `default`. Refuses what makes no sense together.
    pub fn chosen(&self, default: &str) -> anyhow::Result<Chosen> {
        let mut chosen = self.chosen.clone();
        let instruments = chosen.has("exact") || chosen.has("bytecodes");
        let wrong = |wrong: quipu_kinds::Wrong| Failure::usage(wrong.0);
        if chosen.has("agent") && !instruments && !chosen.has("idle") {
            // It is called by instrumented code.
            chosen.set("exact", "").map_err(wrong)?;
        }
        if !self.any() && chosen.kinds().next().is_none() {
            chosen.set(default, "").map_err(wrong)?;
        }
        chosen.check().map_err(wrong)?;
        perf_events::check(&chosen, false)?;
        Ok(chosen)
    }

    /// Whether a kind was asked for, or none on purpose.
    pub fn any(&self) -> bool {
        self.chosen.kinds().next().is_some() || self.chosen.has("idle")
    }
}

/// What is counted for tests; with `lines` also where in a method.
pub fn for_tests(arena_limit: Option<u64>, lines: bool) -> anyhow::Result<Chosen> {
    let detail: &[&str] = if lines { &["sites", "blocks"] } else { &[] };
    let mut chosen = Chosen::default();
    let limit = arena_limit.map(|limit| ("arena-limit", limit.to_string()));
    let switches = ["exact", "allocations", "deterministic"].iter().chain(detail);
    for (name, value) in switches.map(|name| (*name, String::new())).chain(limit) {
        chosen.set(name, &value)?;
    }
    Ok(chosen)
}

/// The exact profile that tells how accurate samples every so many bytecodes are.
pub fn exactly(chosen: &Chosen) -> anyhow::Result<Chosen> {
    let mut exact = chosen.clone();
    ["bytecodes", "jitter", "seed"].iter().for_each(|name| exact.leave_out(name));
    exact.set("exact", "")?;
    Ok(exact)
}

impl Args for Kinds {
    fn augment_args(command: Command) -> Command {
        const SWITCHES: &str = "What to measure";
        let mut command = command;
        for kind in KINDS {
            command = command.arg(arg(&kind.switch).help_heading(SWITCHES));
        }
        for kind in KINDS {
            for option in kind.options {
                command = command.arg(arg(option).help_heading(kind.title));
            }
        }
        for option in &SHARED {
            command = command.arg(arg(option).help_heading(SWITCHES));
        }
        command
    }

    fn augment_args_for_update(command: Command) -> Command {
        Kinds::augment_args(command)
    }
}

impl FromArgMatches for Kinds {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Kinds, clap::Error> {
        Ok(Kinds { chosen: given(matches, settings())? })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Kinds::from_arg_matches(matches)?;
        Ok(())
    }
}

/// What was given of these settings.
pub fn given<'a>(
    matches: &ArgMatches,
    settings: impl Iterator<Item = &'a Setting>,
) -> Result<Chosen, clap::Error> {
    let mut chosen = Chosen::default();
    for setting in settings {
        if matches.value_source(setting.name) != Some(ValueSource::CommandLine) {
            continue;
        }
        let values: Vec<String> = match setting.value {
            Value::Switch => vec![String::new()],
            _ => matches.get_many::<String>(setting.name).into_iter().flatten().cloned().collect(),
        };
        for value in values {
            let wrong =
                |wrong: quipu_kinds::Wrong| clap::Error::raw(clap::error::ErrorKind::InvalidValue, wrong.0);
            chosen.set(setting.name, &value).map_err(wrong)?;
        }
    }
    Ok(chosen)
}

/// The option of the command line.
pub fn arg(setting: &'static Setting) -> Arg {
    let arg = Arg::new(setting.name).long(setting.name).help(setting.help);
    if let Value::Switch = setting.value {
        return arg.action(ArgAction::SetTrue);
    }
    let arg = match setting.value {
        Value::Choice(words) => {
            let words = words.iter().map(|(word, help)| PossibleValue::new(*word).help(*help));
            arg.value_parser(PossibleValuesParser::new(words))
        }
        _ => arg.value_parser(move |text: &str| parse(setting, text)),
    };
    let arg = match setting.bare {
        Some(bare) => arg.num_args(0..=1).default_missing_value(bare),
        None => arg,
    };
    let arg = match setting.default {
        Some(default) => arg.default_value(default),
        None => arg,
    };
    arg.value_name(setting.value.name()).action(if setting.many { ArgAction::Append } else { ArgAction::Set })
}

/// What the declaration says of a value, and what only this side can check: files, which the target may see from another
/// directory.
fn parse(setting: &Setting, text: &str) -> Result<String, String> {
    let text = setting.value.parse(text)?;
    match setting.value {
        Value::File => {
            let path = readable(&text)?;
            if setting.name == "weights" {
                let contents = std::fs::read_to_string(&path).map_err(|e| e.to_string())?;
                Weights::parse(&contents).map_err(|e| e.to_string())?;
            }
            Ok(path)
        }
        Value::JarAndClass => {
            let (jar, class) = text.rsplit_once('=').ok_or("must be a jar and a class")?;
            Ok(format!("{}={class}", readable(jar)?))
        }
        _ => Ok(text),
    }
}

fn readable(path: &str) -> Result<String, String> {
    let path = Path::new(path).canonicalize().map_err(|e| format!("{path}: {e}"))?;
    path.to_str().map(str::to_owned).ok_or_else(|| format!("{}: must be UTF-8", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(words: &[&str]) -> Result<String, String> {
        let command = Kinds::augment_args(Command::new("run").no_binary_name(true));
        let matches = command.try_get_matches_from(words).map_err(|e| e.to_string())?;
        let kinds = Kinds::from_arg_matches(&matches).map_err(|e| e.to_string())?;
        kinds.chosen("exact").map(|chosen| chosen.text()).map_err(|e| e.to_string())
    }

    #[test]
    fn options_are_those_that_were_declared() {
        assert_eq!(chosen(&[]), Ok("exact".to_owned()));
        assert_eq!(chosen(&["--cpu", "--wall", "20"]), Ok("cpu=100,wall=20".to_owned()));
        assert_eq!(chosen(&["--bytecodes", "1_000"]), Ok("bytecodes=1000".to_owned()));
        assert_eq!(chosen(&["--idle", "--arena-limit", "1K"]), Ok("arena-limit=1024,idle".to_owned()));
        let both = ["--threads", "a,b", "--threads", "c", "--contexts", "app"];
        assert_eq!(chosen(&both), Ok("exact,contexts=app,threads=a%2Cb,threads=c".to_owned()));
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for words in [
            &["--exact", "--bytecodes"][..],
            &["--cpu", "--blocks"],
            &["--contexts", "some"],
            &["--cpu", "0"],
            &["--sites", "--contexts", "none"],
            &["--bytecodes", "--sites"],
            &["--idle", "--cpu"],
            &["--weights", "nowhere"],
            &["--event", "no-such-event"],
        ] {
            assert!(chosen(words).is_err(), "{words:?}");
        }
    }
}
