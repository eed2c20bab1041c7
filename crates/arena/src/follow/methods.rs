//! The methods that the log tells of, and which of them are followed.

use std::collections::HashMap;
use std::sync::atomic::Ordering::{Acquire, Relaxed};

use super::{Followed, Progress};
use crate::counting::Counting;
use crate::layout::{self, chunk};
use crate::record::{RECORD_HEADER, Record};
use crate::writer::ArenaWriter;

/// All methods that are known.
pub(super) struct Methods {
    /// Whether a method of this name is left out.
    left_out: fn(&[u8]) -> bool,
    logs: Vec<Progress>,
    classes: HashMap<u32, Vec<u8>>,
    /// By id.
    methods: Vec<Option<Method>>,
    by_class: HashMap<Vec<u8>, Vec<u32>>,
    numbers: HashMap<Followed, u32>,
    /// By class, with their numbers.
    followed: HashMap<Vec<u8>, Vec<(Followed, u32)>>,
}

/// A method.
pub(super) struct Method {
    name: Vec<u8>,
    descriptor: Vec<u8>,
    pub(super) counting: Counting,
    /// Whether what it does, and what is done below it, is left out.
    pub(super) left_out: bool,
    /// Number of the followed method that begins here.
    pub(super) begins: Option<u32>,
}

impl Methods {
    pub(super) fn new(left_out: fn(&[u8]) -> bool) -> Methods {
        Methods {
            left_out,
            logs: Vec::new(),
            classes: HashMap::new(),
            methods: Vec::new(),
            by_class: HashMap::new(),
            numbers: HashMap::new(),
            followed: HashMap::new(),
        }
    }

    /// Follows a method from now on; returns its number.
    pub(super) fn follow(&mut self, wanted: Followed) -> u32 {
        if let Some(&number) = self.numbers.get(&wanted) {
            return number;
        }
        let number = self.numbers.len() as u32;
        for id in self.by_class.get(&wanted.class).into_iter().flatten() {
            if let Some(Some(method)) = self.methods.get_mut(*id as usize)
                && wanted.is(&method.name, &method.descriptor)
            {
                method.begins = Some(number);
            }
        }
        self.followed.entry(wanted.class.clone()).or_default().push((wanted.clone(), number));
        self.numbers.insert(wanted, number);
        number
    }

    /// The method with this id.
    pub(super) fn get(&self, id: u32) -> Option<&Method> {
        self.methods.get(id as usize)?.as_ref()
    }

    /// `class.name` of a method.
    pub(super) fn name(&self, id: u32) -> Option<Vec<u8>> {
        let (class, _) = self.by_class.iter().find(|(_, ids)| ids.contains(&id))?;
        Some([class, b".".as_slice(), &self.get(id)?.name].concat())
    }

    pub(super) fn add_log(&mut self, log: Progress) {
        self.logs.push(log);
    }

    /// Reads what is new in the logs.
    pub(super) fn read(&mut self, arena: &ArenaWriter) {
        for log in 0..self.logs.len() {
            let Some(&Progress { at, mut read, .. }) = self.logs.get(log) else { return };
            let used = arena.long(at + chunk::USED).load(Acquire);
            while read + RECORD_HEADER <= used {
                let (tag, len) =
                    (arena.word(at + read).load(Relaxed), arena.word(at + read + 4).load(Relaxed));
                let payload = arena.copy(at + read + RECORD_HEADER, len.into());
                if let Some(record) = Record::decode(tag, &payload) {
                    self.learn(&record);
                }
                read += (RECORD_HEADER + u64::from(len)).next_multiple_of(8);
            }
            if let Some(log) = self.logs.get_mut(log) {
                log.read = read;
            }
        }
    }

    fn learn(&mut self, record: &Record<'_>) {
        let (class, name, descriptor) = match *record {
            Record::Class { id, name, .. } => {
                self.classes.insert(id, name.to_vec());
                return;
            }
            Record::Method { class, name, descriptor, .. } => (class, name, descriptor),
            _ => return,
        };
        let Some((id, counting)) = Counting::of(record).filter(|(id, _)| *id < layout::MAX_METHODS) else {
            return;
        };
        let Some(class) = self.classes.get(&class) else { return };
        let mut followed = self.followed.get(class).into_iter().flatten();
        let method = Method {
            name: name.to_vec(),
            descriptor: descriptor.to_vec(),
            counting,
            left_out: (self.left_out)(name),
            begins: followed.find(|(wanted, _)| wanted.is(name, descriptor)).map(|(_, number)| *number),
        };
        self.by_class.entry(class.clone()).or_default().push(id);
        if self.methods.len() <= id as usize {
            self.methods.resize_with(id as usize + 1, || None);
        }
        if let Some(entry) = self.methods.get_mut(id as usize) {
            *entry = Some(method);
        }
    }
}
