//! A flame graph as SVG, drawn by inferno.

use crate::{ExportError, Options, collapsed, cut::Cut, names};
use inferno::flamegraph;
use quipu_profile::{NodeId, Profile, ThreadKind};
use std::io::Write;

/// Frames narrower than this many percent of the picture cannot be seen, so they are not drawn.
const MIN_WIDTH_PERCENT: f64 = 0.01;

/// Draws the chosen metric.
pub fn write(profile: &Profile, options: &Options, out: &mut dyn Write) -> Result<(), ExportError> {
    let metric = options.metric(profile)?;
    let lines = lines(profile, options, metric.values());
    let mut settings = flamegraph::Options::default();
    settings.title = names::clean(&options.title(profile)).into_owned();
    settings.subtitle = Some(format!("{}, exported by Quipu", names::clean(metric.name())));
    settings.count_name = names::clean(metric.spec().unit.as_str()).into_owned();
    settings.colors = flamegraph::color::Palette::Multi(flamegraph::color::MultiPalette::Java);
    // The same profile is the same picture.
    settings.deterministic = true;
    settings.hash = true;
    settings.min_width = MIN_WIDTH_PERCENT;
    settings.no_sort = true;
    settings.pretty_xml = false;
    if lines.is_empty() {
        return Ok(empty(&settings.title, out)?);
    }
    flamegraph::from_lines(&mut settings, lines.iter().map(String::as_str), out)?;
    Ok(())
}

/// Sorted lines of the stacks wide enough to be seen; what is narrower is part of its caller's width.
fn lines(profile: &Profile, options: &Options, values: &[u64]) -> Vec<String> {
    let cut = Cut::new(profile, &[values], options.max_nodes, (MIN_WIDTH_PERCENT / 100.0) as f32);
    let folded = cut.folded_values(values);
    let frames = collapsed::frames(profile);
    let (parents, ends) = (profile.tree().parents(), profile.tree().ends());
    let mut lines = Vec::new();
    for thread in profile.threads() {
        let mut path: Vec<NodeId> = Vec::new();
        let mut line = String::new();
        if options.threads && thread.kind != ThreadKind::Root {
            line = format!("[{}]", names::thread(profile, thread).replace(';', ":"));
        }
        let mut lengths = vec![line.len()];
        let mut node = thread.root;
        while node < ends[thread.root as usize] {
            if !cut.keeps(node) {
                node = ends[node as usize];
                continue;
            }
            if node != thread.root {
                while path.last().is_some_and(|&last| last != parents[node as usize]) {
                    path.pop();
                }
                lengths.truncate(path.len() + 1);
                path.push(node);
                line.truncate(lengths[path.len() - 1]);
                if !line.is_empty() {
                    line.push(';');
                }
                line.push_str(&frames[profile.tree().methods()[node as usize] as usize]);
                lengths.push(line.len());
            }
            // At the depth limit a frame is as wide as everything below it.
            let end = if path.len() < options.max_depth as usize { node + 1 } else { ends[node as usize] };
            let value = (node as usize..end as usize)
                .filter(|&at| cut.keeps(at as NodeId))
                .fold(0u64, |sum, at| sum.saturating_add(values[at]).saturating_add(folded[at]));
            if value > 0 && !line.is_empty() {
                lines.push(format!("{line} {value}"));
            }
            node = end;
        }
    }
    lines.sort_unstable();
    lines
}

/// inferno refuses an empty input; a profile that measured nothing is still a picture.
fn empty(title: &str, out: &mut dyn Write) -> std::io::Result<()> {
    let title: String = title
        .chars()
        .map(|c| match c {
            '<' => "&lt;".to_owned(),
            '&' => "&amp;".to_owned(),
            c => c.to_string(),
        })
        .collect();
    writeln!(
        out,
        r##"<?xml version="1.0" standalone="no"?><svg version="1.1" width="1200" height="80" xmlns="http://www.w3.org/2000/svg"><text x="600" y="46" text-anchor="middle" font-family="monospace" font-size="14">{title}: nothing was measured</text></svg>"##
    )
}
