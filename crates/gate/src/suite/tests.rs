//! Where the tests are in a profile.

use std::collections::BTreeMap;

use quipu_profile::{Builder, MethodId, MethodSpec, NodeId, Profile, ThreadId, ThreadKind, ThreadSpec};

use super::method::TestMethod;
use super::run::{BUDGET, NOTE, TestRun, runs};

/// Suffix of the tree that has what a test did to initialise classes.
pub const INITIALISATION_SUFFIX: &str = " [class initialisation]";

/// The contexts of each test method, as a tree that has its name. Whatever else the profile has is left out, save for
/// the notes of who ran, which [`works`](super::works) reads.
///
/// A test begins at the first call of its method, seen from the bottom of a stack, on whatever thread: so what the
/// framework does around it, constructors and set-up stay outside. Static initialisers and what they call, which run
/// for the first test that comes along, go to a tree of their own.
pub fn of_tests(profile: &Profile) -> Profile {
    let (tests, titles): (Vec<TestMethod>, Vec<String>) = methods(&runs(profile)).into_iter().unzip();
    let mut builder = Builder::with_capacity(profile.tree().len());
    builder.meta = profile.meta.clone();
    builder.meta.extra.retain(|(key, _)| key == NOTE || key == BUDGET);
    builder.meta.extra.sort();
    builder.run = profile.run.clone();
    let methods = import_methods(&mut builder, profile);
    let columns: Vec<_> = profile
        .metrics()
        .iter()
        .map(|metric| (builder.metric(metric.spec().clone()), metric.values()))
        .collect();
    let begins = begins(profile, &tests);
    let initialises: Vec<bool> =
        profile.methods().iter().map(|m| profile.str(m.name) == "<clinit>").collect();

    let mut trees = Trees { builder: &mut builder, roots: BTreeMap::new() };
    let tree = profile.tree();
    // Where each node is put, and to which test it belongs.
    let mut placed: Vec<Option<(NodeId, usize)>> = vec![None; tree.len()];
    for node in 0..tree.len() as NodeId {
        let Some((method, parent)) = tree.method(node).zip(tree.parent(node)) else { continue };
        let above = match (placed[parent as usize], begins[method as usize]) {
            (Some((_, test)), _) if initialises[method as usize] => {
                Some((trees.root(&titles[test], INITIALISATION_SUFFIX), test))
            }
            (Some(above), _) => Some(above),
            (None, Some(test)) => Some((trees.root(&titles[test], ""), test)),
            (None, None) => None,
        };
        let Some((above, test)) = above else { continue };
        let here = trees.builder.push(above, methods[method as usize], tree.sites()[node as usize]);
        placed[node as usize] = Some((here, test));
        for &(column, values) in &columns {
            trees.builder.add(here, column, values[node as usize]);
        }
    }
    builder.finish()
}

/// By method, the test that begins there.
fn begins(profile: &Profile, tests: &[TestMethod]) -> Vec<Option<usize>> {
    let mut by_class: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (at, test) in tests.iter().enumerate() {
        by_class.entry(&test.class).or_default().push(at);
    }
    let str = |id| profile.str(id);
    let methods = profile.methods().iter();
    methods
        .map(|m| {
            let mut candidates = by_class.get(str(m.class))?.iter().copied();
            candidates.find(|&at| tests[at].begins_at(str(m.class), str(m.name), str(m.descriptor)))
        })
        .collect()
}

/// The methods that were run, and what each is called. Types of parameters have short names where that tells them apart.
pub(super) fn methods(runs: &[TestRun]) -> BTreeMap<TestMethod, String> {
    let mut methods: BTreeMap<TestMethod, String> =
        runs.iter().map(|run| (run.method.clone(), run.method.title(false))).collect();
    let mut count: BTreeMap<String, u32> = BTreeMap::new();
    methods.values().for_each(|title| *count.entry(title.clone()).or_default() += 1);
    for (method, title) in &mut methods {
        if count.get(title).is_some_and(|&n| n > 1) {
            *title = method.title(true);
        }
    }
    methods
}

fn import_methods(builder: &mut Builder, profile: &Profile) -> Vec<MethodId> {
    let str = |id| profile.str(id);
    let import = profile.methods().iter().map(|m| {
        let id = builder.method(MethodSpec {
            class: str(m.class),
            name: str(m.name),
            descriptor: str(m.descriptor),
            loader: str(m.loader),
            source: str(m.source),
            module: str(m.module),
            flags: m.flags,
            lines: &m.lines,
        });
        m.blocks.iter().for_each(|&block| builder.block(id, block));
        id
    });
    import.collect()
}

/// The trees that are there so far.
struct Trees<'a> {
    builder: &'a mut Builder,
    roots: BTreeMap<String, ThreadId>,
}

impl Trees<'_> {
    fn root(&mut self, title: &str, suffix: &str) -> NodeId {
        let name = format!("{title}{suffix}");
        let builder = &mut *self.builder;
        let thread = *self.roots.entry(name).or_insert_with_key(|name| {
            builder.thread(ThreadSpec { name, kind: ThreadKind::Root, ..ThreadSpec::default() })
        });
        builder.root(thread)
    }
}
