//! From the times of short pieces of code to the costs of the opcodes in them.
//!
//! Operands have to be pushed and results popped, so no piece is one opcode. The costs are those, none below that of
//! the cheapest opcode, whose sums come closest to all measured times (least squares, one cost at a time). There is more
//! than one answer: what a push and a pop cost *together* is known, each alone is not. The search begins with equal
//! parts and so ends near them.

/// A measured piece of code: the numbers of its opcodes, with repetitions, and its time.
pub type Piece = (Vec<usize>, f64);

const SWEEPS: usize = 3_000;

/// The cost of each of `count` opcodes.
pub fn fit(pieces: &[Piece], count: usize, floor: f64) -> Vec<f64> {
    let mut costs: Vec<f64> = (0..count).map(|op| equal_part(pieces, op).max(floor)).collect();
    // How often each piece has each opcode, by opcode.
    let uses: Vec<Vec<(usize, f64)>> = (0..count)
        .map(|op| {
            let times = |piece: &Piece| piece.0.iter().filter(|&&other| other == op).count();
            let all = pieces.iter().enumerate().map(|(i, piece)| (i, times(piece) as f64));
            all.filter(|(_, times)| *times > 0.0).collect()
        })
        .collect();
    let mut left: Vec<f64> =
        pieces.iter().map(|(ops, time)| time - ops.iter().map(|&op| costs[op]).sum::<f64>()).collect();
    for _ in 0..SWEEPS {
        for (cost, uses) in costs.iter_mut().zip(&uses) {
            let (mut missing, mut weight) = (0.0, 0.0);
            for &(piece, times) in uses {
                missing += times * left[piece];
                weight += times * times;
            }
            let better = (*cost + if weight > 0.0 { missing / weight } else { 0.0 }).max(floor);
            for &(piece, times) in uses {
                left[piece] -= times * (better - *cost);
            }
            *cost = better;
        }
    }
    costs
}

/// The smallest part of a piece that an opcode can have if all have the same.
fn equal_part(pieces: &[Piece], op: usize) -> f64 {
    let parts = pieces.iter().filter(|(ops, _)| ops.contains(&op)).map(|(ops, time)| time / ops.len() as f64);
    parts.fold(f64::INFINITY, f64::min).min(1e9)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_that_are_determined_are_found() {
        // push pop = 3, push push add pop = 9, push pop2 = 4, nop = 1, push push pop2 = 6
        let pieces = [(vec![0, 1], 3.0), (vec![0, 0, 2, 1], 9.0), (vec![0, 3], 4.0), (vec![0, 0, 3], 6.0)];
        let costs = fit(&pieces, 4, 0.5);
        for (ops, time) in &pieces {
            let sum: f64 = ops.iter().map(|&op| costs[op]).sum();
            assert!((sum - time).abs() < 0.01, "{costs:?}");
        }
        assert!((costs[0] - 2.0).abs() < 0.01 && (costs[2] - 4.0).abs() < 0.02, "{costs:?}");
    }

    #[test]
    fn nothing_is_cheaper_than_the_floor() {
        let costs = fit(&[(vec![0, 1], 2.0), (vec![0, 2, 1], 1.9)], 3, 0.5);
        assert!(costs.iter().all(|&cost| cost >= 0.5), "{costs:?}");
    }
}
