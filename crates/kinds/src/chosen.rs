//! What was chosen.

use std::fmt;

use crate::kinds::EXHAUSTIVE;
use crate::{CALLS, KINDS, Kind, Recorded, Rewrites, Setting, Value, listed, setting, settings};

/// Kinds and options, with the values that they were given.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Chosen {
    /// In the order of the declarations; values as [`Value::parse`] hands them on.
    values: Vec<(&'static str, String)>,
}

/// What is wrong with a choice, in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wrong(pub String);

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Wrong {}

impl Chosen {
    /// What the text says that the agent gets: `key=value` pairs, separated by commas. It is not yet said that they make sense
    /// together: see [`Chosen::check`].
    pub fn parse(text: &str) -> Result<Chosen, Wrong> {
        let mut chosen = Chosen::default();
        for pair in text.split(',').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            chosen.set(name, &unescape(value))?;
        }
        Ok(chosen)
    }

    /// Chooses something; a setting that is there once takes the new value.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), Wrong> {
        let Some(known) = setting(name) else {
            let names: Vec<&str> = settings().map(|setting| setting.name).collect();
            return Err(Wrong(["unknown option '", name, "': ", &listed(names)].concat()));
        };
        let value = match known.bare {
            Some(bare) if value.is_empty() => bare,
            _ => value,
        };
        let value =
            known.value.parse(value).map_err(|why| Wrong(["--", name, " ", value, ": ", &why].concat()))?;
        let (exhaustive, same_as) = EXHAUSTIVE;
        if known.name == CALLS.name() && value == exhaustive {
            return same_as.iter().try_for_each(|name| self.set(name, ""));
        }
        if !known.many {
            self.leave_out(known.name);
        }
        let at = rank(known.name);
        let before = self.values.partition_point(|(name, _)| rank(name) <= at);
        self.values.insert(before, (known.name, value));
        Ok(())
    }

    /// Chooses it no more.
    pub fn leave_out(&mut self, name: &str) {
        self.values.retain(|(chosen, _)| *chosen != name);
    }

    /// Whether it was chosen.
    pub fn has(&self, name: &str) -> bool {
        self.values.iter().any(|(chosen, _)| *chosen == name)
    }

    /// The value that it was given, or its default.
    pub fn get(&self, name: &str) -> Option<&str> {
        let given = self.all(name).next_back();
        given.or_else(|| setting(name).and_then(|setting| setting.default))
    }

    /// The number that it was given, or its default.
    pub fn number(&self, name: &str) -> Option<u64> {
        let text = self.get(name)?;
        // What was given is a bare number; a default is as people write it.
        text.parse().ok().or_else(|| setting(name)?.value.parse(text).ok()?.parse().ok())
    }

    /// All values that it was given.
    pub fn all<'a>(&'a self, name: &str) -> impl DoubleEndedIterator<Item = &'a str> + use<'a> {
        let name = setting(name).map(|setting| setting.name);
        self.values.iter().filter(move |(chosen, _)| Some(*chosen) == name).map(|(_, value)| value.as_str())
    }

    /// Names and values, in the order of their declarations.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.values.iter().map(|(name, value)| (*name, value.as_str()))
    }

    /// The kinds that were chosen.
    pub fn kinds(&self) -> impl Iterator<Item = &'static Kind> + '_ {
        KINDS.iter().copied().filter(|kind| self.has(kind.name()))
    }

    /// Whether two calls of one method from different places in a caller are two contexts: also where edges of calls are measured,
    /// unless something else was chosen that cannot tell them apart.
    pub fn sites(&self) -> bool {
        let mut told = self.clone();
        self.has(SITES) || (self.has(CALLS.name()) && told.set(SITES, "").and_then(|()| told.check()).is_ok())
    }

    /// Whether classes are rewritten.
    pub fn rewrites(&self) -> bool {
        self.rewriters().next().is_some()
    }

    /// The kinds that were chosen for which classes are rewritten.
    pub fn rewriters(&self) -> impl Iterator<Item = &'static Kind> + '_ {
        self.kinds().filter(|kind| kind.rewrites_for(self.get(kind.name()).unwrap_or_default()))
    }

    /// Leaves out what concerns none of the kinds that were chosen.
    pub fn leave_out_unconcerned(&mut self) {
        let names: Vec<&str> =
            settings().filter(|setting| !self.concerns(setting)).map(|setting| setting.name).collect();
        self.values.retain(|(name, _)| !names.contains(name));
    }

    /// Refuses what makes no sense together, and says what to leave out or to add.
    pub fn check(&self) -> Result<(), Wrong> {
        for kind in self.kinds() {
            if let Some(other) = kind.excludes.iter().find(|other| self.has(other)) {
                let text = ["--", kind.name(), " and --", other, " cannot be on at the same time"].concat();
                return Err(Wrong(text));
            }
        }
        if let (true, Some(kind)) = (self.has("idle"), self.kinds().next()) {
            let text = ["--idle does not go with --", kind.name(), ": leave one of them out"].concat();
            return Err(Wrong(text));
        }
        let chosen = settings().filter(|setting| self.has(setting.name));
        chosen.map(|setting| self.fits(setting)).find(Result::is_err).unwrap_or(Ok(()))
    }

    fn fits(&self, setting: &Setting) -> Result<(), Wrong> {
        // One that waits may be told of any kind.
        if !self.concerns(setting) && !self.has("idle") {
            let kinds: Vec<String> = setting.kinds.iter().map(|kind| ["--", kind].concat()).collect();
            let kinds = listed(kinds.iter().map(String::as_str));
            return Err(Wrong(["--", setting.name, " goes with ", &kinds].concat()));
        }
        let against = |other: &&&str| match other.split_once('=') {
            Some((name, value)) => self.all(name).any(|given| given == value),
            None => self.has(other),
        };
        match setting.excludes.iter().find(against) {
            Some(other) => {
                let other = other.replace('=', " ");
                let text = ["--", setting.name, " does not go with --", &other, ": leave one of them out"];
                Err(Wrong(text.concat()))
            }
            None => Ok(()),
        }
    }

    /// The text that the agent gets.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for (name, value) in &self.values {
            if !text.is_empty() {
                text.push(',');
            }
            text.push_str(name);
            if !value.is_empty() {
                text.push('=');
                text.push_str(&escape(value));
            }
        }
        text
    }

    /// What the JVM is started with. One that waits to be told what to measure gets the flags of what costs nothing until
    /// then.
    pub fn flags(&self) -> Vec<&'static str> {
        let mut flags = Vec::new();
        let waits =
            |kind: &&&Kind| self.has(kind.name()) || (self.has("idle") && kind.rewrites != Rewrites::Always);
        for flag in KINDS.iter().filter(waits).flat_map(|kind| kind.flags) {
            if !flags.contains(flag) {
                flags.push(*flag);
            }
        }
        flags
    }

    /// Names and values that the profile tells of.
    pub fn recorded(&self) -> Vec<(String, String)> {
        let mut recorded = Vec::new();
        for setting in settings() {
            let given = self.all(setting.name).map(str::to_owned);
            match setting.recorded {
                Recorded::Never => {}
                Recorded::Always if !self.has(setting.name) && self.concerns(setting) => {
                    recorded.extend(setting.default.map(|value| (setting.name.to_owned(), value.to_owned())));
                }
                _ if setting.name == SITES && self.sites() => {
                    recorded.push((SITES.to_owned(), String::new()));
                }
                _ => recorded.extend(given.map(|value| (setting.name.to_owned(), value))),
            }
        }
        recorded
    }

    /// Whether one of the kinds that were chosen has this setting.
    fn concerns(&self, setting: &Setting) -> bool {
        setting.kinds.is_empty() || setting.kinds.iter().any(|kind| self.has(kind))
    }
}

/// Tells call sites apart.
const SITES: &str = "sites";

/// Where it stands among the declarations.
fn rank(name: &str) -> usize {
    settings().position(|setting| setting.name == name).unwrap_or(usize::MAX)
}

/// A comma separates options, so one in a value is written `%2C`.
pub fn escape(value: &str) -> String {
    value.replace('%', "%25").replace(',', "%2C")
}

fn unescape(value: &str) -> String {
    value.replace("%2C", ",").replace("%25", "%")
}

impl Setting {
    /// Whether it takes a value that may be left out.
    pub fn may_be_bare(&self) -> bool {
        self.bare.is_some() && !matches!(self.value, Value::Switch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong(text: &str) -> String {
        Chosen::parse(text).and_then(|chosen| chosen.check()).unwrap_err().0
    }

    #[test]
    fn what_is_written_is_read() {
        let mut chosen = Chosen::default();
        for (name, value) in
            [("threads", "a,b%"), ("cpu", ""), ("wall", "20"), ("threads", "c"), ("exact", "")]
        {
            chosen.set(name, value).unwrap();
        }
        assert_eq!(chosen.text(), "exact,cpu=100,wall=20,threads=a%2Cb%25,threads=c");
        assert_eq!(Chosen::parse(&chosen.text()), Ok(chosen.clone()));
        assert_eq!(chosen.all("threads").collect::<Vec<_>>(), ["a,b%", "c"]);
        assert_eq!(chosen.kinds().map(Kind::name).collect::<Vec<_>>(), ["exact", "cpu", "wall"]);
        chosen.set("cpu", "7").unwrap();
        assert_eq!((chosen.number("cpu"), chosen.get("contexts")), (Some(7), Some("all")));
    }

    /// Windows of calls; or all of them, which is another kind's.
    #[test]
    fn calls_are_sampled_or_all_counted() {
        let windows = Chosen::parse("calls,stride=3").unwrap();
        assert_eq!((windows.number("stride"), windows.number("samples")), (Some(3), Some(32)));
        // A default with a unit.
        assert_eq!((windows.number("tick"), windows.get("calls")), (Some(50_000_000), Some("windows")));
        assert_eq!(Chosen::parse("calls=exhaustive").unwrap().text(), "exact,sites");
        assert_eq!(wrong("exact,stride=3"), "--stride goes with --calls");
        assert_eq!(wrong("calls,tick=2s"), "--tick 2s: must be a time from 1ms to 1s");
        assert_eq!(wrong("calls,samples=0"), "--samples 0: must be a number from 1 to 1000000");
    }

    /// An edge is a caller, a place in it and a callee.
    #[test]
    fn edges_have_sites() {
        let sites = |text: &str| Chosen::parse(text).unwrap().sites();
        assert!(
            sites("calls") && sites("calls=timer,cpu") && sites("calls=exhaustive") && sites("cpu,sites")
        );
        assert!(!sites("cpu") && !sites("exact"));
        // What cannot be told apart by sites is measured all the same.
        for other in ["bytecodes", "exact,contexts=app"] {
            let both = Chosen::parse(&format!("calls,{other}")).unwrap();
            assert!(both.check().is_ok() && !both.sites(), "{other}");
        }
    }

    #[test]
    fn what_is_wrong_is_said() {
        assert!(wrong("limt=3").starts_with("unknown option 'limt': exact, "), "{}", wrong("limt=3"));
        assert_eq!(wrong("arena-limit=x"), "--arena-limit x: must be a size like 500M or 8G");
        assert_eq!(wrong("cpu=0"), "--cpu 0: must be a rate from 1 to 10000");
        assert_eq!(wrong("bytecodes=0"), "--bytecodes 0: must be a number of bytecodes, such as 10000");
        assert_eq!(wrong("cpu,blocks"), "--blocks goes with --exact");
        assert_eq!(wrong("exact,bytecodes"), "--exact and --bytecodes cannot be on at the same time");
        assert_eq!(
            wrong("exact,blocks,contexts=none"),
            "--blocks does not go with --contexts none: leave one of them out"
        );
        assert_eq!(wrong("idle,wall"), "--idle does not go with --wall: leave one of them out");
    }

    #[test]
    fn a_profile_tells_of_what_was_chosen_and_of_defaults_that_matter() {
        let recorded = |text: &str| Chosen::parse(text).unwrap().recorded();
        let told = |text: &str| {
            recorded(text).iter().map(|(name, value)| format!("{name}={value} ")).collect::<String>()
        };
        assert_eq!(told("exact"), "exact= bba=default merge-threads=name ");
        assert_eq!(told("calls,stride=3"), "calls=windows stride=3 sites= merge-threads=name ");
        assert_eq!(told("cpu=50,arena-limit=4"), "cpu=50 merge-threads=name ");
        assert_eq!(told("bytecodes"), "bytecodes=10000 bba=default jitter=100 seed=1 merge-threads=name ");
    }

    #[test]
    fn declarations_name_what_there_is() {
        let mut seen = std::collections::HashSet::new();
        for setting in settings() {
            assert!(seen.insert(setting.name), "{} is declared twice", setting.name);
            assert!(setting.kinds.iter().all(|name| crate::kind(name).is_some()), "{}", setting.name);
            for other in setting.excludes {
                let name = other.split('=').next().unwrap();
                assert!(crate::setting(name).is_some(), "{}: {other}", setting.name);
            }
            for given in setting.default.iter().chain(&setting.bare) {
                assert!(setting.value.parse(given).is_ok(), "{} {given}", setting.name);
            }
            assert!(!setting.help.is_empty() && !setting.help.ends_with('.'), "{}", setting.name);
        }
        for kind in KINDS {
            assert!(kind.excludes.iter().all(|name| crate::kind(name).is_some()), "{}", kind.name());
            assert!(!kind.metrics.is_empty() || !kind.events.is_empty(), "{}", kind.name());
        }
    }
}
