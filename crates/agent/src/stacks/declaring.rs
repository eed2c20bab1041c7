//! Which class a method id is of, where the names of methods cannot be read from the VM's own structures and JVMTI has to be
//! asked. Up to JDK 25 an id is an address, which JVMTI follows: it must not be asked about a method whose class is gone. So
//! ids are noted with their class, by a weak reference, when the class is prepared; whoever asks about one keeps the class
//! alive meanwhile, or learns that it is gone.

use std::collections::HashMap;

use quipu_jvm::jni::kind;
use quipu_jvm::{Class, Env, Jvmti, Weak};

/// Classes that are noted before those that are gone are looked for, for the first time.
const FIRST_LOOK: usize = 4096;

/// The classes of method ids.
#[derive(Default)]
pub struct Declaring {
    /// By number.
    classes: HashMap<u32, Weak<kind::Class>>,
    /// Number of the class of each id.
    of_ids: HashMap<u64, u32>,
    next: u32,
    /// How many classes there may be before those that are gone are looked for.
    enough: usize,
}

impl Declaring {
    /// A class is ready; its methods have ids from now on.
    pub fn note(&mut self, env: &Env<'_>, jvmti: Jvmti, class: Class<'_>) {
        let Ok(methods) = jvmti.class_methods(class) else { return };
        if methods.is_empty() {
            return;
        }
        let Ok(weak) = env.new_weak(class) else { return };
        self.next = self.next.wrapping_add(1);
        let number = self.next;
        self.classes.insert(number, weak);
        self.of_ids.extend(methods.iter().map(|id| (id.raw() as u64, number)));
        if self.classes.len() > self.enough.max(FIRST_LOOK) {
            self.forget_the_gone(env);
        }
    }

    /// The class of a method, alive in this scope; `None` if it is gone, or was never noted.
    pub fn of<'e>(&self, env: &Env<'e>, id: u64) -> Option<Class<'e>> {
        env.upgrade(self.classes.get(self.of_ids.get(&id)?)?)
    }

    /// Nothing is asked about any more.
    pub fn clear(&mut self, env: &Env<'_>) {
        self.of_ids = HashMap::new();
        std::mem::take(&mut self.classes).into_values().for_each(|weak| env.delete_weak(weak));
    }

    fn forget_the_gone(&mut self, env: &Env<'_>) {
        let gone: Vec<u32> =
            self.classes.iter().filter(|(_, weak)| env.is_gone(weak)).map(|(number, _)| *number).collect();
        for number in &gone {
            if let Some(weak) = self.classes.remove(number) {
                env.delete_weak(weak);
            }
        }
        // An id that was given to another class meanwhile has the number of that one.
        self.of_ids.retain(|_, number| self.classes.contains_key(number));
        self.enough = 2 * self.classes.len();
    }
}
