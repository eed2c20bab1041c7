//! Where objects of a dump were made, by a profile of the same process.

use std::collections::BTreeMap;
use std::path::Path;

use quipu_profile::Profile;
use quipu_report::{By, Options};
use serde_json::{Value as Json, json};

use super::table::{Table, bytes, name, percent};
use crate::exit::Failure;

/// Sites of each class that are told.
const SITES: usize = 3;

/// Places where objects of classes were made.
pub struct Made {
    /// What was measured: `live.bytes` where that is known.
    metric: &'static str,
    by_class: BTreeMap<String, Vec<Json>>,
}

impl Made {
    /// Reads a profile.
    pub fn read(path: &Path) -> anyhow::Result<Made> {
        let profile = Profile::load(path)?;
        let metric = ["live.bytes", "alloc.bytes"]
            .into_iter()
            .find(|metric| profile.metric(metric).is_some_and(|metric| metric.total() > 0))
            .ok_or_else(|| {
                let path = path.display();
                Failure::usage(format!(
                    "{path} does not say where objects were made: --alloc or --live measure that"
                ))
            })?;
        let options = Options { by: By::Site, metric: Some(metric.to_owned()), ..Options::default() };
        let report: Json = serde_json::from_str(&quipu_report::json(&profile, &options)?)?;
        let mut by_class: BTreeMap<String, Vec<Json>> = BTreeMap::new();
        for row in report["rows"].as_array().into_iter().flatten() {
            if let Some(class) = row["allocated"].as_str() {
                by_class.entry(class.to_owned()).or_default().push(row.clone());
            }
        }
        Ok(Made { metric, by_class })
    }

    /// What was measured.
    pub fn metric(&self) -> &'static str {
        self.metric
    }

    /// All classes, those with most first.
    pub fn classes(&self) -> Vec<String> {
        let all: Vec<String> = self.by_class.keys().cloned().collect();
        let mut sums: Vec<(u64, &str)> = self.of(&all).map(|(class, _, sum)| (sum, class)).collect();
        sums.sort_by(|one, other| other.0.cmp(&one.0).then(one.1.cmp(other.1)));
        sums.into_iter().map(|(_, class)| class.to_owned()).collect()
    }

    /// Of these classes, those that the profile knows, with their largest sites and their sum.
    fn of<'m>(&'m self, classes: &'m [String]) -> impl Iterator<Item = (&'m str, &'m [Json], u64)> {
        classes.iter().filter_map(|class| {
            let sites = self.by_class.get(class)?;
            let sum = sites.iter().filter_map(|site| site[self.metric].as_u64()).sum();
            Some((class.as_str(), sites.get(..SITES.min(sites.len()))?, sum))
        })
    }

    /// For programs.
    pub fn json(&self, classes: &[String]) -> Json {
        let row = |(class, sites, sum): (&str, &[Json], u64)| json!({ "class": class, self.metric: sum, "sites": sites });
        Json::Array(self.of(classes).map(row).collect())
    }

    /// For people.
    pub fn text(&self, classes: &[String]) -> String {
        let mut table = Table::new(&[self.metric, "share", "class", "made in"]);
        for (class, sites, sum) in self.of(classes) {
            for (at, site) in sites.iter().enumerate() {
                let of_site = site[self.metric].as_u64().unwrap_or(0);
                let word = |key: &str| site[key].as_str().unwrap_or_default();
                let place = match (word("source"), site["line"].as_u64()) {
                    ("", _) | (_, None) => String::new(),
                    (source, Some(line)) => format!("  {source}:{line}"),
                };
                let method = name(&format!("{}.{}{place}", word("class"), word("method")));
                let class = if at == 0 { name(class) } else { String::new() };
                table.row(vec![bytes(of_site), percent(of_site, sum), class, method]);
            }
        }
        match self.of(classes).next() {
            Some(_) => table.text("  "),
            None => "  the profile has none of these classes\n".to_owned(),
        }
    }
}
