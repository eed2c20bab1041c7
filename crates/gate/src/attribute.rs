//! Growth divided up over contexts, so that every unit of it has one cause.
//!
//! Let a context n have calls c, own work s and total work t, before (0) and after (1), and let r(n) = c1/c0 be how often it
//! runs now for each time it ran before. A method that is called twice as often and does the same each time is not
//! to blame for doing twice the work: its caller is. So
//!
//! - n **itself** contributes s1 − s0·r(n): what it does now beyond what its calls explain;
//! - n contributes (r(m) − r(n))·t0(m) for each m it **calls** more (or less) often for each call of its own;
//! - what n calls now and did not before contributes t1, and what it no longer calls −t0·r(n).
//!
//! Along any path the terms telescope, so over a thread's tree they add up to the growth of its total, save for rounding. One
//! changed line changes terms of one context, its method's, whatever it drags along below.
//!
//! Calls that are unlike each other break the proportion: an eleventh call may cost as much as the ten before, or nothing. All
//! of what happens below m is put down to the calls when they are cheaper than before, when they are dearer by little
//! compared to what their number explains, and when the caller's code was edited and no code below was.

use quipu_profile::NodeId;

use crate::pair::Pair;

/// How much of the explained growth may be unexplained below, before the context below is looked at by itself.
const ODD_CALLS: i128 = 4;

/// Why a context contributes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// By what it does itself.
    Own,
    /// By calling a context more or less often.
    Calls(NodeId),
    /// By calling what it did not call.
    New(NodeId),
    /// By no longer calling what it did.
    Gone(NodeId),
}

/// One term of the sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Term {
    /// The context whose code is the cause; a thread's root for what runs at its bottom.
    pub(crate) at: NodeId,
    /// How it is.
    pub(crate) cause: Cause,
    /// How much it contributes.
    pub(crate) cost: i128,
    /// How many calls more.
    pub(crate) calls: i128,
}

/// Divides up the growth below a thread's root.
pub(crate) fn attribute(pair: &Pair, root: NodeId) -> Vec<Term> {
    let tree = pair.tree.tree();
    let first = root as usize;
    let value = |column: &[Vec<u64>; 2], side: usize, node: NodeId| i128::from(column[side][node as usize]);
    let mut ratios = vec![Ratio::ONE; (tree.end(root) - root) as usize];
    let mut terms = Vec::new();
    let own = value(&pair.own, 1, root) - value(&pair.own, 0, root);
    if own != 0 {
        terms.push(Term { at: root, cause: Cause::Own, cost: own, calls: 0 });
    }
    let mut skip = root + 1;
    for node in tree.subtree(root).skip(1) {
        let Some(at) = tree.parent(node) else { continue };
        if node < skip {
            continue;
        }
        let above = ratios[at as usize - first];
        let (t0, t1) = (value(&pair.total, 0, node), value(&pair.total, 1, node));
        let (c0, c1) = (value(&pair.calls, 0, node), value(&pair.calls, 1, node));
        match (pair.present(0, node), pair.present(1, node)) {
            (false, _) => {
                terms.push(Term { at, cause: Cause::New(node), cost: t1, calls: c1 });
                skip = tree.end(node);
                continue;
            }
            (true, false) => {
                terms.push(Term { at, cause: Cause::Gone(node), cost: -above.of(t0), calls: -above.of(c0) });
                skip = tree.end(node);
                continue;
            }
            (true, true) => {}
        }
        let ratio = if c0 > 0 && c1 > 0 { Ratio { before: c0, after: c1 } } else { above };
        let by_calls = ratio.of(t0) - above.of(t0);
        let rest = t1 - ratio.of(t0);
        let calls = c1 - above.of(c0);
        // Cheaper calls than before take off what the calls explain; dearer ones may be a change of their own.
        let tolerance = if by_calls > 0 && rest > 0 { ODD_CALLS } else { 1 };
        let same_code = by_calls > 0 && rest > 0 && pair.is_edited(at) && !pair.has_edited(node);
        if by_calls != 0 && (same_code || rest.abs() * tolerance <= by_calls.abs()) {
            terms.push(Term { at, cause: Cause::Calls(node), cost: by_calls + rest, calls });
            skip = tree.end(node);
            continue;
        }
        if by_calls != 0 {
            terms.push(Term { at, cause: Cause::Calls(node), cost: by_calls, calls });
        }
        ratios[node as usize - first] = ratio;
        let own = value(&pair.own, 1, node) - ratio.of(value(&pair.own, 0, node));
        if own != 0 {
            terms.push(Term { at: node, cause: Cause::Own, cost: own, calls: 0 });
        }
    }
    terms.retain(|term| term.cost != 0);
    terms
}

/// After for each before.
#[derive(Clone, Copy, Debug)]
struct Ratio {
    before: i128,
    after: i128,
}

impl Ratio {
    const ONE: Ratio = Ratio { before: 1, after: 1 };

    /// So much of a value, to the nearest integer; exact when the ratio is one.
    fn of(self, value: i128) -> i128 {
        if self.before == self.after {
            return value;
        }
        // Counts have 64 bits and are not negative: the product fits.
        match value.checked_mul(self.after) {
            Some(product) => (product + self.before / 2) / self.before,
            None => value / self.before * self.after,
        }
    }
}
