//! How much may come out of an arena: in proportion to its size, whatever is in it.
//!
//! Contexts are shared by threads, and sets of labels by other sets. Of a chain of D contexts, N samples of N threads make
//! N·D nodes, so that a megabyte could ask for a hundred million. A real arena is larger than its profile has nodes.

/// What is left.
#[derive(Debug)]
pub struct Budget {
    left: u64,
    refused: u64,
}

impl Budget {
    /// For so many bytes.
    pub fn of(bytes: u64) -> Budget {
        Budget { left: bytes, refused: 0 }
    }

    /// Takes one; `false` if there is none left.
    pub fn take(&mut self) -> bool {
        let enough = self.left > 0;
        self.left -= u64::from(enough);
        enough
    }

    /// Something was left out because there was not enough.
    pub fn refuse(&mut self) {
        self.refused += 1;
    }

    /// How much was left out.
    pub fn refused(&self) -> u64 {
        self.refused
    }
}
