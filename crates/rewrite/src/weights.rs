//! Weights of opcodes: what one execution counts, for profiles that estimate the cost on another machine.
//!
//! The text form has a line for each opcode, its mnemonic and its weight; `#` begins a comment. What is not listed has
//! the weight of `default`, which is 1 unless given.

use std::fmt;

use quipu_classfile::opcode::{WIDE, opcode};
use quipu_classfile::{Block, Code};

/// Weights are at most this, so that the sum over the largest method fits the local counter.
const MOST: u32 = 10_000;

/// The weight of every opcode.
#[derive(Clone, PartialEq, Eq)]
pub struct Weights([u32; 256]);

/// A line that makes no sense.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadWeights {
    /// Counted from 1.
    pub line: usize,
    /// What is wrong with it.
    pub why: String,
}

impl fmt::Display for BadWeights {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.why)
    }
}

impl fmt::Debug for Weights {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl Weights {
    /// Reads the text form.
    pub fn parse(text: &str) -> Result<Weights, BadWeights> {
        let mut given = [None; 256];
        let mut default = 1;
        for (number, line) in text.lines().enumerate() {
            let bad = |why: String| BadWeights { line: number + 1, why };
            let mut words = line.split('#').next().unwrap_or_default().split_whitespace();
            let Some(name) = words.next() else { continue };
            let weight = words.next().and_then(|word| word.parse().ok()).filter(|weight| *weight <= MOST);
            let (Some(weight), None) = (weight, words.next()) else {
                return Err(bad(format!("must be an opcode and a weight from 0 to {MOST}, like `iadd 3`")));
            };
            if name == "default" {
                default = weight;
                continue;
            }
            let op = (0..=255u8).find(|&op| name != "undefined" && opcode(op).mnemonic == name);
            let slot = op.and_then(|op| given.get_mut(usize::from(op)));
            *slot.ok_or_else(|| bad(format!("there is no opcode '{name}'")))? = Some(weight);
        }
        Ok(Weights(given.map(|weight: Option<u32>| weight.unwrap_or(default))))
    }

    /// The weight of an opcode.
    pub fn of(&self, op: u8) -> u32 {
        self.0.get(usize::from(op)).copied().unwrap_or(1)
    }

    /// The sum over a block. A `wide` instruction has the weight of what it widens.
    pub fn of_block(&self, block: &Block, code: &Code<'_>) -> u32 {
        block.iter(code).map_while(Result::ok).map(|i| self.of(i.effective())).sum()
    }

    /// Mnemonics and weights.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u32)> + '_ {
        (0..=255u8).filter(|&op| op != WIDE).map(|op| (opcode(op).mnemonic, self.of(op)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quipu_classfile::opcode::{IADD, IDIV, ILOAD_0, NOP};

    #[test]
    fn weights_are_read() {
        let weights = Weights::parse("# measured\niadd 3\n\nidiv 40 # slow\n").unwrap();
        assert_eq!((weights.of(IADD), weights.of(IDIV), weights.of(NOP)), (3, 40, 1));
        let weights = Weights::parse("default 0\niload_0 7").unwrap();
        assert_eq!((weights.of(ILOAD_0), weights.of(NOP)), (7, 0));
    }

    #[test]
    fn a_wrong_line_is_named() {
        let error = |text| Weights::parse(text).unwrap_err().to_string();
        assert_eq!(error("iadd 1\niaddd 2"), "line 2: there is no opcode 'iaddd'");
        for text in ["iadd", "iadd x", "iadd -1", "iadd 1 2", "iadd 10001"] {
            assert!(error(text).starts_with("line 1: must be an opcode and a weight"), "{text}");
        }
    }
}
