//! Questions to the agent in a JVM that runs: who refers to the objects of a class, and why they are alive. No dump is
//! written; the JVM walks over its heap, and stands still meanwhile.

use std::time::Duration;

use clap::Args;
use quipu_collector::attach::{Attach, Target};
use quipu_heap::{Path, Step};
use serde_json::{Value as Json, json};

use super::open::Reading;
use super::table::{Table, count, more, name};
use super::views::{path_json, shapes, steps_text};
use super::{Limit, print, print_json};
use crate::attach::{find, seconds};
use crate::exit::{DONE, Failure};
use crate::{agent, progress};

/// How much a question may cost the JVM that is asked.
#[derive(Args, Debug, Clone, Copy)]
pub struct Bounds {
    /// Of a JVM: stand still for at most so long in all; what is not known by then is not told
    #[arg(long, value_name = "SECONDS", value_parser = seconds, default_value = "10")]
    pause: Duration,

    /// Of a JVM: look for the paths of so many objects, at most 64
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u8).range(1..=64))]
    samples: u8,
}

/// Loading the agent and waiting for the JVM's turn come on top of the pauses.
const PATIENCE: Duration = Duration::from_secs(120);

/// What the agent answered.
#[derive(Debug, Default, PartialEq)]
struct Answer {
    instances: u64,
    paths: Vec<Path>,
    /// Paths of which the beginning is not known.
    parts: Vec<Path>,
    /// Objects to which no path was found.
    none: u64,
    refs: Vec<(u64, String, String)>,
    walks: u64,
    paused: Duration,
    longest: Duration,
    stopped: Vec<String>,
}

impl Answer {
    /// From lines that come from somebody else's process.
    fn read(text: &str) -> Answer {
        let mut answer = Answer::default();
        for line in text.lines() {
            let words: Vec<&str> = line.split('\t').collect();
            let number = |at: usize| words.get(at).and_then(|word| word.parse::<u64>().ok()).unwrap_or(0);
            match words[0] {
                "instances" => answer.instances = number(1),
                "none" => answer.none += 1,
                "stopped" => answer.stopped.push(words.get(1).unwrap_or(&"").to_string()),
                "walks" => {
                    answer.walks = number(1);
                    answer.paused = Duration::from_nanos(number(2));
                    answer.longest = Duration::from_nanos(number(3));
                }
                "ref" => {
                    let word = |at: usize| words.get(at).unwrap_or(&"").to_string();
                    answer.refs.push((number(1), word(2), word(3)));
                }
                "path" => answer.paths.push(path(&words)),
                "part" => answer.parts.push(path(&words)),
                _ => {}
            }
        }
        answer.refs.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| (&a.1, &a.2).cmp(&(&b.1, &b.2))));
        answer
    }

    /// What it cost, and what is missing.
    fn tell(&self) {
        for why in &self.stopped {
            eprintln!("quipu: not all is known: {}", name(why));
        }
        eprintln!(
            "quipu: it stood still for {:.3} s in {} walks over its heap, {:.3} s at a time at most",
            self.paused.as_secs_f64(),
            self.walks,
            self.longest.as_secs_f64()
        );
    }

    fn cost(&self) -> Json {
        json!({
            "walks": self.walks, "paused_seconds": self.paused.as_secs_f64(),
            "longest_pause_seconds": self.longest.as_secs_f64(), "stopped": self.stopped,
        })
    }
}

fn path(words: &[&str]) -> Path {
    let steps = words.get(2..).unwrap_or_default().chunks(2).map(|pair| Step {
        id: 0,
        class: pair[0].to_owned(),
        is_class: false,
        by: pair.get(1).filter(|by| !by.is_empty()).map(|by| (*by).to_owned()),
    });
    Path { root: words.get(1).unwrap_or(&"").to_string(), steps: steps.collect() }
}

fn ask(target: &str, what: &str, class: &str, bounds: Bounds) -> anyhow::Result<Answer> {
    if class.contains([',', '\t']) {
        return Err(Failure::usage(format!("'{class}' is no class's name")));
    }
    let pid = find(target)?;
    let process = Target::find(pid).map_err(Failure::target)?;
    let library = agent::library()?;
    let pause = bounds.pause;
    eprintln!(
        "quipu: {pid} stands still while it walks over its heap, for {} s in all at most (--pause)",
        pause.as_secs_f64()
    );
    let question =
        format!("heap={what},class={class},pause={},samples={}", pause.as_millis(), bounds.samples);
    let channel = Attach::new(&process).with_timeout(PATIENCE + pause);
    let asking = || channel.ask_own_agent(&library, &question);
    let text = progress::during(format!("{pid} walks over its heap"), asking).map_err(Failure::target)?;
    Ok(Answer::read(&text))
}

/// `quipu heap paths PID CLASS`.
pub fn paths(
    reading: &Reading,
    target: &str,
    class: &str,
    limit: Limit,
    bounds: Bounds,
) -> anyhow::Result<u8> {
    let answer = ask(target, "paths", class, bounds)?;
    let looked_at = (answer.paths.len() + answer.parts.len()) as u64 + answer.none;
    let reached = answer.paths.len();
    let groups = shapes(answer.paths.iter().chain(&answer.parts).cloned());
    if reading.json {
        let rows: Vec<Json> =
            groups.iter().take(limit.rows()).map(|(objects, path)| path_json(*objects, path)).collect();
        print_json(&json!({
            "by": "path", "metrics": ["objects"], "rows": rows, "instances": answer.instances,
            "looked_at": looked_at, "reached": reached, "cost": answer.cost(),
        }))?;
    } else {
        let mut text = format!(
            "{} of {} looked at; a path was found to {}\n",
            count(looked_at),
            count(answer.instances),
            count(reached as u64)
        );
        for (objects, path) in groups.iter().take(limit.rows()) {
            text.push_str(&format!("\n{} by a path like this:\n  {}\n", count(*objects), name(&path.root)));
            text.push_str(&steps_text(path));
        }
        if answer.none > 0 {
            text.push_str("\nObjects without a path are garbage, held by weak references, or further away than was looked.\n");
        }
        print(&(text + &more(groups.len(), limit.rows())))?;
    }
    answer.tell();
    Ok(DONE)
}

/// `quipu heap refs PID CLASS`.
pub fn refs(
    reading: &Reading,
    target: &str,
    class: &str,
    limit: Limit,
    bounds: Bounds,
) -> anyhow::Result<u8> {
    let answer = ask(target, "refs", class, bounds)?;
    if reading.json {
        let rows: Vec<Json> = answer
            .refs
            .iter()
            .take(limit.rows())
            .map(|(references, class, by)| json!({ "class": class, "by": by, "references": references }))
            .collect();
        print_json(
            &json!({ "by": "reference", "metrics": ["references"], "rows": rows, "cost": answer.cost() }),
        )?;
    } else {
        let mut table = Table::new(&["references", "from"]);
        for (references, class, by) in answer.refs.iter().take(limit.rows()) {
            let from = match by.as_str() {
                "" => class.clone(),
                // The class is an array's, and says so.
                "[]" => class.clone(),
                by if by.starts_with('<') => format!("{class} {by}"),
                by => format!("{class}.{by}"),
            };
            table.row(vec![count(*references), name(&from)]);
        }
        print(&(table.text("") + &more(answer.refs.len(), limit.rows())))?;
    }
    answer.tell();
    Ok(DONE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_read_and_garbage_is_not_believed() {
        let text = "instances\t7\npath\tstatic a.B.C\tjava.util.ArrayList\telementData\tjava.lang.Object[]\t[3]\ta.D\t\nnone\nref\t3\ta.B\tf\nref\t9\ta.C\t[]\nwalks\t4\t2000000000\t1000000000\nstopped\ttime is up\n\nwhat\t\x1b\npath\n";
        let answer = Answer::read(text);
        assert_eq!((answer.instances, answer.none, answer.walks, answer.paths.len()), (7, 1, 4, 2));
        assert_eq!(
            answer.paths[0].to_string(),
            "java.util.ArrayList.elementData → java.lang.Object[] [3] → a.D"
        );
        assert_eq!(answer.refs[0], (9, "a.C".to_owned(), "[]".to_owned()));
        assert_eq!(answer.paused, Duration::from_secs(2));
    }
}
