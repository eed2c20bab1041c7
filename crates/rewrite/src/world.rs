//! What is known about classes, without loading any: which methods are opaque, and which classes inherit them.
//!
//! Classes are known from their bytes: those that [`World::learn`] was shown, and, because a caller is often rewritten
//! before its callee is met, those that a function finds by name: the JDK's.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use quipu_classfile::{ClassFile, access};

use crate::{Call, is_opaque};

/// Super classes are followed at most so far: class files are hostile, and may name each other in a circle.
const DEEPEST_HIERARCHY: usize = 1000;

/// Finds the bytes of a class by its internal name.
pub type FindClass = Box<dyn Fn(&[u8]) -> Option<Vec<u8>> + Send + Sync>;

/// By internal name; `None` for those that were looked for in vain.
type Classes = HashMap<Box<[u8]>, Option<Arc<Class>>>;
/// Name and descriptor.
type MethodKey = (Box<[u8]>, Box<[u8]>);

/// What is known of classes.
pub struct World {
    find: FindClass,
    classes: Mutex<Classes>,
}

struct Class {
    super_name: Option<Box<[u8]>>,
    is_final: bool,
    methods: HashMap<MethodKey, Traits>,
}

#[derive(Clone, Copy)]
struct Traits {
    opaque: bool,
    bound: bool,
}

/// The opaque method a call leads to, or may lead to.
pub struct OpaqueMethod {
    /// Internal name of the class that declares it.
    pub class: Box<[u8]>,
    /// Whether nothing can override it.
    pub certain: bool,
}

/// What a call leads to.
pub enum Callee {
    /// An opaque method, or what overrides it.
    Opaque(OpaqueMethod),
    /// Something else.
    Other,
    /// That depends on a class of which nothing is known.
    Unknown(Box<[u8]>),
}

impl World {
    /// A world that knows what `find` finds.
    pub fn new(find: FindClass) -> World {
        World { find, classes: Mutex::default() }
    }

    /// Remembers a class.
    pub fn learn(&self, class: &ClassFile<'_>) {
        let known = Arc::new(Class::new(class));
        lock(&self.classes).insert(class.name().into(), Some(known));
    }

    /// The opaque method that a call names. A virtual call of a method that can be overridden is not certain to run it.
    pub fn opaque(&self, call: &Call<'_>) -> Option<OpaqueMethod> {
        match self.callee(call) {
            Callee::Opaque(method) => Some(method),
            Callee::Other | Callee::Unknown(_) => None,
        }
    }

    /// What a call leads to, for all that is known.
    pub fn callee(&self, call: &Call<'_>) -> Callee {
        // These run their target, which has a context of its own.
        if call.owner == b"java/lang/invoke/MethodHandle" {
            return Callee::Other;
        }
        let is_array = call.owner.first() == Some(&b'[');
        // Methods of arrays are Object's.
        let mut name: Box<[u8]> = if is_array { b"java/lang/Object"[..].into() } else { call.owner.into() };
        let key = (Box::from(call.name), Box::from(call.descriptor));
        let mut owner_final = is_array;
        for level in 0..DEEPEST_HIERARCHY {
            let Some(class) = self.class(&name) else { return Callee::Unknown(name) };
            if level == 0 {
                owner_final |= class.is_final;
            }
            if let Some(method) = class.methods.get(&key) {
                let certain = !call.is_virtual || method.bound || owner_final;
                let opaque = OpaqueMethod { class: name, certain };
                return if method.opaque { Callee::Opaque(opaque) } else { Callee::Other };
            }
            let Some(super_name) = class.super_name.clone() else { break };
            name = super_name;
        }
        Callee::Other
    }

    /// Whether a method of a class overrides an opaque one, or may, for all that is known of the classes above.
    pub fn overrides_opaque(&self, class: &ClassFile<'_>, name: &[u8], descriptor: &[u8]) -> bool {
        let key = (Box::from(name), Box::from(descriptor));
        let mut above: Option<Box<[u8]>> = class.super_name().map(Into::into);
        for _ in 0..DEEPEST_HIERARCHY {
            let Some(super_name) = above else { return false };
            let Some(class) = self.class(&super_name) else { return true };
            if class.methods.get(&key).is_some_and(|method| method.opaque) {
                return true;
            }
            above = class.super_name.clone();
        }
        true
    }

    fn class(&self, name: &[u8]) -> Option<Arc<Class>> {
        if let Some(known) = lock(&self.classes).get(name) {
            return known.clone();
        }
        let bytes = (self.find)(name);
        let known =
            bytes.and_then(|bytes| ClassFile::parse(&bytes).ok().map(|class| Arc::new(Class::new(&class))));
        // What is not found stays unknown until `learn` is told.
        lock(&self.classes).entry(name.into()).or_insert(known).clone()
    }
}

impl Class {
    fn new(class: &ClassFile<'_>) -> Class {
        let methods = class
            .methods()
            .map(|method| {
                let bound = method.access_flags() & (access::STATIC | access::PRIVATE | access::FINAL) != 0;
                let traits = Traits { opaque: is_opaque(&method), bound };
                ((method.name().into(), method.descriptor().into()), traits)
            })
            .collect();
        Class {
            super_name: class.super_name().map(Into::into),
            is_final: class.access_flags() & access::FINAL != 0,
            methods,
        }
    }
}

/// Nothing is ever half-way in the map: a panic elsewhere does not matter to it.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
