//! The calling context tree: all of it as JSON, the part worth looking at as text.

use crate::columns::{Columns, Selection};
use crate::heading::counted;
use crate::json::Report;
use crate::number::{percent, share};
use crate::style::Style;
use crate::table::{Name, Table, printable};
use crate::{Options, ReportError};
use quipu_profile::{NO_METHOD, NodeId, Profile, Totals};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;

/// Ends of chains drawn unless told otherwise; some 50 lines for a large program.
const LIMIT: usize = 24;
/// A share too small for a line, or for a word about what was folded.
const SMALL: f64 = 0.002;
/// Levels that are indented; deeper branches stand below each other with their level in front.
const DEEPEST: usize = 24;
/// So many frames in a row that only pass work on are drawn as one line.
const PASSING: usize = 3;

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
    let limit = options.limit.or((selection.min > 0.0).then_some(usize::MAX));
    let shown = limit.map(|limit| heaviest(profile, &columns, limit, selection.min, |_| true));
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

/// The heaviest contexts by total, until `limit` of them `count`. A context is never heavier than its caller, so taking the
/// heaviest of those whose caller was taken gives a tree; the hot path is opened as far as it goes.
fn heaviest(
    profile: &Profile,
    columns: &Columns,
    limit: usize,
    smallest: f64,
    count: impl Fn(NodeId) -> bool,
) -> Vec<bool> {
    let tree = profile.tree();
    let main = columns.main();
    let totals = &main.values.total;
    let mut shown = vec![false; tree.len()];
    let mut open: BinaryHeap<(u64, Reverse<NodeId>)> =
        profile.threads().iter().map(|thread| (totals[thread.root as usize], Reverse(thread.root))).collect();
    let mut counted = 0;
    while counted < limit {
        let Some((_, Reverse(node))) = open.pop() else { break };
        shown[node as usize] = true;
        counted += usize::from(count(node));
        let worth = tree.children(node).map(|child| (totals[child as usize], Reverse(child)));
        open.extend(worth.filter(|&(total, _)| share(total, main.sum) >= smallest));
    }
    shown
}

pub(crate) fn text(profile: &Profile, options: &Options, selection: &Selection, style: &Style) -> String {
    let columns = columns(profile, selection);
    let totals = &columns.main().values.total;
    // A frame that passes nearly all on to one callee will be part of a chain, which takes few lines however long.
    let ends_here = |node: NodeId| {
        let all = totals[node as usize];
        !profile.tree().children(node).any(|child| share(totals[child as usize], all) > 0.99)
    };
    let smallest = if selection.min > 0.0 { selection.min } else { SMALL };
    let shown = heaviest(profile, &columns, options.limit.unwrap_or(LIMIT), smallest, ends_here);
    let mut drawing =
        Drawing { profile, columns: &columns, shown: &shown, style, prefix: Vec::new(), told: 0 };
    let mut table = Table::new(style, columns.headers(), "context").counting(columns.unit());
    let mut roots: Vec<NodeId> = profile.threads().iter().map(|thread| thread.root).collect();
    roots.sort_by_key(|&root| Reverse(totals[root as usize]));
    let (drawn, folded): (Vec<NodeId>, Vec<NodeId>) =
        roots.into_iter().partition(|&root| shown[root as usize]);
    for root in drawn {
        drawing.thread(&mut table, root);
    }
    if !folded.is_empty() {
        let rest = folded.iter().fold(0u64, |sum, &root| sum.saturating_add(totals[root as usize]));
        let part = percent(rest, columns.main().sum);
        table.note(format!("{} {} more with {part}", style.dots(), counted(folded.len() as u64, "thread")));
        drawing.told += folded.iter().map(|&root| u64::from(profile.tree().end(root) - root)).sum::<u64>();
    }
    let small =
        profile.tree().len() as u64 - shown.iter().filter(|&&shown| shown).count() as u64 - drawing.told;
    if small > 0 {
        let each = format!("{} %", smallest * 100.0);
        table.note(format!("{} {} of less than {each} each", style.dots(), counted(small, "context")));
    }
    table.render_methods(profile)
}

/// A tree being drawn. Where it branches, branches are indented; a chain of only children stands below each other like a
/// stack trace, and the part of it that does no work of its own is one line.
struct Drawing<'a> {
    profile: &'a Profile,
    columns: &'a Columns,
    shown: &'a [bool],
    style: &'a Style,
    /// For each level whether more branches follow.
    prefix: Vec<bool>,
    /// Contexts not shown that some line tells about.
    told: u64,
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
        // (line, level, whether it is the last of its branches).
        let mut open = vec![(Item::Node(root), 0usize, true)];
        while let Some((item, level, last)) = open.pop() {
            self.prefix.truncate(level.saturating_sub(1));
            if level > 0 {
                self.prefix.push(!last);
            }
            let first = match item {
                Item::Rest(node) => {
                    let rest = self.rest(node);
                    table.note(format!("{}{rest}", self.lead(level, true)));
                    continue;
                }
                Item::Node(node) => node,
            };
            let mut chain = vec![first];
            let mut below = self.below(first);
            while let ([Item::Node(only)], true) = (&below[..], level > 0) {
                chain.push(*only);
                below = self.below(*only);
            }
            self.chain(table, &chain, level);
            let count = below.len();
            for (at, item) in below.into_iter().enumerate().rev() {
                open.push((item, level + 1, at + 1 == count));
            }
        }
    }

    /// Draws a chain of only children.
    fn chain(&mut self, table: &mut Table<'_>, chain: &[NodeId], level: usize) {
        let main = self.columns.main();
        let passing = |at: usize| {
            at > 0 && at + 1 < chain.len() && share(main.values.own[chain[at] as usize], main.sum) < SMALL
        };
        let mut at = 0;
        while at < chain.len() {
            let run = (at..chain.len()).take_while(|&at| passing(at)).count();
            if run >= PASSING {
                let frames = counted(run as u64, "frame");
                table.note(format!("{}{} {frames}", self.lead(level, false), self.style.dots()));
                at += run;
                continue;
            }
            let node = chain[at];
            let mut name = self.name(node);
            name.lead = self.lead(level, at == 0);
            if self.below(node).is_empty() && self.is_worth_telling(node) {
                name.aside = format!("  {}", self.rest(node));
            }
            table.row(
                self.columns.cells(node as usize),
                share(main.values.total[node as usize], main.sum),
                name,
            );
            at += 1;
        }
    }

    /// The lines below a context: shown children, heaviest first, and the rest if it is worth a line.
    fn below(&self, node: NodeId) -> Vec<Item> {
        let totals = &self.columns.main().values.total;
        let mut children: Vec<NodeId> =
            self.profile.tree().children(node).filter(|&child| self.shown[child as usize]).collect();
        children.sort_by_key(|&child| Reverse(totals[child as usize]));
        let mut below: Vec<Item> = children.into_iter().map(Item::Node).collect();
        if !below.is_empty() && self.is_worth_telling(node) {
            below.push(Item::Rest(node));
        }
        below
    }

    fn lead(&self, level: usize, branch: bool) -> String {
        let Some((&more, above)) = self.prefix.split_last().filter(|_| level > 0) else {
            return String::new();
        };
        let mut lead = String::new();
        for &more in above.iter().take(DEEPEST) {
            lead.push_str(if self.style.unicode && more { "│ " } else { "  " });
        }
        lead.push_str(match (self.style.unicode, branch, more) {
            (true, true, true) => "├ ",
            (true, true, false) => "└ ",
            (true, false, true) => "│ ",
            (false, true, _) => "- ",
            (_, false, _) => "  ",
        });
        if branch && level > DEEPEST {
            lead.push_str(&format!("({level}) "));
        }
        lead
    }

    fn name(&self, node: NodeId) -> Name {
        let profile = self.profile;
        match profile.tree().method(node) {
            Some(method) => Name::method(profile, method),
            None => {
                let thread = &profile.threads()[profile.thread_of(node) as usize];
                let many = if thread.threads == 1 {
                    String::new()
                } else {
                    format!(" ({} threads)", thread.threads)
                };
                Name::plain(format!("[{}]{many}", printable(profile.str(thread.name))))
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

    fn is_worth_telling(&self, node: NodeId) -> bool {
        let (count, sum) = self.hidden(node);
        count > 0 && share(sum, self.columns.main().sum) >= SMALL
    }

    fn rest(&mut self, node: NodeId) -> String {
        let (count, sum) = self.hidden(node);
        self.told += count;
        let part = percent(sum, self.columns.main().sum);
        format!("{} {} with {part}", self.style.dots(), counted(count, "context"))
    }
}
