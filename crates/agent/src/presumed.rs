//! Methods that may turn out to be opaque: the class of a caller was rewritten before their own class was known.
//!
//! Their calls are counted as those of an opaque method would be: if no method counted itself in the call. What was counted is told to
//! the reader once the class is loaded and the method is opaque indeed; otherwise it was something that has no context,
//! and is not mentioned.

use std::collections::HashMap;
use std::sync::Mutex;

use quipu_rewrite::{Call, Callee};

use crate::locks::lock;
use crate::registry::Registry;
use crate::session::Session;

/// The methods presumed so far.
#[derive(Default)]
pub struct Presumptions(Mutex<State>);

#[derive(Default)]
struct State {
    /// By owner, name and descriptor, as callers name them.
    ids: HashMap<[Box<[u8]>; 3], u32>,
    /// By the class that will tell.
    awaited: HashMap<Box<[u8]>, Vec<Presumed>>,
}

struct Presumed {
    id: u32,
    owner: Box<[u8]>,
    name: Box<[u8]>,
    descriptor: Box<[u8]>,
}

impl Presumptions {
    /// Id of a callee of whom it will be known when `awaited` is; `None` if there are no more ids.
    pub fn presume(&self, registry: &Registry, call: &Call<'_>, awaited: Box<[u8]>) -> Option<u32> {
        let mut state = lock(&self.0);
        let key = [call.owner, call.name, call.descriptor].map(Box::from);
        if let Some(&id) = state.ids.get(&key) {
            return Some(id);
        }
        let id = registry.reserve_anew(1)?;
        let [owner, name, descriptor] = key.clone();
        state.ids.insert(key, id);
        state.awaited.entry(awaited).or_default().push(Presumed { id, owner, name, descriptor });
        Some(id)
    }

    /// A class is known now: tells the reader which presumptions were right.
    pub fn learned(&self, session: &Session, class: &[u8]) {
        let waiting = lock(&self.0).awaited.remove(class).unwrap_or_default();
        for presumed in waiting {
            let Presumed { id, owner, name, descriptor } = &presumed;
            // Whether the call was virtual does not matter to what it names.
            let call = Call { owner, name, descriptor, is_virtual: false, is_interface: false };
            match session.world.callee(&call) {
                // A full arena has no room for the name: the calls are then not mentioned.
                Callee::Opaque(method) => {
                    let _ = session.registry.confirm(&session.arena, *id, &method.class, name, descriptor);
                }
                Callee::Other => {}
                Callee::Unknown(awaited) => {
                    lock(&self.0).awaited.entry(awaited).or_default().push(presumed);
                }
            }
        }
    }
}
