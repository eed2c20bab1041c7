//! Names of the methods that were met on stacks: looked up on demand, once each, soon after they were seen, so that a
//! class that is unloaded later is still known by name.

use std::collections::HashSet;

use quipu_arena::layout::frame;
use quipu_arena::record::Record;
use quipu_arena::writer::ArenaWriter;
use quipu_jvm::{Env, Jvmti, MethodId};

use super::contexts::Contexts;

const ACC_NATIVE: i32 = 0x100;

/// What has been looked up.
#[derive(Default)]
pub struct Methods {
    known: HashSet<u64>,
    /// Chunks of contexts, and the first context of each that was not looked at yet.
    chunks: Vec<(u64, u32)>,
}

impl Methods {
    /// There are more chunks of contexts.
    pub fn expect(&mut self, arena: &ArenaWriter, chunks: &[u64]) {
        self.chunks.extend(chunks.iter().map(|&at| (at, arena.contexts_in(at).start)));
    }

    /// Tells the names of all methods in contexts that are new. It may be called at any time on a thread of the VM.
    pub fn tell_new(&mut self, arena: &ArenaWriter, contexts: &Contexts, jvmti: Jvmti, env: &mut Env<'_>) {
        for (at, next) in &mut self.chunks {
            let ids = arena.contexts_in(*at);
            while *next < ids.end {
                let context = arena.context(*next);
                if context.code == 0 {
                    break; // A handler is just writing it.
                }
                let kind = context.place >> 24;
                if (frame::JAVA..=frame::NATIVE).contains(&kind) && self.known.insert(context.code) {
                    // Its class may have been unloaded meanwhile; the frame is then nameless.
                    let _ = env.with_frame(8, |env| tell(arena, jvmti, env, context.code));
                }
                *next += 1;
            }
        }
        self.chunks.retain(|&(at, next)| !(contexts.is_full(arena, at) && next >= arena.contexts_in(at).end));
    }
}

fn tell(arena: &ArenaWriter, jvmti: Jvmti, env: &Env<'_>, code: u64) -> Option<()> {
    let raw = std::ptr::with_exposed_provenance_mut::<std::ffi::c_void>(usize::try_from(code).ok()?);
    // SAFETY: the VM gave this id out; JVMTI checks whether its method is still there.
    let method = unsafe { MethodId::from_raw(raw.cast()) };
    let class = jvmti.declaring_class(env, method).ok()?;
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
