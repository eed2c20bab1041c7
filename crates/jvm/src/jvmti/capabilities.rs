//! What the environment may do.

use super::{Jvmti, jvmti};
use crate::Result;
use crate::sys::{Capability, jvmtiCapabilities};

/// A set of capabilities.
pub type Capabilities = jvmtiCapabilities;

impl jvmtiCapabilities {
    /// A set of these.
    pub fn of(capabilities: &[Capability]) -> Self {
        let mut set = Self::default();
        for capability in capabilities {
            set.insert(*capability);
        }
        set
    }

    /// Adds one.
    pub fn insert(&mut self, capability: Capability) {
        let bit = capability.bit();
        if let Some(word) = self.words.get_mut(bit as usize / 32) {
            *word |= 1 << (bit % 32);
        }
    }

    /// Whether one is in the set.
    pub fn contains(&self, capability: Capability) -> bool {
        let bit = capability.bit();
        self.words.get(bit as usize / 32).is_some_and(|word| word >> (bit % 32) & 1 == 1)
    }

    /// Those in both sets.
    pub fn and(&self, other: &Self) -> Self {
        let mut words = self.words;
        for (word, other) in words.iter_mut().zip(other.words) {
            *word &= other;
        }
        Self { words }
    }

    /// Those here and not in `other`.
    pub fn without(&self, other: &Self) -> Self {
        let mut words = self.words;
        for (word, other) in words.iter_mut().zip(other.words) {
            *word &= !other;
        }
        Self { words }
    }

    /// Whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.words == [0; 4]
    }

    /// The members we have names for.
    pub fn iter(&self) -> impl Iterator<Item = Capability> {
        let set = *self;
        Capability::ALL.iter().copied().filter(move |capability| set.contains(*capability))
    }
}

impl Jvmti {
    /// What could be added now. Some capabilities exist only in `Agent_OnLoad`, some for one environment at a time.
    pub fn potential_capabilities(self) -> Result<Capabilities> {
        let mut set = Capabilities::default();
        // SAFETY: the VM writes one set.
        unsafe { jvmti!(self, GetPotentialCapabilities, &mut set) }.map(|()| set)
    }

    /// What the environment has.
    pub fn capabilities(self) -> Result<Capabilities> {
        let mut set = Capabilities::default();
        // SAFETY: the VM writes one set.
        unsafe { jvmti!(self, GetCapabilities, &mut set) }.map(|()| set)
    }

    /// Adds all of these, or none and an error.
    pub fn add_capabilities(self, set: &Capabilities) -> Result<()> {
        // SAFETY: the VM reads one set.
        unsafe { jvmti!(self, AddCapabilities, set) }
    }

    /// Adds those of `wanted` that can be had, and returns those that cannot.
    pub fn add_available_capabilities(self, wanted: &Capabilities) -> Result<Capabilities> {
        let potential = self.potential_capabilities()?;
        self.add_capabilities(&wanted.and(&potential))?;
        Ok(wanted.without(&potential))
    }

    /// Gives these back.
    pub fn relinquish_capabilities(self, set: &Capabilities) -> Result<()> {
        // SAFETY: the VM reads one set.
        unsafe { jvmti!(self, RelinquishCapabilities, set) }
    }
}
