//! Where the tests are in a profile.

use std::collections::BTreeMap;

use quipu_profile::{Builder, MethodId, MethodSpec, NodeId, Profile, ThreadId, ThreadKind, ThreadSpec};

use super::method::TestMethod;

/// Suffix of the tree that has what a test did to initialise classes.
pub const INITIALISATION_SUFFIX: &str = " [class initialisation]";

/// Key of what a listener noted of a test.
const NOTE: &str = "test";

/// The work of each test, as a tree that has its name. Whatever else the profile has is left out.
///
/// A test begins at the first call of its method, seen from the bottom of a stack, on whatever thread: so what the
/// framework does around it, constructors and set-up stay outside. Static initialisers and what they call, which run
/// for the first test that comes along, go to a tree of their own.
pub fn of_tests(profile: &Profile) -> Profile {
    let tests = noted(profile);
    let titles = titles(&tests);
    let mut builder = Builder::with_capacity(profile.tree().len());
    builder.meta = profile.meta.clone();
    builder.meta.extra.retain(|(key, _)| key != NOTE);
    builder.run = profile.run.clone();
    let methods = import_methods(&mut builder, profile);
    let columns: Vec<_> = profile
        .metrics()
        .iter()
        .map(|metric| (builder.metric(metric.spec().clone()), metric.values()))
        .collect();
    let str = |id| profile.str(id);
    let begins: Vec<Option<usize>> = profile
        .methods()
        .iter()
        .map(|m| tests.iter().position(|test| test.begins_at(str(m.class), str(m.name), str(m.descriptor))))
        .collect();
    let initialises: Vec<bool> = profile.methods().iter().map(|m| str(m.name) == "<clinit>").collect();

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

fn noted(profile: &Profile) -> Vec<TestMethod> {
    let notes = profile.meta.extra.iter().filter(|(key, _)| key == NOTE);
    let mut tests: Vec<TestMethod> = notes.filter_map(|(_, note)| TestMethod::parse(note)).collect();
    tests.sort();
    tests.dedup();
    tests
}

/// What each test is called. Types of parameters have short names where that tells tests apart.
fn titles(tests: &[TestMethod]) -> Vec<String> {
    let short: Vec<String> = tests.iter().map(|test| test.title(false)).collect();
    let mut count: BTreeMap<&str, u32> = BTreeMap::new();
    short.iter().for_each(|title| *count.entry(title).or_default() += 1);
    tests.iter().zip(&short).map(|(test, title)| test.title(count[title.as_str()] > 1)).collect()
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
