//! Several instruments in one class: each measures what it would measure alone.
#![allow(missing_docs, reason = "tests say what they test by their names")]

mod support;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use quipu_classfile::opcode::{InstructionClass, MONITORENTER};
use quipu_classfile::{ClassFile, EditError, Snippet, VerificationType};
use quipu_e2e::{Counts, Jdk, ThreadCounts, on_every_jdk, scratch};
use quipu_offline::{InputFile, Instrumenter, RUNTIME_PACKAGE, RuntimeOptions};
use quipu_rewrite::{Inserter, Instrument, Known, MethodEdit, Plan};
use support::{Counted, Run, compile};

/// What the instruments call.
const HITS: &[u8] = b"several/Hits";

/// Tells of every object and array that is made, and of every monitor that is entered.
#[derive(Debug)]
struct Sites;

/// Tells of every method that is entered, and left, with a number of its own.
#[derive(Debug)]
struct Brackets(i16);

/// [`Brackets`] in one method.
struct Bracket {
    number: i16,
    /// Has the number again, so that what leaves the method needs what has entered it.
    local: u16,
}

impl Instrument for Sites {
    fn name(&self) -> &'static str {
        "sites"
    }

    fn inserter<'p>(&'p self, _: &ClassFile<'_>, _: &'p Plan, _: &'p dyn Known) -> Box<dyn Inserter + 'p> {
        Box::new(Sites)
    }
}

impl Inserter for Sites {
    fn before(&mut self, edit: &mut MethodEdit<'_, '_, '_, '_>) -> Result<(), EditError> {
        for instruction in edit.code.code().instructions() {
            let instruction = instruction?;
            let name: &[u8] = match instruction.info().class {
                InstructionClass::Allocation => b"made",
                InstructionClass::Monitor if instruction.opcode == MONITORENTER => b"locked",
                _ => continue,
            };
            let probe = edit.code.pool().method_ref(HITS, name, b"()V")?;
            edit.code.insert_before(instruction.bci, Snippet::new().invokestatic(probe, b"()V"))?;
        }
        Ok(())
    }

    fn after(&mut self, _: &mut MethodEdit<'_, '_, '_, '_>) -> Result<(), EditError> {
        Ok(())
    }
}

impl Instrument for Brackets {
    fn name(&self) -> &'static str {
        "brackets"
    }

    fn inserter<'p>(&'p self, _: &ClassFile<'_>, _: &'p Plan, _: &'p dyn Known) -> Box<dyn Inserter + 'p> {
        Box::new(Bracket { number: self.0, local: 0 })
    }
}

impl Inserter for Bracket {
    fn before(&mut self, edit: &mut MethodEdit<'_, '_, '_, '_>) -> Result<(), EditError> {
        self.local = edit.code.new_local(VerificationType::Int)?;
        let probe = edit.code.pool().method_ref(HITS, b"enter", b"(I)V")?;
        let mut s = Snippet::new();
        s.int16(self.number).istore(self.local).iload(self.local).invokestatic(probe, b"(I)V");
        edit.code.insert_entry(&s)
    }

    fn after(&mut self, edit: &mut MethodEdit<'_, '_, '_, '_>) -> Result<(), EditError> {
        let probe = edit.code.pool().method_ref(HITS, b"leave", b"(I)V")?;
        let mut s = Snippet::new();
        s.iload(self.local).invokestatic(probe, b"(I)V");
        edit.code.insert_before_returns(&s)?;
        edit.code.catch_all(&s)
    }
}

/// An instrument that nothing can be done with.
#[derive(Debug)]
struct Failing;

impl Instrument for Failing {
    fn name(&self) -> &'static str {
        "failing"
    }

    fn inserter<'p>(&'p self, _: &ClassFile<'_>, _: &'p Plan, _: &'p dyn Known) -> Box<dyn Inserter + 'p> {
        Box::new(Failing)
    }
}

impl Inserter for Failing {
    fn before(&mut self, edit: &mut MethodEdit<'_, '_, '_, '_>) -> Result<(), EditError> {
        edit.code.insert_entry(Snippet::new().int16(0))
    }

    fn after(&mut self, _: &mut MethodEdit<'_, '_, '_, '_>) -> Result<(), EditError> {
        Ok(())
    }
}

/// Instruments the classes with exact counts and others, and runs them. Also, how often a method did without something.
fn run(jdk: &Jdk, classes: &Path, others: Vec<Arc<dyn Instrument>>) -> (Run, usize) {
    let mut plan = Plan { others, ..Plan::new(RUNTIME_PACKAGE) };
    plan.selection.exclude("several.Hits");
    let files: Vec<InputFile> = ["several/Hits.class", "several/Mixed.class"]
        .map(|name| InputFile {
            name: name.into(),
            contents: fs::read(classes.join(name)).expect("compiled"),
        })
        .into();
    let with = Instrumenter { plan, jdk: None, progress: &() };
    let (changed, outcome) = with.directory(&files).expect("it can be instrumented");
    let here = scratch("several");
    for file in files.iter().chain(&changed) {
        let place = here.join(&file.name);
        fs::create_dir_all(place.parent().expect("a folder")).expect("a folder");
        fs::write(place, &file.contents).expect("a class");
    }
    let runtime = here.join("quipu-runtime.jar");
    fs::write(&runtime, quipu_offline::runtime::jar(&RuntimeOptions::default()).expect("a jar"))
        .expect("a jar");
    let counted = Counted { path: here, runtime, said: String::new() };
    let none: [&str; 0] = [];
    (counted.run(jdk, &[], "several.Mixed", &none), outcome.left.len())
}

/// Calls and bytecodes of all contexts of the program's main thread.
fn counts(run: &Run, left: u64) -> BTreeMap<Vec<String>, Counts> {
    let profile = run.assert_quiet().profile();
    assert_eq!(profile.meta.lost.values().sum::<u64>(), left, "{:?}", profile.meta.lost);
    let main = ThreadCounts::of(&profile, |name| name == "main");
    main.nodes().map(|node| (main.full_path_of(node), main.counts(node))).collect()
}

#[test]
fn each_measures_what_it_would_alone() {
    on_every_jdk(|jdk| {
        let classes = compile(jdk, &["--release", "8"], &["several/Mixed.java", "several/Hits.java"]);
        let (alone, left) = run(jdk, &classes, Vec::new());
        assert_eq!((alone.stdout().as_str(), left), ("715\n0\n0\n0\n0\n0\n", 0));
        let others: Vec<Arc<dyn Instrument>> =
            vec![Arc::new(Brackets(1)), Arc::new(Failing), Arc::new(Sites), Arc::new(Brackets(300))];
        let (together, left) = run(jdk, &classes, others);
        // 181 calls of seven methods, of which `main` is not left yet; two instruments tell of each.
        assert_eq!((together.stdout().as_str(), left), ("715\n131\n35\n362\n360\n0\n", 7));
        let counted = counts(&alone, 0);
        assert_eq!(counted.values().map(|counts| counts.calls).sum::<u64>(), 181, "{counted:?}");
        assert_eq!(counts(&together, 7), counted);
    });
}
