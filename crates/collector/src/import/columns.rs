//! Columns of nodes: what instruments counted in a context beside calls and bytecodes, each of a metric that the arena
//! declares and about something, such as a class.

use std::collections::HashMap;

use quipu_arena::layout::aggregation;
use quipu_arena::reader::{Contents, Node};
use quipu_arena::record::Record;
use quipu_profile::{Builder, MetricId, NodeId};

use super::budget::Budget;
use super::details::Details;
use super::metrics::Declared;

/// The triple that a method's record has for each column: number of the metric, number of the detail, bytecode index.
const TRIPLE: usize = 12;

#[derive(Clone, Copy)]
struct Column {
    metric: MetricId,
    detail: u32,
}

/// The columns that nodes of this profile have.
pub struct Columns {
    /// By method id, in the order of its nodes; none for one of a metric that this profile does not measure.
    of_methods: HashMap<u32, Vec<Option<Column>>>,
    details: Details,
    /// Leaves that may still come.
    budget: Budget,
}

impl Columns {
    /// What the arena says of them. A metric that nodes have columns of is in the profile, also if it is 0 everywhere.
    pub fn read(contents: &Contents<'_>, builder: &mut Builder) -> Columns {
        let declared = Declared::read(contents);
        let mut of_methods = HashMap::new();
        for record in &contents.records {
            let Record::Method { id, columns, .. } = *record else { continue };
            let columns: Vec<Option<Column>> = triples(columns)
                .map(|(metric, detail)| {
                    let declared = declared.get(&metric)?;
                    Some(Column { metric: builder.metric(declared.spec()), detail })
                })
                .collect();
            // A method that was rewritten again has the columns of the last time.
            of_methods.remove(&id);
            if columns.iter().any(Option::is_some) {
                of_methods.insert(id, columns);
            }
        }
        Columns { of_methods, details: Details::read(contents), budget: Budget::of(contents.size()) }
    }

    /// Whether no node has any.
    pub fn is_empty(&self) -> bool {
        self.of_methods.is_empty()
    }

    /// Whether a node has counted something in one of them.
    pub fn counted(&self, contents: &Contents<'_>, before: &Before, node: &Node) -> bool {
        self.values(contents, before, node).any(|(_, value)| value != 0)
    }

    /// Adds what a node has counted to where it is in the profile.
    pub fn feed(
        &mut self,
        contents: &Contents<'_>,
        before: &Before,
        node: &Node,
        here: NodeId,
        builder: &mut Builder,
    ) {
        let counted: Vec<_> = self.values(contents, before, node).filter(|&(_, value)| value != 0).collect();
        for (Column { metric, detail }, value) in counted {
            let leaf = self.details.below(builder, here, detail, &mut self.budget);
            builder.add(leaf, metric, value);
        }
    }

    /// How many leaves were left out because there were too many.
    pub fn refused(&self) -> u64 {
        self.budget.refused()
    }

    fn values<'a>(
        &'a self,
        contents: &'a Contents<'_>,
        before: &'a Before,
        node: &Node,
    ) -> impl Iterator<Item = (Column, u64)> + 'a {
        let columns = self.of_methods.get(&node.method).map(Vec::as_slice).unwrap_or_default();
        let before = before.0.get(&node.at).map(Vec::as_slice).unwrap_or_default();
        let before = before.iter().copied().chain(std::iter::repeat(0));
        let values = contents.columns(node).zip(before).map(|(now, then)| now.wrapping_sub(then));
        columns.iter().zip(values).filter_map(|(column, value)| Some(((*column)?, value)))
    }
}

/// Values of columns at one moment, by offset of their node.
#[derive(Debug, Default)]
pub struct Before(HashMap<u64, Vec<u64>>);

impl Before {
    /// What an arena has so far. Of a metric that keeps the largest, nothing is ever taken off.
    pub fn of(contents: &Contents<'_>) -> Before {
        let largest: Vec<u32> = contents
            .records
            .iter()
            .filter_map(|record| match *record {
                Record::Metric { id, aggregation: aggregation::MAX, .. } => Some(id),
                _ => None,
            })
            .collect();
        let mut sums: HashMap<u32, Vec<bool>> = HashMap::new();
        for record in &contents.records {
            if let Record::Method { id, columns, .. } = *record {
                let is_sum = triples(columns).map(|(metric, _)| !largest.contains(&metric));
                sums.insert(id, is_sum.collect());
            }
        }
        let with_columns = contents.nodes.iter().filter(|node| node.columns.1 > 0);
        let values = with_columns.map(|node| {
            let sums = sums.get(&node.method).map(Vec::as_slice).unwrap_or_default();
            let values = contents.columns(node).zip(sums);
            (node.at, values.map(|(value, is_sum)| if *is_sum { value } else { 0 }).collect())
        });
        Before(values.collect())
    }
}

/// Metric and detail of each column. Where in the method it was is told for readers of code; contexts have no lines.
fn triples(columns: &[u8]) -> impl Iterator<Item = (u32, u32)> + '_ {
    columns.as_chunks::<TRIPLE>().0.iter().map(|&[a, b, c, d, e, f, g, h, ..]| {
        (u32::from_ne_bytes([a, b, c, d]), u32::from_ne_bytes([e, f, g, h]))
    })
}
