//! The methods of a profile: rewritten ones by their ids, those on sampled stacks by what the VM calls them, and what is
//! no method but stands in a stack.

use std::collections::{HashMap, HashSet};

use quipu_arena::counting::Counting;
use quipu_arena::layout::{CAUSES, frame, mark};
use quipu_arena::reader::Contents;
use quipu_arena::record::{Record, flag};
use quipu_arena::sampled::Context;
use quipu_classfile::mutf8;
use quipu_profile::{Builder, Line, MethodFlags, MethodId, MethodSpec};

use super::symbols::Symbols;

/// What the arena says of a rewritten method, beside its name.
pub struct Rewritten {
    pub id: MethodId,
    pub sampled: bool,
    /// Whether it was timed, and by its own clock.
    pub timed: Option<OwnClock>,
    /// How its nodes are read.
    pub counting: Counting,
    /// Bytecode index of each slot's call site, from slot 1 on; empty if slots are not sites.
    pub sites: Vec<u16>,
}

/// Whether a method that was timed looks at the clock itself; the time of one that does not is its caller's.
#[derive(Clone, Copy)]
pub struct OwnClock(pub bool);

/// All methods.
pub struct Methods {
    rewritten: HashMap<u32, Rewritten>,
    /// The profile's methods by what the VM calls them.
    on_stacks: HashMap<u64, MethodId>,
    /// Machine code, by address.
    symbols: Symbols,
    functions: HashMap<u64, MethodId>,
    nameless: HashSet<MethodId>,
    glue: HashSet<MethodId>,
    marks: HashMap<u64, MethodId>,
}

impl Methods {
    /// What the arena says.
    pub fn read(contents: &Contents<'_>, builder: &mut Builder) -> Methods {
        let mut methods = Methods {
            rewritten: HashMap::new(),
            on_stacks: HashMap::new(),
            symbols: Symbols::of(contents),
            functions: HashMap::new(),
            nameless: HashSet::new(),
            glue: HashSet::new(),
            marks: HashMap::new(),
        };
        methods.read_rewritten(contents, builder);
        methods.read_on_stacks(contents, builder);
        methods
    }

    fn read_rewritten(&mut self, contents: &Contents<'_>, builder: &mut Builder) {
        let mut classes: HashMap<u32, (String, String)> = HashMap::new();
        for record in &contents.records {
            match *record {
                Record::Class { id, name, source, .. } => {
                    classes.insert(id, (mutf8::decode(name).replace('/', "."), mutf8::decode(source)));
                }
                Record::Method { id, class, flags, name, descriptor, lines, sites, .. } => {
                    let Some((class, source)) = classes.get(&class) else { continue };
                    let opaque = flags & flag::OPAQUE != 0;
                    let spec = MethodSpec {
                        class,
                        name: &mutf8::decode(name),
                        descriptor: &mutf8::decode(descriptor),
                        source,
                        lines: &line_table(lines),
                        flags: if opaque { MethodFlags::NATIVE } else { MethodFlags::NONE },
                        ..MethodSpec::default()
                    };
                    let rewritten = Rewritten {
                        id: builder.method(spec),
                        sampled: flags & flag::SAMPLED != 0,
                        timed: (flags & flag::TIMED != 0)
                            .then_some(OwnClock(flags & flag::WITHOUT_CLOCK == 0)),
                        counting: Counting::of(record).unwrap_or_default().1,
                        sites: words(sites).collect(),
                    };
                    self.rewritten.insert(id, rewritten);
                }
                _ => {}
            }
        }
    }

    fn read_on_stacks(&mut self, contents: &Contents<'_>, builder: &mut Builder) {
        for record in &contents.records {
            let Record::SampledMethod { code, native, class, name, descriptor, source, lines } = *record
            else {
                continue;
            };
            let spec = MethodSpec {
                class: &mutf8::decode(class).replace('/', "."),
                name: &mutf8::decode(name),
                descriptor: &mutf8::decode(descriptor),
                source: &mutf8::decode(source),
                lines: &line_table(lines),
                flags: if native == 1 { MethodFlags::NATIVE } else { MethodFlags::NONE },
                ..MethodSpec::default()
            };
            let is_glue = is_glue(spec.class);
            let method = builder.method(spec);
            self.on_stacks.insert(code, method);
            if is_glue {
                self.glue.insert(method);
            }
        }
    }

    /// All that were rewritten.
    pub fn rewritten(&self) -> impl Iterator<Item = &Rewritten> {
        self.rewritten.values()
    }

    /// The rewritten method with this id.
    pub fn with_id(&self, id: u32) -> Option<&Rewritten> {
        self.rewritten.get(&id)
    }

    /// Whether it stands for all code of a library that has no names.
    pub fn is_nameless(&self, method: MethodId) -> bool {
        self.nameless.contains(&method)
    }

    /// Whether the JDK has made it to get from a call to what is called, at a lambda or a method handle: it is no method of the
    /// program, and passed through where calls are counted.
    pub fn is_glue(&self, method: MethodId) -> bool {
        self.glue.contains(&method)
    }

    /// The method of a frame, or what stands in its place.
    pub fn of_frame(&mut self, builder: &mut Builder, frame: Context) -> MethodId {
        match frame.kind {
            frame::FOREIGN => self.function(builder, frame.code),
            frame::MARK => self.mark(builder, frame.code),
            // Of a sample that could not be given its callers.
            frame::BASE => self.mark(builder, mark::NOT_CHAINED),
            _ => *self
                .on_stacks
                .entry(frame.code)
                .or_insert_with(|| foreign(builder, "[method of an unloaded class]")),
        }
    }

    fn mark(&mut self, builder: &mut Builder, code: u64) -> MethodId {
        *self.marks.entry(code).or_insert_with(|| {
            let cause = code.checked_sub(mark::FAILED).and_then(|cause| CAUSES.get(cause as usize));
            match (code, cause) {
                (_, Some(cause)) => foreign(builder, &format!("[{}]", cause.trim_start_matches("walks."))),
                (mark::NOT_JAVA, _) => foreign(builder, "[not Java]"),
                (mark::NO_FRAMES, _) => foreign(builder, "[no Java frames]"),
                (mark::NOT_CHAINED, _) => foreign(builder, "[callers not known]"),
                _ => foreign(builder, "[unknown method]"),
            }
        })
    }

    fn function(&mut self, builder: &mut Builder, address: u64) -> MethodId {
        if let Some(&function) = self.functions.get(&address) {
            return function;
        }
        let place = self.symbols.find(address);
        let function = builder.method(MethodSpec {
            name: &place.function,
            module: &place.module,
            flags: MethodFlags::FOREIGN,
            ..MethodSpec::default()
        });
        self.functions.insert(address, function);
        if !place.named {
            self.nameless.insert(function);
        }
        function
    }
}

/// Something that is no method.
pub fn foreign(builder: &mut Builder, name: &str) -> MethodId {
    builder.method(MethodSpec { name, flags: MethodFlags::FOREIGN, ..MethodSpec::default() })
}

/// Whether all methods of a class, by its name with dots, are made by the JDK for lambdas and method handles.
fn is_glue(class: &str) -> bool {
    let of_handles = class.strip_prefix("java.lang.invoke.");
    let of_handles = of_handles.is_some_and(|name| {
        name.starts_with("LambdaForm$") || name.ends_with("$Holder") || name.contains("$Species_")
    });
    of_handles || class.contains("$$Lambda")
}

fn line_table(bytes: &[u8]) -> Vec<Line> {
    let pairs = bytes.chunks_exact(4).filter_map(|b| {
        let (first, second) = b.split_at(2);
        Some((u16::from_ne_bytes(first.try_into().ok()?), u16::from_ne_bytes(second.try_into().ok()?)))
    });
    pairs.map(|(bci, line)| Line { bci: bci.into(), line: line.into() }).collect()
}

fn words(bytes: &[u8]) -> impl Iterator<Item = u16> + '_ {
    bytes.chunks_exact(2).filter_map(|b| b.try_into().ok().map(u16::from_ne_bytes))
}

#[cfg(test)]
mod tests {
    use super::is_glue;

    #[test]
    fn what_lambdas_and_handles_are_made_of_is_no_method_of_the_program() {
        let glue = [
            "Foo$$Lambda/0x00007f1304001440",
            "com.acme.Foo$$Lambda$14/0x0000000800066840",
            "Foo$$Lambda$1/1324119927",
            "java.lang.invoke.Invokers$Holder",
            "java.lang.invoke.LambdaForm$MH/0x00007f1304004000",
            "java.lang.invoke.LambdaForm$DMH001",
        ];
        assert!(glue.iter().all(|class| is_glue(class)));
        for class in ["Foo", "Foo$Lambda", "java.lang.invoke.MethodType", "com.acme.Foo$Holder"] {
            assert!(!is_glue(class), "{class}");
        }
    }
}
