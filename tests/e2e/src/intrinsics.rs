//! The methods of a JDK that a JIT replaces by its own code, and what their bytecode writes.
//!
//! Counts are the same in every tier only if a replaced method leaves behind what its body does. Whatever a body writes to
//! fields and to elements of arrays is found here, in the JDK's class files: code that reads it later can tell which of the
//! two ran.

use std::collections::{BTreeMap, BTreeSet};

use quipu_classfile::opcode::{
    IASTORE, INVOKEINTERFACE, INVOKESPECIAL, INVOKESTATIC, INVOKEVIRTUAL, PUTFIELD, PUTSTATIC, SASTORE,
};
use quipu_classfile::{ClassFile, Method, access};
use quipu_offline::RuntimeImage;

use crate::Jdk;

const MARKS: [&[u8]; 2] =
    [b"Ljdk/internal/vm/annotation/IntrinsicCandidate;", b"Ljdk/internal/HotSpotIntrinsicCandidate;"];

/// Class, name and descriptor, as class files have them.
pub type Key = (String, String, String);

/// A method that a JIT may replace.
#[derive(Debug, Clone)]
pub struct Intrinsic {
    /// It has bytecode that runs where it is not replaced.
    pub has_body: bool,
    /// Programs may call it.
    pub is_public: bool,
    /// It has no receiver.
    pub is_static: bool,
    /// `class.field` of what the body and all that it calls write, save for constructors' own fields.
    pub writes: BTreeSet<String>,
    /// It, or what it calls, writes to elements of arrays.
    pub stores: bool,
}

/// What is known of a method's bytecode.
#[derive(Default)]
struct Body {
    writes: BTreeSet<String>,
    stores: bool,
    calls: BTreeSet<Key>,
}

/// All of a JDK's, by method.
pub fn of(jdk: &Jdk) -> BTreeMap<Key, Intrinsic> {
    let image = RuntimeImage::open(&jdk.home).expect("the JDK's run-time image");
    let mut marked = BTreeMap::new();
    let mut bodies = Bodies { image: &image, known: BTreeMap::new() };
    for name in image.names() {
        let bytes = image.class(name).expect("a class of the image");
        // Most have no mark: one look at the bytes is cheaper than parsing them. JDK 8 has no marks, but a list.
        if jdk.feature > 8 && !MARKS.iter().any(|mark| contains(&bytes, mark)) {
            continue;
        }
        let class = ClassFile::parse(&bytes).expect("a class of the JDK");
        let is_marked = |method: &Method<'_, '_>| {
            MARKS.iter().any(|mark| method.has_annotation(mark)) || quipu_rewrite::of_jdk_8(method)
        };
        for method in class.methods().filter(is_marked) {
            let key = key(&method);
            let has_body = !method.is(access::NATIVE) && !method.is(access::ABSTRACT);
            let Body { writes, stores, .. } =
                if has_body { bodies.effects_of(&key) } else { Body::default() };
            let is_public = class.access_flags() & access::PUBLIC != 0 && method.is(access::PUBLIC);
            let is_static = method.is(access::STATIC);
            marked.insert(key, Intrinsic { has_body, is_public, is_static, writes, stores });
        }
    }
    marked
}

/// Methods' bytecode, read when it is first needed.
struct Bodies<'a> {
    image: &'a RuntimeImage,
    known: BTreeMap<Key, Option<Body>>,
}

impl Bodies<'_> {
    /// Of a method and all it may call, as far as that is known without running it: overriding methods are not.
    fn effects_of(&mut self, method: &Key) -> Body {
        let (mut effects, mut seen) = (Body::default(), BTreeSet::new());
        let mut todo = vec![method.clone()];
        while let Some(next) = todo.pop() {
            if !seen.insert(next.clone()) {
                continue;
            }
            if let Some(body) = self.body(&next) {
                effects.writes.extend(body.writes.iter().cloned());
                effects.stores |= body.stores;
                todo.extend(body.calls.iter().cloned());
            }
        }
        effects
    }

    fn body(&mut self, key: &Key) -> Option<&Body> {
        if !self.known.contains_key(key) {
            let body = self.read(key);
            self.known.insert(key.clone(), body);
        }
        self.known.get(key)?.as_ref()
    }

    fn read(&self, (class, name, descriptor): &Key) -> Option<Body> {
        let bytes = self.image.class(class.as_bytes())?;
        let class = ClassFile::parse(&bytes).ok()?;
        let found =
            class.methods().find(|m| m.name() == name.as_bytes() && m.descriptor() == descriptor.as_bytes());
        let Some(method) = found else {
            let above = text(class.super_name()?);
            let inherited = BTreeSet::from([(above, name.clone(), descriptor.clone())]);
            return Some(Body { calls: inherited, ..Body::default() });
        };
        let code = method.code().ok()??;
        let (mut writes, mut calls, mut stores) = (BTreeSet::new(), BTreeSet::new(), false);
        let makes = name == "<init>" || name == "<clinit>";
        for instruction in code.instructions().flatten() {
            let member = || class.pool().member(instruction.pool_index()?).ok();
            match instruction.effective() {
                PUTFIELD | PUTSTATIC => {
                    let Some(field) = member() else { continue };
                    if !(makes && field.owner == class.name()) {
                        writes.insert(format!("{}.{}", text(field.owner), text(field.name)));
                    }
                }
                INVOKEVIRTUAL | INVOKESPECIAL | INVOKESTATIC | INVOKEINTERFACE => {
                    let Some(called) = member() else { continue };
                    if throws(called.owner, called.name) {
                        continue;
                    }
                    calls.insert((text(called.owner), text(called.name), text(called.descriptor)));
                }
                IASTORE..=SASTORE => stores = true,
                _ => {}
            }
        }
        Some(Body { writes, stores, calls })
    }
}

/// Whether something only happens on the way to an exception, which replaced methods leave to their bytecode.
fn throws(class: &[u8], method: &[u8]) -> bool {
    class.ends_with(b"Exception")
        || class.ends_with(b"Error")
        || method.starts_with(b"outOf")
        || method.starts_with(b"throw")
        || (class, method) == (b"java/lang/String", b"format")
}

fn key(method: &Method<'_, '_>) -> Key {
    (text(method.class().name()), text(method.name()), text(method.descriptor()))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}
