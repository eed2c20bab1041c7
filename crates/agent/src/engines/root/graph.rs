//! Which methods a root reaches: the mirrors of classes, and the two schemes of Dmitriev's JFluid ([0108] to [0115] there).
//!
//! A method is *wanted* once something wanted may call it. The class that declares it is then rewritten; when that is done,
//! what the method calls is known. Those callees are wanted as well: at once (scheme A, eager), or when the method first
//! runs (scheme B, lazy). A virtual call reaches what its class inherits and what the subclasses declare, those that are loaded
//! later too: what is called is noted where the call names it, and looked at when a class is loaded.
//!
//! Classes are told apart by name only: two loaders' classes of one name are one mirror, which reaches more, never less. Names
//! have numbers, and a method is its name with its descriptor behind it.

use std::collections::HashMap;

use quipu_classfile::{ClassFile, Method, access, mutf8};
use quipu_rewrite::{Call, Selection, Timing, Treatment, callees, untouchable};

use super::patterns::{Named, Pattern};

/// So many classes later it is looked for those that were unloaded.
const SWEEP: usize = 1024;
/// So many classes are searched for names that come near one that is none.
const MOST_LOOKED_AT: usize = 50;
/// Reasons that are told of a root that is not instrumented.
const MOST_REASONS: usize = 5;

/// Superclasses are followed at most so far: class files are hostile, and may name each other in a circle.
const DEEPEST_HIERARCHY: usize = 1000;

/// What initialises a class.
pub const INITIALISER: &[u8] = b"<clinit>()V";

const OBJECT: &[u8] = b"java/lang/Object";
const TO_STRING: &[u8] = b"toString()Ljava/lang/String;";
const HASH_CODE: &[u8] = b"hashCode()I";

/// The number of a name: of a class, or of a method with its descriptor.
type Number = u32;
/// Asks the VM which methods a class declares, names and descriptors joined, its initialiser only as long as that has not
/// run; `None` if it does not know yet.
pub type Declares<'d, H> = dyn FnMut(&[H]) -> Option<Vec<Vec<u8>>> + 'd;

/// What is known of the classes of the program, and what the VM calls each (`H`).
pub struct Graph<H> {
    roots: Vec<Root>,
    eager: bool,
    selection: Selection,
    numbers: HashMap<Box<[u8]>, Number>,
    names: Vec<Box<[u8]>>,
    /// By the number of the class.
    mirrors: Vec<Mirror<H>>,
    /// Class and method that are instrumented, by id.
    methods: HashMap<u32, (Number, Number)>,
    /// A bit for each id of a method that has run. They are remembered from one profile to the next, as their contexts are.
    invoked: Vec<u64>,
    /// Classes with methods that are wanted and not instrumented yet.
    pending: Vec<Number>,
    /// Numbers of classes that are gone, for others.
    free: Vec<Number>,
    /// Classes that the VM has named since it was last looked for those that are gone.
    unswept: usize,
}

/// Methods that people chose.
struct Root {
    named: Named,
    /// What was found of them.
    found: Vec<Found>,
    /// Why some of them cannot be instrumented.
    refused: Vec<String>,
}

/// A method that a root names.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Found {
    class: Number,
    name: Number,
    /// What implements it is meant.
    is_abstract: bool,
}

/// A class, once anything is known of it.
struct Mirror<H> {
    handles: Vec<H>,
    /// The superclass, and the interfaces.
    supers: Vec<Number>,
    /// Classes and interfaces directly below.
    subs: Vec<Number>,
    is_loaded: bool,
    is_interface: bool,
    is_pending: bool,
    /// Whether calls that are known name it.
    is_named: bool,
    /// What it declares; `None` if nobody has asked yet.
    methods: Option<Vec<Mark>>,
    /// What calls name here, of methods that the receiver's class may override, and of others.
    called: Vec<Number>,
    named: Vec<Number>,
    /// Roots without code, of which the classes below have some.
    roots: Vec<Number>,
}

/// A method.
struct Mark {
    name: Number,
    wanted: Option<Timing>,
    is_instrumented: bool,
    /// Whether it could not be instrumented.
    has_failed: bool,
    callees: Vec<Callee>,
}

/// A call that is to be followed.
#[derive(Clone, Copy)]
struct Callee {
    owner: Number,
    name: Number,
    is_virtual: bool,
}

impl<H> Default for Mirror<H> {
    fn default() -> Mirror<H> {
        Mirror {
            handles: Vec::new(),
            supers: Vec::new(),
            subs: Vec::new(),
            is_loaded: false,
            is_interface: false,
            is_pending: false,
            is_named: false,
            methods: None,
            called: Vec::new(),
            named: Vec::new(),
            roots: Vec::new(),
        }
    }
}

impl<H> Graph<H> {
    /// A graph with these roots. Of the one before it only is kept what has run.
    pub fn new(roots: Vec<Named>, eager: bool, selection: Selection, before: Option<Graph<H>>) -> Graph<H> {
        Graph {
            roots: roots.into_iter().map(Root::new).collect(),
            eager,
            selection,
            numbers: HashMap::new(),
            names: Vec::new(),
            mirrors: Vec::new(),
            methods: HashMap::new(),
            invoked: before.map(|graph| graph.invoked).unwrap_or_default(),
            pending: Vec::new(),
            free: Vec::new(),
            unswept: 0,
        }
    }

    /// Adds roots to those that there are.
    pub fn add_roots(&mut self, roots: Vec<Named>) {
        self.roots.extend(roots.into_iter().map(Root::new));
    }

    /// Goes on without a root. What only this one reaches is wanted no more; its classes become pending.
    pub fn remove_root(&mut self, text: &str, declares: &mut Declares<'_, H>) {
        self.roots.retain(|root| root.named.text != text);
        let before: Vec<Vec<Option<Timing>>> = self.mirrors.iter_mut().map(Mirror::want_nothing).collect();
        let found: Vec<Found> = self.roots.iter().flat_map(|root| root.found.clone()).collect();
        found.into_iter().for_each(|found| self.want_root(found, declares));
        self.follow_all(declares);
        // Only what has changed is to be rewritten.
        for class in std::mem::take(&mut self.pending) {
            if let Some(mirror) = self.mirrors.get_mut(class as usize) {
                mirror.is_pending = false;
            }
        }
        for class in 0..self.mirrors.len() as Number {
            let before = before.get(class as usize).map_or(&[][..], |before| before);
            if self.mirrors.get_mut(class as usize).is_some_and(|mirror| mirror.is_other_than(before)) {
                self.put_off(class);
            }
        }
        let mirrors = &self.mirrors;
        self.methods.retain(|_, &mut (class, name)| {
            let methods = mirrors.get(class as usize).and_then(|mirror| mirror.methods.as_deref());
            methods
                .is_some_and(|methods| methods.iter().any(|mark| mark.name == name && mark.is_instrumented))
        });
    }

    /// Follows the calls of everything wanted whose calls are known, and of what becomes wanted by that.
    fn follow_all(&mut self, declares: &mut Declares<'_, H>) {
        let mut rest: Vec<u32> = self.methods.keys().copied().collect();
        loop {
            let is_due = |id: &u32| {
                let at = self.methods.get(id).copied().unwrap_or_default();
                (self.eager || self.has_run(*id)) && self.is_wanted(at)
            };
            let (due, later): (Vec<u32>, Vec<u32>) = rest.iter().partition(|id| is_due(id));
            if due.is_empty() {
                return;
            }
            rest = later;
            due.into_iter().for_each(|id| self.follow(id, declares));
        }
    }

    fn is_wanted(&self, (class, name): (Number, Number)) -> bool {
        let methods = self.mirror(class).and_then(|mirror| mirror.methods.as_deref()).unwrap_or_default();
        methods.iter().any(|mark| mark.name == name && mark.wanted.is_some())
    }

    /// What the VM calls the classes of this name, to be added to.
    pub fn handles(&mut self, name: &[u8]) -> Option<&mut Vec<H>> {
        let class = self.number(name);
        self.mirrors.get_mut(class as usize).map(|mirror| &mut mirror.handles)
    }

    /// What the VM calls all classes, which are forgotten.
    pub fn take_handles(&mut self) -> Vec<H> {
        let mut taken = Vec::new();
        self.mirrors.iter_mut().for_each(|mirror| taken.append(&mut mirror.handles));
        taken
    }

    /// A class is loaded, below these.
    pub fn loaded(&mut self, name: &[u8], is_interface: bool, supers: &[&[u8]]) {
        let class = self.number(name);
        for above in supers {
            let above = self.number(above);
            let is_new =
                self.mirrors.get_mut(class as usize).is_some_and(|mirror| add(&mut mirror.supers, above));
            if let Some(mirror) = self.mirrors.get_mut(above as usize).filter(|_| is_new) {
                mirror.subs.push(class);
            }
        }
        if let Some(mirror) = self.mirrors.get_mut(class as usize) {
            mirror.is_loaded = true;
            mirror.is_interface = is_interface;
        }
    }

    /// The bytes of a class: it is about to be loaded, or to be rewritten.
    pub fn learn(&mut self, file: &ClassFile<'_>, declares: &mut Declares<'_, H>) {
        let class = self.number(file.name());
        let is_new = self.mirror(class).is_some_and(|mirror| !mirror.is_loaded);
        if is_new {
            let supers: Vec<&[u8]> = file.super_name().into_iter().chain(file.interfaces()).collect();
            self.loaded(file.name(), file.access_flags() & access::INTERFACE != 0, &supers);
        }
        for method in file.methods() {
            let name = self.number_of(&method);
            let mirror = self.mirrors.get_mut(class as usize);
            let methods = mirror.map(|mirror| mirror.methods.get_or_insert_default());
            if let Some(methods) = methods.filter(|methods| methods.iter().all(|mark| mark.name != name)) {
                methods.push(Mark::new(name));
            }
            let fits =
                |root: &Root| root.named.pattern.class(file.name()) && root.named.pattern.method(&method);
            if !self.roots.iter().any(fits) {
                continue;
            }
            let is_abstract = method.is(access::ABSTRACT);
            let found = Found { class, name, is_abstract };
            let refused = if is_abstract { None } else { refused(&method) };
            for root in self.roots.iter_mut().filter(|root| fits(root)) {
                match &refused {
                    Some(why) => root.refuse(why),
                    None => {
                        add(&mut root.found, found);
                    }
                }
            }
            if refused.is_none() {
                self.want_root(found, declares);
            }
        }
        if is_new {
            self.follow_calls_to(class, declares);
        }
    }

    /// Classes that are loaded and may declare a root are to be looked at. The VM is asked (`may_have`) about those whose names
    /// fit.
    pub fn look_for_roots(&mut self, may_have: &mut dyn FnMut(&[H], &Pattern) -> bool) {
        for class in 0..self.mirrors.len() as Number {
            let name = self.names.get(class as usize).map_or(&b""[..], |name| name);
            let Some(mirror) = self.mirror(class).filter(|mirror| mirror.is_loaded) else { continue };
            let mut patterns = self.roots.iter().map(|root| &root.named.pattern);
            if patterns.any(|pattern| pattern.class(name) && may_have(&mirror.handles, pattern)) {
                self.put_off(class);
            }
        }
    }

    /// A class is to be looked at.
    pub fn look_at(&mut self, name: &[u8]) {
        let class = self.number(name);
        self.put_off(class);
    }

    /// A class and all that are loaded below it are to be looked at.
    pub fn look_below(&mut self, name: &[u8]) {
        let class = self.number(name);
        self.put_off(class);
        for below in self.below(class) {
            self.put_off(below);
        }
    }

    /// All classes with code of ours are to be looked at.
    pub fn look_at_instrumented(&mut self) {
        for class in 0..self.mirrors.len() as Number {
            let methods = self.mirror(class).and_then(|mirror| mirror.methods.as_ref());
            if methods.is_some_and(|methods| methods.iter().any(|mark| mark.is_instrumented)) {
                self.put_off(class);
            }
        }
    }

    /// Whether code may have to be inserted into a class.
    pub fn concerns(&self, name: &[u8]) -> bool {
        self.marks(name).iter().any(|mark| mark.wanted.is_some())
    }

    /// Whether a class has methods that are wanted and not instrumented: it becomes pending then.
    pub fn lacks(&mut self, name: &[u8]) -> bool {
        let lacks = |mark: &Mark| mark.wanted.is_some() && !mark.is_instrumented && !mark.has_failed;
        let found = self.marks(name).iter().any(lacks);
        if found {
            let class = self.number(name);
            self.put_off(class);
        }
        found
    }

    /// What is inserted into a method, which is known to have been done from now on. Classes may have become pending.
    pub fn instrument(
        &mut self,
        method: &Method<'_, '_>,
        id: u32,
        declares: &mut Declares<'_, H>,
    ) -> Option<Timing> {
        let (class, name) = (self.number(method.class().name()), self.number_of(method));
        let mark = self.mark(class, name)?;
        let timing = mark.wanted?;
        mark.has_failed = false;
        if !mark.is_instrumented {
            let code = method.code().ok().flatten();
            let calls = code.map(|code| callees(method.class(), &code)).unwrap_or_default();
            let calls = calls.iter().map(|call| self.callee(call)).collect();
            let mark = self.mark(class, name)?;
            (mark.callees, mark.is_instrumented) = (calls, true);
        }
        self.methods.insert(id, (class, name));
        if self.eager || self.has_run(id) {
            self.follow(id, declares);
        }
        Some(timing)
    }

    /// A method could not be instrumented after all, or all of a class if none is named.
    pub fn failed(&mut self, class: &[u8], method: Option<&[u8]>, why: &str) {
        let (class, name) = (self.number(class), method.map(|name| self.number(name)));
        let Some(mirror) = self.mirrors.get_mut(class as usize) else { return };
        let mut is_root = false;
        for mark in mirror.methods.iter_mut().flatten() {
            if mark.wanted.is_some() && name.is_none_or(|name| mark.name == name) {
                mark.has_failed = true;
                is_root |= mark.wanted == Some(Timing::Root);
            }
        }
        for root in self.roots.iter_mut().filter(|_| is_root) {
            if root
                .found
                .iter()
                .any(|found| found.class == class && name.is_none_or(|name| found.name == name))
            {
                root.refuse(why);
            }
        }
    }

    /// A method runs below a root, in a context that is new. Classes may have become pending.
    pub fn reached(&mut self, id: u32, declares: &mut Declares<'_, H>) {
        if self.has_run(id) {
            return;
        }
        let at = id as usize / 64;
        if self.invoked.len() <= at {
            self.invoked.resize(at + 1, 0);
        }
        if let Some(bits) = self.invoked.get_mut(at) {
            *bits |= 1 << (id % 64);
        }
        self.follow(id, declares);
    }

    /// A method is called by reflection, below a root. Classes may have become pending.
    pub fn reflected(&mut self, class: &[u8], method: &[u8], declares: &mut Declares<'_, H>) {
        let callee = Callee { owner: self.number(class), name: self.number(method), is_virtual: true };
        self.call(callee, declares);
    }

    /// The classes that are to be rewritten now.
    pub fn take_pending(&mut self) -> Vec<&H> {
        let pending = std::mem::take(&mut self.pending);
        for &class in &pending {
            if let Some(mirror) = self.mirrors.get_mut(class as usize) {
                mirror.is_pending = false;
            }
        }
        let mirrors = &self.mirrors;
        pending
            .iter()
            .filter_map(|&class| mirrors.get(class as usize))
            .flat_map(|mirror| &mirror.handles)
            .collect()
    }

    /// Whether there are any.
    pub fn is_pending(&self) -> bool {
        !self.pending.is_empty()
    }

    /// How many methods are instrumented.
    pub fn instrumented(&self) -> usize {
        let marks = self.mirrors.iter().filter_map(|mirror| mirror.methods.as_ref()).flatten();
        marks.filter(|mark| mark.wanted.is_some() && mark.is_at_work()).count()
    }

    /// Roots of which nothing is instrumented, and why, as far as that is known.
    pub fn unmet(&self) -> impl Iterator<Item = (&Named, Vec<String>)> {
        let unmet = self.roots.iter().filter(|root| !root.found.iter().any(|found| self.is_met(*found)));
        unmet.map(|root| {
            let mut why = root.refused.clone();
            if root.found.iter().any(|found| found.is_abstract) {
                why.push("abstract, and nothing that implements it was loaded".to_owned());
            }
            (&root.named, why)
        })
    }

    fn is_met(&self, Found { class, name, is_abstract }: Found) -> bool {
        let is_root = |class: Number| {
            let methods = self.mirror(class).and_then(|mirror| mirror.methods.as_deref()).unwrap_or_default();
            methods
                .iter()
                .any(|mark| mark.name == name && mark.wanted == Some(Timing::Root) && mark.is_at_work())
        };
        if !is_abstract {
            return is_root(class);
        }
        self.below(class)
            .into_iter()
            .any(|below| is_root(below) || self.above(below).into_iter().any(is_root))
    }

    /// Methods of classes that are loaded and may have a root, for what their names tell: `Orders.place`.
    pub fn methods_near(&self, pattern: &Pattern, declares: &mut Declares<'_, H>) -> Vec<Vec<u8>> {
        let named = self.names.iter().map(|name| &**name).zip(&self.mirrors);
        let fitting =
            named.filter(|(name, mirror)| mirror.is_loaded && pattern.class(name)).take(MOST_LOOKED_AT);
        let mut found: Vec<Vec<u8>> = Vec::new();
        for (class, mirror) in fitting {
            for method in declares(&mirror.handles).unwrap_or_default() {
                let name = method.split(|&byte| byte == b'(').next().unwrap_or_default();
                found.push([class, b".", name].concat());
            }
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Names of all classes that are loaded.
    pub fn class_names(&self) -> impl Iterator<Item = &[u8]> {
        let all = self.names.iter().zip(&self.mirrors);
        all.filter(|(_, mirror)| mirror.is_loaded).map(|(name, _)| &**name)
    }

    fn follow(&mut self, id: u32, declares: &mut Declares<'_, H>) {
        let Some(&(class, name)) = self.methods.get(&id) else { return };
        for callee in self.mark(class, name).map(|mark| mark.callees.clone()).unwrap_or_default() {
            self.call(callee, declares);
        }
    }

    fn callee(&mut self, call: &Call<'_>) -> Callee {
        // Methods of arrays are Object's.
        let owner = if call.owner.first() == Some(&b'[') { OBJECT } else { call.owner };
        let name = [call.name, call.descriptor].concat();
        let owner = self.number(owner);
        if let Some(mirror) = self.mirrors.get_mut(owner as usize) {
            mirror.is_named = true;
        }
        Callee { owner, name: self.number(&name), is_virtual: call.is_virtual }
    }

    /// Something wanted calls this.
    fn call(&mut self, Callee { owner, name, is_virtual }: Callee, declares: &mut Declares<'_, H>) {
        let Some(mirror) = self.mirrors.get_mut(owner as usize) else { return };
        let noted = if is_virtual { &mut mirror.called } else { &mut mirror.named };
        let (is_loaded, is_interface) = (mirror.is_loaded, mirror.is_interface);
        if !add(noted, name) || !is_loaded {
            return;
        }
        self.want_inherited(owner, name, Timing::Below, declares);
        if is_virtual {
            self.want_below(owner, name, (is_interface, Timing::Below), declares);
        }
    }

    /// A root is wanted, or what implements it.
    fn want_root(&mut self, Found { class, name, is_abstract }: Found, declares: &mut Declares<'_, H>) {
        if !is_abstract {
            return self.want(class, name, Timing::Root);
        }
        if let Some(mirror) = self.mirrors.get_mut(class as usize) {
            add(&mut mirror.roots, name);
            let is_interface = mirror.is_interface;
            self.want_below(class, name, (is_interface, Timing::Root), declares);
        }
    }

    /// Wants what all classes below one have for a method.
    fn want_below(
        &mut self,
        class: Number,
        name: Number,
        why: (bool, Timing),
        declares: &mut Declares<'_, H>,
    ) {
        for sub in self.below(class) {
            self.want_of_sub(sub, name, why, declares);
        }
    }

    /// A class is new: what is called of it, and of those above it.
    fn follow_calls_to(&mut self, class: Number, declares: &mut Declares<'_, H>) {
        // A class is there before those above it are.
        for below in [vec![class], self.below(class)].concat() {
            let own = self.mirror(below).map(|mirror| [&mirror.named[..], &mirror.called].concat());
            for name in own.unwrap_or_default() {
                self.want_inherited(below, name, Timing::Below, declares);
            }
        }
        for above in self.above(class) {
            let Some(mirror) = self.mirror(above) else { continue };
            let (is_interface, called, roots) =
                (mirror.is_interface, mirror.called.clone(), mirror.roots.clone());
            for (names, timing) in [(called, Timing::Below), (roots, Timing::Root)] {
                for name in names {
                    self.want_of_sub(class, name, (is_interface, timing), declares);
                }
            }
        }
    }

    /// Wants what a class has for a method of a class, or an interface, above it.
    fn want_of_sub(
        &mut self,
        class: Number,
        name: Number,
        (of_interface, timing): (bool, Timing),
        declares: &mut Declares<'_, H>,
    ) {
        if self.declares(class, name, declares) {
            self.want(class, name, timing);
        } else if of_interface {
            // What implements an interface may be inherited from a class that does not.
            self.want_inherited(class, name, timing, declares);
        }
    }

    /// Wants what a class has of this name, declared by it or by the nearest class above.
    fn want_inherited(
        &mut self,
        class: Number,
        name: Number,
        timing: Timing,
        declares: &mut Declares<'_, H>,
    ) {
        if self.is_named(name, INITIALISER) {
            return self.want_initialisers(class, name, declares);
        }
        for at in [vec![class], self.above(class)].concat() {
            if !self.declares(at, name, declares) {
                continue;
            }
            self.want(at, name, timing);
            if self.is_named(at, OBJECT) && self.is_named(name, TO_STRING) {
                // Nothing can be found in it, and it asks the object for its hash code.
                let name = self.number(HASH_CODE);
                self.call(Callee { owner: class, name, is_virtual: true }, declares);
            }
            // An interface's method may stand beside that of a class.
            if at == class || self.mirror(at).is_some_and(|mirror| !mirror.is_interface) {
                return;
            }
        }
    }

    fn is_named(&self, number: Number, name: &[u8]) -> bool {
        self.names.get(number as usize).is_some_and(|known| **known == *name)
    }

    /// Wants what initialises a class, and those above it, where that has not been done: it never runs again.
    fn want_initialisers(&mut self, class: Number, name: Number, declares: &mut Declares<'_, H>) {
        for class in [vec![class], self.above(class)].concat() {
            if !self.declares(class, name, declares) {
                continue;
            }
            let now = self.mirror(class).and_then(|mirror| declares(&mirror.handles));
            // The VM does not know yet what a class declares that is being loaded.
            if now.is_none_or(|now| now.iter().any(|method| **method == *INITIALISER)) {
                self.want(class, name, Timing::Below);
            }
        }
    }

    fn want(&mut self, class: Number, name: Number, timing: Timing) {
        let text = |number: Number| self.names.get(number as usize).map_or(&b""[..], |name| name);
        let method = text(name).split(|&byte| byte == b'(').next().unwrap_or_default();
        let is_selected = self.selection.class(text(class)) && self.selection.method(text(class), method);
        if untouchable(text(class)).is_some() || timing != Timing::Root && !is_selected {
            return;
        }
        let Some(mark) = self.mark(class, name) else { return };
        if mark.wanted != Some(Timing::Root) && mark.wanted != Some(timing) {
            mark.wanted = Some(timing);
            self.put_off(class);
        }
    }

    /// A class becomes pending.
    fn put_off(&mut self, class: Number) {
        if let Some(mirror) = self.mirrors.get_mut(class as usize)
            && !mirror.is_pending
        {
            mirror.is_pending = true;
            self.pending.push(class);
        }
    }

    fn declares(&mut self, class: Number, name: Number, declares: &mut Declares<'_, H>) -> bool {
        let asked = match self.mirror(class) {
            Some(mirror) if mirror.methods.is_none() && mirror.is_loaded => declares(&mirror.handles),
            _ => None,
        };
        if let Some(asked) = asked {
            let marks = asked.iter().map(|name| Mark::new(self.number(name))).collect();
            if let Some(mirror) = self.mirrors.get_mut(class as usize) {
                mirror.methods = Some(marks);
            }
        }
        self.mark(class, name).is_some()
    }

    fn has_run(&self, id: u32) -> bool {
        self.invoked.get(id as usize / 64).is_some_and(|bits| bits >> (id % 64) & 1 != 0)
    }

    fn marks(&self, name: &[u8]) -> &[Mark] {
        let mirror = self.numbers.get(name).and_then(|&class| self.mirror(class));
        mirror.and_then(|mirror| mirror.methods.as_deref()).unwrap_or_default()
    }

    fn mark(&mut self, class: Number, name: Number) -> Option<&mut Mark> {
        let methods = self.mirrors.get_mut(class as usize)?.methods.as_mut()?;
        methods.iter_mut().find(|mark| mark.name == name)
    }

    fn mirror(&self, class: Number) -> Option<&Mirror<H>> {
        self.mirrors.get(class as usize)
    }

    fn number(&mut self, name: &[u8]) -> Number {
        if let Some(&known) = self.numbers.get(name) {
            return known;
        }
        if let Some(free) = self.free.pop()
            && let Some(place) = self.names.get_mut(free as usize)
        {
            *place = name.into();
            self.numbers.insert(name.into(), free);
            return free;
        }
        let number = self.names.len() as Number;
        self.numbers.insert(name.into(), number);
        self.names.push(name.into());
        self.mirrors.push(Mirror::default());
        number
    }

    /// One more class has a handle. Now and then what the VM called classes that are gone is returned, and they are forgotten, if
    /// nothing reaches them: a program may load and unload classes for ever.
    pub fn handled(&mut self, is_alive: &mut dyn FnMut(&H) -> bool) -> Vec<H> {
        self.unswept += 1;
        if self.unswept < SWEEP {
            return Vec::new();
        }
        self.unswept = 0;
        let mut gone = Vec::new();
        for class in 0..self.mirrors.len() as Number {
            let Some(mirror) = self.mirrors.get_mut(class as usize) else { continue };
            let before = gone.len();
            gone.extend(mirror.handles.extract_if(.., |handle| !is_alive(&*handle)));
            if gone.len() > before && mirror.handles.is_empty() && mirror.is_out_of_reach() {
                self.forget(class);
            }
        }
        gone
    }

    fn forget(&mut self, class: Number) {
        let Some(mirror) = self.mirrors.get_mut(class as usize).map(std::mem::take) else { return };
        for above in mirror.supers {
            if let Some(above) = self.mirrors.get_mut(above as usize) {
                above.subs.retain(|&sub| sub != class);
            }
        }
        if let Some(name) = self.names.get_mut(class as usize) {
            self.numbers.remove(&**name);
            *name = Box::default();
            self.free.push(class);
        }
    }

    fn number_of(&mut self, method: &Method<'_, '_>) -> Number {
        self.number(&[method.name(), method.descriptor()].concat())
    }

    /// All classes and interfaces above one, the nearest first.
    fn above(&self, class: Number) -> Vec<Number> {
        self.related(class, |mirror| &mirror.supers)
    }

    /// All that are below one.
    fn below(&self, class: Number) -> Vec<Number> {
        self.related(class, |mirror| &mirror.subs)
    }

    fn related(&self, class: Number, next: fn(&Mirror<H>) -> &Vec<Number>) -> Vec<Number> {
        let mut found = vec![class];
        let mut seen = vec![false; self.mirrors.len()];
        let (mut from, mut levels) = (0, 0);
        while from < found.len() && levels < DEEPEST_HIERARCHY {
            let level = from..found.len();
            (from, levels) = (level.end, levels + 1);
            for at in level {
                let mirror = found.get(at).and_then(|&class| self.mirror(class));
                for &other in mirror.map(next).into_iter().flatten() {
                    if let Some(seen) = seen.get_mut(other as usize).filter(|seen| !**seen && other != class)
                    {
                        *seen = true;
                        found.push(other);
                    }
                }
            }
        }
        found.remove(0);
        found
    }
}

impl Root {
    fn new(named: Named) -> Root {
        Root { named, found: Vec::new(), refused: Vec::new() }
    }

    /// A method that it names cannot be instrumented.
    fn refuse(&mut self, why: &str) {
        if self.refused.len() < MOST_REASONS && self.refused.iter().all(|known| known != why) {
            self.refused.push(why.to_owned());
        }
    }
}

/// Why nothing can be inserted into a method that has code, or could have.
fn refused(method: &Method<'_, '_>) -> Option<String> {
    let class = method.class().name();
    let why = match Treatment::of(method, untouchable(class), false) {
        Treatment::Count => return None,
        Treatment::Leave(why) => why,
        Treatment::Opaque if method.is(access::NATIVE) => "native",
        Treatment::Opaque => "replaced by the JIT, or different each time",
        Treatment::CountLoading | Treatment::Loading => "what loads or links classes",
    };
    let name = [class, b".", method.name()].concat();
    Some([&*mutf8::decode(&name).replace('/', "."), ": ", why].concat())
}

impl<H> Mirror<H> {
    /// Nothing of it is wanted any more, and nothing is called; what was wanted of its methods is returned.
    fn want_nothing(&mut self) -> Vec<Option<Timing>> {
        (self.called, self.named, self.roots) = (Vec::new(), Vec::new(), Vec::new());
        self.methods.iter_mut().flatten().map(|mark| mark.wanted.take()).collect()
    }

    /// Whether it can be forgotten once it is unloaded.
    fn is_out_of_reach(&self) -> bool {
        let is_free = |mark: &Mark| mark.wanted.is_none() && !mark.is_instrumented;
        !self.is_named
            && !self.is_pending
            && self.subs.is_empty()
            && self.called.is_empty()
            && self.named.is_empty()
            && self.roots.is_empty()
            && self.methods.iter().flatten().all(is_free)
    }

    /// Whether something else is wanted than before, or is not instrumented yet. What is not wanted is not instrumented from
    /// now on.
    fn is_other_than(&mut self, before: &[Option<Timing>]) -> bool {
        let mut is_other = false;
        for (at, mark) in self.methods.iter_mut().flatten().enumerate() {
            let before = before.get(at).copied().flatten();
            is_other |= mark.wanted != before || mark.wanted.is_some() && !mark.is_instrumented;
            mark.is_instrumented &= mark.wanted.is_some();
        }
        is_other
    }
}

impl Mark {
    fn new(name: Number) -> Mark {
        Mark { name, wanted: None, is_instrumented: false, has_failed: false, callees: Vec::new() }
    }

    /// Whether code of ours is in it.
    fn is_at_work(&self) -> bool {
        self.is_instrumented && !self.has_failed
    }
}

/// Adds what is not there; `false` if it is.
fn add<T: PartialEq>(all: &mut Vec<T>, one: T) -> bool {
    let is_new = !all.contains(&one);
    if is_new {
        all.push(one);
    }
    is_new
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Classes that the VM knows by what they declare.
    fn declared(handles: &[Vec<&str>]) -> Option<Vec<Vec<u8>>> {
        handles.first().map(|names| names.iter().map(|name| name.as_bytes().to_vec()).collect())
    }

    fn graph(classes: &[(&str, bool, &[&str], &[&'static str])]) -> Graph<Vec<&'static str>> {
        let mut graph = Graph::new(Vec::new(), false, Selection::default(), None);
        for (name, is_interface, supers, methods) in classes {
            let supers: Vec<&[u8]> = supers.iter().map(|name| name.as_bytes()).collect();
            graph.loaded(name.as_bytes(), *is_interface, &supers);
            graph.handles(name.as_bytes()).unwrap().push(methods.to_vec());
        }
        graph
    }

    fn wanted(graph: &Graph<Vec<&'static str>>) -> Vec<String> {
        let mut found = Vec::new();
        for (class, mirror) in graph.names.iter().zip(&graph.mirrors) {
            for mark in mirror.methods.iter().flatten().filter(|mark| mark.wanted.is_some()) {
                let method = &graph.names[mark.name as usize];
                found.push(String::from_utf8([class, method].map(|name| name.to_vec()).join(&b'.')).unwrap());
            }
        }
        found.sort();
        found
    }

    fn call(graph: &mut Graph<Vec<&'static str>>, owner: &[u8], name: &[u8], is_virtual: bool) {
        let call = Call { owner, name, descriptor: b"()V", is_virtual, is_interface: false };
        let callee = graph.callee(&call);
        graph.call(callee, &mut declared);
    }

    #[test]
    fn a_virtual_call_reaches_what_is_inherited_and_what_is_overridden_below() {
        let mut graph = graph(&[
            ("A", false, &[], &["m()V", "n()V"]),
            ("B", false, &["A"], &["n()V"]),
            ("C", false, &["B"], &["m()V"]),
            ("D", false, &["A"], &["m()V"]),
        ]);
        call(&mut graph, b"B", b"m", true);
        assert_eq!(wanted(&graph), ["A.m()V", "C.m()V"]);
        call(&mut graph, b"B", b"n", false);
        assert_eq!(wanted(&graph), ["A.m()V", "B.n()V", "C.m()V"]);
        assert!(graph.is_pending() && graph.take_pending().len() == 3 && !graph.is_pending());
    }

    #[test]
    fn an_interface_is_implemented_by_what_a_class_inherits() {
        let mut graph = graph(&[
            ("I", true, &[], &["m()V"]),
            ("A", false, &[], &["m()V"]),
            ("B", false, &["A", "I"], &["other()V"]),
        ]);
        call(&mut graph, b"I", b"m", true);
        assert_eq!(wanted(&graph), ["A.m()V", "I.m()V"]);
    }

    #[test]
    fn what_initialises_a_class_and_those_above_it_is_wanted_until_it_has_run() {
        let mut graph = graph(&[
            ("A", false, &[], &["<clinit>()V"]),
            ("B", false, &["A"], &["<clinit>()V", "m()V"]),
            ("C", false, &["B"], &["m()V"]),
        ]);
        call(&mut graph, b"C", b"<clinit>", false);
        assert_eq!(wanted(&graph), ["A.<clinit>()V", "B.<clinit>()V"]);
        let mut graph = self::graph(&[("A", false, &[], &["<clinit>()V", "m()V"])]);
        call(&mut graph, b"A", b"m", false);
        graph.handles(b"A").unwrap()[0].remove(0);
        call(&mut graph, b"A", b"<clinit>", false);
        assert_eq!(wanted(&graph), ["A.m()V"]);
    }

    #[test]
    fn a_root_without_code_is_what_implements_it() {
        let mut graph = graph(&[
            ("I", true, &[], &["m()V"]),
            ("A", false, &[], &["m()V"]),
            ("B", false, &["A", "I"], &["other()V"]),
            ("C", false, &["I"], &["m()V"]),
        ]);
        graph.add_roots(vec![Named::parse("I.m").unwrap()]);
        let (class, name) = (graph.number(b"I"), graph.number(b"m()V"));
        let found = Found { class, name, is_abstract: true };
        graph.roots[0].found.push(found);
        graph.want_root(found, &mut declared);
        assert_eq!(wanted(&graph), ["A.m()V", "C.m()V"]);
        assert_eq!(graph.unmet().count(), 1);
        let a = graph.number(b"A");
        graph.mark(a, name).unwrap().is_instrumented = true;
        assert_eq!(graph.unmet().count(), 0);
        graph.remove_root("I.m", &mut declared);
        assert!(wanted(&graph).is_empty());
    }

    #[test]
    fn classes_that_are_gone_are_forgotten_if_nothing_reaches_them() {
        let mut graph = graph(&[("A", false, &[], &["m()V"])]);
        for n in 0..10 * SWEEP {
            let name = format!("Made{n}");
            graph.loaded(name.as_bytes(), false, &[b"A"]);
            graph.handles(name.as_bytes()).unwrap().push(vec![if n == 7 { "kept" } else { "gone" }]);
            graph.handled(&mut |handle| *handle != ["gone"]);
        }
        assert!(graph.names.len() < 2 * SWEEP + 10, "{}", graph.names.len());
        let (a, kept) = (graph.number(b"A"), graph.number(b"Made7"));
        assert!(
            graph.mirrors[a as usize].subs.contains(&kept)
                && graph.mirrors[a as usize].subs.len() <= SWEEP + 1
        );
    }

    #[test]
    fn what_is_inherited_from_a_class_that_is_loaded_later_is_wanted() {
        let mut graph = graph(&[]);
        call(&mut graph, b"B", b"m", true);
        for (name, supers) in [("B", &[&b"A"[..]][..]), ("A", &[][..])] {
            graph.loaded(name.as_bytes(), false, supers);
            graph.handles(name.as_bytes()).unwrap().push(vec![if name == "A" { "m()V" } else { "n()V" }]);
            let class = graph.number(name.as_bytes());
            graph.follow_calls_to(class, &mut declared);
        }
        assert_eq!(wanted(&graph), ["A.m()V"]);
    }

    #[test]
    fn classes_in_a_circle_are_no_matter() {
        let mut graph = graph(&[("A", false, &["B"], &["a()V"]), ("B", false, &["A"], &["m()V"])]);
        call(&mut graph, b"A", b"m", true);
        assert_eq!(wanted(&graph), ["B.m()V"]);
    }

    /// Two roots, which the VM would have found in class files, one of which calls what the other does.
    #[test]
    fn what_only_a_removed_root_reaches_is_wanted_no_more() {
        let roots = ["R.a", "R.b"].map(|name| Named::parse(name).unwrap());
        let mut graph = graph(&[
            ("R", false, &[], &["a()V", "b()V"]),
            ("S", false, &[], &["both()V", "only()V", "deep()V"]),
        ]);
        graph.add_roots(roots.to_vec());
        let number = |graph: &mut Graph<_>, name: &[u8]| graph.number(name);
        let (r, s) = (number(&mut graph, b"R"), number(&mut graph, b"S"));
        let calls = [
            (r, "a()V", vec!["both()V"]),
            (r, "b()V", vec!["both()V", "only()V"]),
            (s, "only()V", vec!["deep()V"]),
        ];
        for (id, (class, name, callees)) in (1..).zip(calls) {
            let name = number(&mut graph, name.as_bytes());
            graph.declares(class, name, &mut declared);
            if class == r {
                graph.roots[id as usize - 1].found.push(Found { class, name, is_abstract: false });
                graph.want(class, name, Timing::Root);
            }
            let callees: Vec<Number> =
                callees.iter().map(|callee| number(&mut graph, callee.as_bytes())).collect();
            let mark = graph.mark(class, name).unwrap();
            mark.callees = callees.iter().map(|&name| Callee { owner: s, name, is_virtual: false }).collect();
            mark.is_instrumented = true;
            graph.methods.insert(id, (class, name));
            graph.reached(id, &mut declared);
        }
        assert_eq!(wanted(&graph), ["R.a()V", "R.b()V", "S.both()V", "S.deep()V", "S.only()V"]);
        graph.take_pending();
        graph.remove_root("R.b", &mut declared);
        assert_eq!(wanted(&graph), ["R.a()V", "S.both()V"]);
        assert_eq!((graph.take_pending().len(), graph.methods.len()), (2, 1));
        graph.remove_root("R.a", &mut declared);
        assert!(wanted(&graph).is_empty());
    }

    #[test]
    fn what_has_run_is_remembered() {
        let mut first = graph(&[]);
        first.reached(700, &mut declared);
        let second = Graph::new(Vec::new(), false, Selection::default(), Some(first));
        assert!(second.has_run(700) && !second.has_run(699) && !second.has_run(7_000_000));
    }
}
