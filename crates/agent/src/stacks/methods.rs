//! Names of the methods that were met on stacks: told once each, soon after they were seen.

use std::collections::HashSet;
use std::sync::Mutex;

use quipu_arena::layout::frame;
use quipu_arena::record::Record;
use quipu_arena::writer::ArenaWriter;
use quipu_jvm::hotspot::{MethodNames, Named};
use quipu_jvm::{Class, Env, Jvmti, MethodId};

use super::contexts::Contexts;
use super::declaring::Declaring;
use crate::locks::lock;

const ACC_NATIVE: i32 = 0x100;
/// The longest class name, method name, descriptor and file name.
const LONGEST: usize = 4 * 0xffff;

/// What has been told.
#[derive(Default)]
pub struct Methods {
    known: HashSet<u64>,
    /// Chunks of contexts, and the first context of each that was not looked at yet.
    chunks: Vec<(u64, u32)>,
    room: Vec<u8>,
}

impl Methods {
    /// There are more chunks of contexts.
    pub fn expect(&mut self, arena: &ArenaWriter, chunks: &[u64]) {
        self.chunks.extend(chunks.iter().map(|&at| (at, arena.contexts_in(at).start)));
    }

    /// Tells the names of all methods in contexts that are new. It may be called at any time on a thread of the VM.
    pub fn tell_new(
        &mut self,
        arena: &ArenaWriter,
        contexts: &Contexts,
        jvmti: Jvmti,
        declaring: &Mutex<Declaring>,
        env: &mut Env<'_>,
    ) {
        let reader = contexts.names().reader();
        if let Some(reader) = reader {
            contexts.names().take(|code, named, room| {
                if !self.known.contains(&code) && tell(arena, reader, code, named, room).is_some() {
                    self.known.insert(code);
                }
            });
        }
        for (at, next) in &mut self.chunks {
            let ids = arena.contexts_in(*at);
            while *next < ids.end {
                let context = arena.context(*next);
                if context.code == 0 {
                    break; // A handler is just writing it.
                }
                let (code, kind) = (context.code, context.place >> 24);
                if (frame::JAVA..=frame::NATIVE).contains(&kind) && !self.known.contains(&code) {
                    // A class that was unloaded meanwhile leaves its frames nameless, unless a handler is still at it.
                    let told = match reader {
                        Some(reader) => {
                            self.room.resize(LONGEST, 0);
                            let named =
                                usize::try_from(code).ok().and_then(|id| reader.read(id, &mut self.room));
                            named.and_then(|named| tell(arena, reader, code, &named, &self.room))
                        }
                        None => {
                            let told = env.with_frame(8, |env| {
                                let class = lock(declaring).of(env, code)?;
                                ask(arena, jvmti, class, code)
                            });
                            told.ok().flatten()
                        }
                    };
                    if told.is_some() {
                        self.known.insert(code);
                    }
                }
                *next += 1;
            }
        }
        self.chunks.retain(|&(at, next)| !(contexts.is_full(arena, at) && next >= arena.contexts_in(at).end));
    }
}

/// Tells names that were read.
fn tell(arena: &ArenaWriter, reader: &MethodNames, code: u64, named: &Named, room: &[u8]) -> Option<()> {
    let [class, name, descriptor, source] = named.texts(room);
    let lines = reader.lines(usize::try_from(code).ok()?);
    let lines: Vec<u8> =
        lines.iter().flat_map(|(bci, line)| [bci.to_ne_bytes(), line.to_ne_bytes()]).flatten().collect();
    arena.log(&Record::SampledMethod {
        code,
        native: named.native.into(),
        class: &with_dot(class),
        name,
        descriptor,
        source,
        lines: &lines,
    })?;
    Some(())
}

/// The name of a hidden class as JVMTI has it: with a dot before its number, where the VM has a plus sign.
fn with_dot(class: &[u8]) -> std::borrow::Cow<'_, [u8]> {
    match class.iter().rposition(|&byte| byte == b'+') {
        Some(plus) if class.get(plus + 1..plus + 3) == Some(b"0x") => {
            let mut class = class.to_vec();
            if let Some(byte) = class.get_mut(plus) {
                *byte = b'.';
            }
            class.into()
        }
        _ => class.into(),
    }
}

/// Asks JVMTI about a method of a class that is kept alive meanwhile.
fn ask(arena: &ArenaWriter, jvmti: Jvmti, class: Class<'_>, code: u64) -> Option<()> {
    let raw = std::ptr::with_exposed_provenance_mut::<std::ffi::c_void>(usize::try_from(code).ok()?);
    // SAFETY: the VM gave this id out for a method of the class, which cannot be unloaded now.
    let method = unsafe { MethodId::from_raw(raw.cast()) };
    let signature = jvmti.class_signature(class).ok()?;
    let internal = signature.as_bytes();
    let internal = internal.strip_prefix(b"L").and_then(|name| name.strip_suffix(b";")).unwrap_or(internal);
    let name = jvmti.method_name(method).ok()?;
    let source = jvmti.source_file_name(class).ok();
    let mut lines = Vec::new();
    for entry in jvmti.line_numbers(method).unwrap_or_default() {
        if let (Ok(bci), Ok(line)) = (u16::try_from(entry.start_location), u16::try_from(entry.line_number)) {
            lines.extend_from_slice(&bci.to_ne_bytes());
            lines.extend_from_slice(&line.to_ne_bytes());
        }
    }
    let native = jvmti.method_modifiers(method).is_ok_and(|modifiers| modifiers & ACC_NATIVE != 0);
    arena.log(&Record::SampledMethod {
        code,
        native: native.into(),
        class: internal,
        name: name.name.as_bytes(),
        descriptor: name.descriptor.as_bytes(),
        source: source.as_ref().map_or(&b""[..], |source| source.as_bytes()),
        lines: &lines,
    })?;
    Some(())
}

#[cfg(test)]
mod tests {
    use super::with_dot;

    #[test]
    fn hidden_classes_have_a_dot() {
        assert_eq!(with_dot(b"a/B$$Lambda+0x0000000800c01400"), &b"a/B$$Lambda.0x0000000800c01400"[..]);
        for plain in [&b"a/B"[..], b"a/B+c", b"+", b""] {
            assert_eq!(with_dot(plain), plain);
        }
    }
}
