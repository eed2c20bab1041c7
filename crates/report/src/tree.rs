//! The calling context tree: all of it as JSON, the part worth looking at as text.

use crate::columns::{Columns, Selection};
use crate::heading::counted;
use crate::json::Report;
use crate::number::{percent, share};
use crate::style::Style;
use crate::table::{Table, printable};
use crate::{Options, ReportError};
use quipu_profile::{NO_METHOD, NodeId, Profile, Totals};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;

/// Lines of text unless told otherwise, and the share below which a context is not worth one of them.
const LIMIT: usize = 40;
const SMALLEST_SHARE: f64 = 0.002;
/// Levels that are indented; deeper ones stand below each other with their depth in front, or a deep path would run off
/// the page.
const DEEPEST: usize = 24;

fn columns(profile: &Profile, selection: &Selection) -> Columns {
    selection
        .columns(profile, |metric| Totals { own: metric.values().to_vec(), total: profile.inclusive(metric) })
}

pub(crate) fn json(
    profile: &Profile,
    options: &Options,
    selection: &Selection,
    out: &mut dyn io::Write,
) -> Result<(), ReportError> {
    let (tree, depths, columns) = (profile.tree(), profile.tree().depths(), columns(profile, selection));
    let shown = options.limit.map(|limit| heaviest(profile, &columns, limit, 0.0));
    let mut report = Report::new(out, "tree", &selection.names(profile))?;
    for (at, thread) in profile.threads().iter().enumerate() {
        let name = profile.str(profile.threads()[at].name);
        for node in tree.subtree(thread.root) {
            if shown.as_ref().is_some_and(|shown| !shown[node as usize]) {
                continue;
            }
            let method = tree.methods()[node as usize];
            report.row(|object| {
                object.int("id", node)?;
                match tree.parent(node) {
                    Some(parent) => object.int("parent", parent)?,
                    None => object.null("parent")?,
                }
                object.int("depth", depths[node as usize])?;
                object.text("thread", name)?;
                object.names(profile, method)?;
                object.bool("opaque", method != NO_METHOD && profile.method(method).opaque())?;
                if let Some(site) = tree.site(node) {
                    object.int("bci", site)?;
                }
                object.metrics(&columns, node as usize)
            })?;
        }
    }
    Ok(report.finish()?)
}

/// The `limit` heaviest contexts by total. A context is never heavier than its caller, so taking the heaviest of those
/// whose caller was taken gives a tree; the hot path is opened as far as it goes.
fn heaviest(profile: &Profile, columns: &Columns, limit: usize, smallest: f64) -> Vec<bool> {
    let tree = profile.tree();
    let main = columns.main();
    let totals = &main.values.total;
    let mut shown = vec![false; tree.len()];
    let mut open: BinaryHeap<(u64, Reverse<NodeId>)> =
        profile.threads().iter().map(|thread| (totals[thread.root as usize], Reverse(thread.root))).collect();
    for _ in 0..limit {
        let Some((_, Reverse(node))) = open.pop() else { break };
        shown[node as usize] = true;
        let worth = tree.children(node).map(|child| (totals[child as usize], Reverse(child)));
        open.extend(worth.filter(|&(total, _)| share(total, main.sum) >= smallest));
    }
    shown
}

pub(crate) fn text(profile: &Profile, options: &Options, selection: &Selection, style: &Style) -> String {
    let columns = columns(profile, selection);
    let shown = heaviest(profile, &columns, options.limit.unwrap_or(LIMIT), SMALLEST_SHARE);
    let mut drawing = Drawing { profile, columns: &columns, shown: &shown, style, prefix: Vec::new() };
    let mut table = Table::new(style, columns.headers(), "context");
    let totals = &columns.main().values.total;
    let mut roots: Vec<NodeId> = profile.threads().iter().map(|thread| thread.root).collect();
    roots.sort_by_key(|&root| Reverse(totals[root as usize]));
    let (shown_roots, folded): (Vec<NodeId>, Vec<NodeId>) =
        roots.into_iter().partition(|&root| shown[root as usize]);
    for root in shown_roots {
        drawing.thread(&mut table, root);
    }
    if !folded.is_empty() {
        let rest = folded.iter().fold(0u64, |sum, &root| sum.saturating_add(totals[root as usize]));
        let part = percent(rest, columns.main().sum);
        table.note(format!("{} {} more with {part}", style.dots(), counted(folded.len() as u64, "thread")));
    }
    table.render()
}

/// What stands before a name: for each level, whether more siblings follow.
struct Drawing<'a> {
    profile: &'a Profile,
    columns: &'a Columns,
    shown: &'a [bool],
    style: &'a Style,
    prefix: Vec<bool>,
}

/// One line still to draw.
#[derive(Clone, Copy)]
enum Item {
    /// A context.
    Node(NodeId),
    /// The children of a context that are not shown.
    Rest(NodeId),
}

impl Drawing<'_> {
    /// Draws a thread's tree with a stack of its own: the hot path may be deeper than ours.
    fn thread(&mut self, table: &mut Table<'_>, root: NodeId) {
        // (line, levels above it, whether it is the last at its level).
        let mut open = vec![(Item::Node(root), 0usize, true)];
        while let Some((item, level, last)) = open.pop() {
            self.prefix.truncate(level.saturating_sub(1));
            if level > 0 {
                self.prefix.push(!last);
            }
            let node = match item {
                Item::Rest(node) => {
                    table.note(format!("{}{}", self.lead(level, last), self.rest(node)));
                    continue;
                }
                Item::Node(node) => node,
            };
            let main = self.columns.main();
            let part = share(main.values.total[node as usize], main.sum);
            let tree = self.profile.tree();
            let mut children: Vec<NodeId> =
                tree.children(node).filter(|&child| self.shown[child as usize]).collect();
            children.sort_by_key(|&child| Reverse(main.values.total[child as usize]));
            let mut name = format!("{}{}", self.lead(level, last), self.name(node));
            let hides = self.hidden(node).0 > 0;
            if hides && children.is_empty() {
                name.push_str(&format!("  {}", self.rest(node)));
            }
            table.row(self.columns.cells(node as usize), part, name);
            let mut below: Vec<Item> = children.iter().map(|&child| Item::Node(child)).collect();
            if hides && !children.is_empty() {
                below.push(Item::Rest(node));
            }
            let count = below.len();
            for (at, item) in below.into_iter().enumerate().rev() {
                open.push((item, level + 1, at + 1 == count));
            }
        }
    }

    fn lead(&self, level: usize, last: bool) -> String {
        if level == 0 {
            return String::new();
        }
        let mut lead = String::new();
        for &more in &self.prefix[..(level - 1).min(DEEPEST)] {
            lead.push_str(if self.style.unicode && more { "│ " } else { "  " });
        }
        lead.push_str(match (self.style.unicode, last) {
            (true, true) => "└ ",
            (true, false) => "├ ",
            (false, _) => "  ",
        });
        if level > DEEPEST {
            lead.push_str(&format!("({level}) "));
        }
        lead
    }

    fn name(&self, node: NodeId) -> String {
        let profile = self.profile;
        match profile.tree().method(node) {
            Some(method) => {
                let opaque = if profile.method(method).opaque() { " (opaque)" } else { "" };
                format!("{}{opaque}", printable(&profile.method_name(method)))
            }
            None => {
                let thread = &profile.threads()[profile.thread_of(node) as usize];
                let many = if thread.threads == 1 {
                    String::new()
                } else {
                    format!(" ({} threads)", thread.threads)
                };
                format!("[{}]{many}", printable(profile.str(thread.name)))
            }
        }
    }

    /// How many contexts below a node are not shown, and their part of the whole, leaving out shown subtrees.
    fn hidden(&self, node: NodeId) -> (u64, u64) {
        let tree = self.profile.tree();
        let totals = &self.columns.main().values.total;
        let folded = tree.children(node).filter(|&child| !self.shown[child as usize]);
        folded.fold((0, 0), |(count, sum), child| {
            (count + u64::from(tree.end(child) - child), sum.saturating_add(totals[child as usize]))
        })
    }

    fn rest(&self, node: NodeId) -> String {
        let (count, sum) = self.hidden(node);
        let contexts = format!("{} {}", self.style.dots(), counted(count, "context"));
        match sum {
            0 => contexts,
            sum => format!("{contexts} with {}", percent(sum, self.columns.main().sum)),
        }
    }
}
