//! Ledgers: what instructions that are told apart have done, in the contexts that they did it in. What each is about, such as a
//! class of objects, is a leaf below its method.

use std::collections::HashMap;

use quipu_arena::layout::detail;
use quipu_arena::reader::{Contents, Entry};
use quipu_arena::record::Record;
use quipu_classfile::mutf8;
use quipu_profile::{Builder, MetricId, UNKNOWN_SITE};

use super::budget::Budget;
use super::details::Details;
use super::executions::Executions;
use super::methods::Methods;
use super::metrics::Declared;
use super::nodes::Placed;
use super::threads::Threads;

/// An instruction, with one kind of what it is about.
struct Site {
    method: u32,
    bci: i32,
    metric: u32,
    /// Its leaf's number among details.
    detail: u32,
    /// Size of an instance, where values are sizes and it has none of its own.
    size: u64,
}

/// Counts at one moment, to be taken off those at a later one.
#[derive(Debug, Default)]
pub struct Before(HashMap<(u32, u32, u64), [u64; 2]>);

impl Before {
    /// What an arena has so far.
    pub fn of(contents: &Contents<'_>) -> Before {
        let mut before: HashMap<_, [u64; 2]> = HashMap::new();
        for entry in &contents.ledgers {
            let [count, value] = before.entry(key(entry)).or_insert([0; 2]);
            (*count, *value) = (count.wrapping_add(entry.count), value.wrapping_add(entry.value));
        }
        Before(before)
    }

    /// Takes what there was off what there is.
    pub fn take_off(&self, contents: &mut Contents<'_>) {
        for entry in &mut contents.ledgers {
            if let Some([count, value]) = self.0.get(&key(entry)) {
                entry.count = entry.count.wrapping_sub(*count);
                entry.value = entry.value.wrapping_sub(*value);
            }
        }
    }
}

/// What an entry is of, wherever its thread keeps it.
fn key(entry: &Entry) -> (u32, u32, u64) {
    (entry.tree, entry.site, entry.slot)
}

/// Puts what ledgers have into the builder.
pub fn feed(
    contents: &Contents<'_>,
    methods: &Methods,
    threads: &mut Threads,
    placed: &Placed,
    builder: &mut Builder,
) -> u64 {
    if contents.ledgers.is_empty() {
        return 0;
    }
    let declared = Declared::read(contents);
    let mut details = Details::read(contents);
    let sites = sites(contents, &mut details);
    let mut budget = Budget::of(contents.size());
    let mut metrics: HashMap<u32, (MetricId, Option<MetricId>)> = HashMap::new();
    let mut executions = Executions::new(contents);
    for entry in contents.ledgers.iter().filter(|entry| entry.count | entry.value != 0) {
        if let Some(range) = Executions::range(entry) {
            executions.add(contents, methods, placed, (entry, range), builder, &mut budget);
            continue;
        }
        let known = sites.get(&entry.site).and_then(|site| {
            let metric = declared.get(&site.metric)?;
            Some((site, metric, methods.with_id(site.method)?))
        });
        let Some((site, metric, method)) = known else {
            budget.refuse();
            continue;
        };
        if !budget.take() {
            budget.refuse();
            continue;
        }
        let place = placed.publisher(contents, methods, entry.slot).filter(|_| entry.slot != 0);
        let below = match place {
            // The method has published the slot itself.
            Some((context, Some(running), _)) if running == method.id => context.node,
            // It has no context of its own: that of whoever called it.
            Some((context, ..)) => builder.child(context.node, method.id, UNKNOWN_SITE),
            None => {
                let thread = threads.of_tree(builder, entry.tree, "");
                let root = builder.root(thread);
                builder.child(root, method.id, UNKNOWN_SITE)
            }
        };
        let leaf = details.at(builder, below, site.detail, site.bci, &mut budget);
        let (values, counts) = *metrics.entry(site.metric).or_insert_with(|| {
            let count = (!metric.count.is_empty()).then(|| builder.metric(metric.count_spec(1)));
            (builder.metric(metric.spec()), count)
        });
        builder.add(leaf, values, entry.value.wrapping_add(entry.count.wrapping_mul(site.size)));
        if let Some(counts) = counts {
            builder.add(leaf, counts, entry.count);
        }
    }
    budget.refused()
}

/// What was told of sites. Sizes of instances are those of the class that the site's class loader knows by the name.
fn sites(contents: &Contents<'_>, details: &mut Details) -> HashMap<u32, Site> {
    let mut loaders: HashMap<u32, u32> = HashMap::new();
    let mut of_method: HashMap<u32, u32> = HashMap::new();
    let mut sizes: HashMap<&[u8], Vec<(u32, u32)>> = HashMap::new();
    for record in &contents.records {
        match *record {
            Record::Class { id, loader, .. } => {
                loaders.insert(id, loader);
            }
            Record::Method { id, class, .. } => {
                of_method.insert(id, class);
            }
            Record::ClassSize { loader, bytes, name } => sizes.entry(name).or_default().push((loader, bytes)),
            _ => {}
        }
    }
    let mut sites = HashMap::new();
    for record in &contents.records {
        let Record::Site { id, method, bci, metric, kind, met, name } = *record else { continue };
        let loader = of_method.get(&method).and_then(|class| loaders.get(class)).copied().unwrap_or(0);
        // A class of that name may be another loader's, to which its own leaves it.
        let size = sizes.get(name).and_then(|known| {
            known.iter().find(|(of, _)| *of == loader).or(known.last()).map(|&(_, bytes)| u64::from(bytes))
        });
        // What is met when it is executed has its size with it.
        let size = size.filter(|_| kind == detail::ALLOCATED && met == 0).unwrap_or(0);
        let detail = details.add(kind, &mutf8::decode(name));
        // No method is longer.
        let bci = u16::try_from(bci).map_or(UNKNOWN_SITE, i32::from);
        sites.insert(id, Site { method, bci, metric, detail, size });
    }
    sites
}
