//! From the VM's thread to the `java.lang.Thread` that it runs, in memory, for signal handlers.

use std::ffi::CStr;

use quipu_unwind::Memory;

use super::Structs;
use super::stack::Oops;
use crate::{Env, Error};

/// Where the VM's threads have their object, and how references are written.
#[derive(Debug, Clone, Copy)]
pub struct ThreadObjects {
    /// In the VM's thread: the thread, or the virtual thread that it runs.
    current: Current,
    oops: Oops,
    memory: Memory,
}

/// How the VM's threads have their object.
#[derive(Debug, Clone, Copy)]
enum Current {
    /// A handle of it.
    Handle(usize),
    /// A reference to it: before JDK 16.
    Reference(usize),
}

/// Fields of every JDK's threads that are references. Some two of them are next to each other.
const REFERENCES: [(&CStr, &CStr); 4] = [
    (c"threadLocals", c"Ljava/lang/ThreadLocal$ThreadLocalMap;"),
    (c"inheritableThreadLocals", c"Ljava/lang/ThreadLocal$ThreadLocalMap;"),
    (c"contextClassLoader", c"Ljava/lang/ClassLoader;"),
    (c"name", c"Ljava/lang/String;"),
];

impl ThreadObjects {
    /// Learns where things are; `None` if this VM does not say.
    pub fn of(structs: &Structs, env: &Env<'_>, memory: Memory) -> Result<Option<ThreadObjects>, Error> {
        let class = env.find_class(c"java/lang/Thread")?;
        let mut places = Vec::new();
        for (name, descriptor) in REFERENCES {
            places.push(env.field(class, name, descriptor)?.offset());
        }
        places.sort_unstable();
        let distances = places.iter().zip(places.iter().skip(1)).map(|(a, b)| b - a);
        let narrow = distances.min() == Some(size_of::<u32>());
        // Threads that can run virtual ones say which; the others have one object.
        let current =
            [c"_vthread", c"_threadObj"].iter().find_map(|field| structs.offset(c"JavaThread", field));
        let (Some(current), Some(oops)) = (current, Oops::of(structs, memory, narrow)) else {
            return Ok(None);
        };
        let current = match structs.offset(c"OopHandle", c"_obj") {
            Some(handle) => Current::Handle(current + handle),
            None => Current::Reference(current),
        };
        Ok(Some(ThreadObjects { current, oops, memory }))
    }

    /// Where the object of the VM's thread is now. For signal handlers of that thread.
    pub fn current(&self, vm_thread: usize) -> Option<usize> {
        let at = match self.current {
            Current::Handle(field) => self.memory.word(vm_thread + field)?,
            Current::Reference(field) => vm_thread + field,
        };
        self.oops.handle(self.memory, at).map(|reference| reference.object)
    }

    /// The object that a global reference stands for.
    pub fn global(&self, reference: usize) -> Option<usize> {
        // The lowest bits tell kinds of references apart.
        self.oops.handle(self.memory, reference & !3).map(|reference| reference.object)
    }

    /// The object that a field refers to, or an element of an array that begins at `field`.
    pub fn reference(&self, object: usize, field: usize, element: usize) -> Option<usize> {
        let at = object + field + element * self.oops.width();
        self.oops.field(self.memory, at).map(|reference| reference.object)
    }

    /// A field of eight bytes.
    pub fn long(&self, object: usize, field: usize) -> Option<u64> {
        self.memory.word(object + field).map(|word| word as u64)
    }
}
