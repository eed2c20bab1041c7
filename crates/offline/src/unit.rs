//! Classes that are found below one root, usually those of a jar: they share ids, a log and the class that brings both
//! to the runtime.
//!
//! The result depends on the classes and the plan only. So ids are given out before anything is rewritten, which is
//! done in parallel: to methods in the order of the classes, then to the opaque methods that constant pools name.

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};

use quipu_arena::layout;
use quipu_classfile::{ClassFile, tag};
use quipu_rewrite::{Call, Known, OpaqueCallee, Plan, Rewritten, World, rewrite};
use rayon::prelude::*;

use crate::error::Error;
use crate::jar_class;
use crate::log::MethodLog;
use crate::{Left, Progress};

/// Half of the ids; the runtime keeps the others free.
const MOST_METHODS: u32 = layout::MAX_METHODS / 2 - 8;

/// What became of the classes of a unit.
#[derive(Debug, Default)]
pub struct Instrumented {
    /// The new bytes of each class, in the order given; `None` if it stays as it is.
    pub classes: Vec<Option<Vec<u8>>>,
    /// The files to put beside the root's packages: name and contents.
    pub added: Vec<(String, Vec<u8>)>,
    /// What was left as it is.
    pub left: Vec<Left>,
    /// Methods that have become too long for HotSpot to compile.
    pub huge: Vec<String>,
    /// Methods rewritten.
    pub methods: u64,
}

type OpaqueKey = (Box<[u8]>, Box<[u8]>, Box<[u8]>);

/// Ids of opaque methods, and which of them some class uses.
struct OpaqueIds<'a> {
    world: &'a World,
    ids: HashMap<OpaqueKey, (u32, AtomicBool)>,
}

impl Known for OpaqueIds<'_> {
    fn opaque(&self, call: &Call<'_>) -> Option<OpaqueCallee> {
        let method = self.world.opaque(call)?;
        let (id, used) = self.ids.get(&(method.class, call.name.into(), call.descriptor.into()))?;
        used.store(true, Ordering::Relaxed);
        Some(OpaqueCallee { id: *id, certain: method.certain, presumed: false })
    }
}

/// Rewrites the classes of a unit.
pub fn instrument(
    classes: &[&[u8]],
    plan: &Plan,
    world: &World,
    progress: &dyn Progress,
) -> Result<Instrumented, Error> {
    let parsed: Vec<_> = classes.par_iter().map(|bytes| ClassFile::parse(bytes)).collect();
    let wanted = |class: &ClassFile<'_>| class.name() != b"module-info" && plan.touches(class.name());
    let mut next = 0u32;
    let mut firsts = Vec::with_capacity(parsed.len());
    for class in &parsed {
        firsts.push(next);
        if let Ok(class) = class.as_ref().map(|class| (class, wanted(class)))
            && class.1
        {
            next = next.saturating_add(class.0.methods().len() as u32);
        }
    }
    let opaque = parsed
        .par_iter()
        .filter_map(|class| class.as_ref().ok().filter(|class| wanted(class)))
        .map(|class| opaque_methods(class, world))
        .reduce(BTreeSet::new, |mut a, mut b| {
            a.append(&mut b);
            a
        });
    let mut known = OpaqueIds { world, ids: HashMap::with_capacity(opaque.len()) };
    for key in &opaque {
        known.ids.insert(key.clone(), (next, AtomicBool::new(false)));
        next = next.saturating_add(1);
    }
    if next > MOST_METHODS {
        return Err(Error::TooLarge("more methods than the runtime has ids for"));
    }
    let name = format!("{}J{:016x}", jar_class::PACKAGE, fingerprint(classes, plan));
    let plan = Plan { relative_to: Some(name.clone()), ..plan.clone() };
    let rewritten: Vec<Option<Result<Rewritten, String>>> = parsed
        .par_iter()
        .zip(&firsts)
        .map(|(class, &first)| {
            let rewritten = match class {
                Ok(class) if wanted(class) => {
                    Some(rewrite(class, &plan, first, &known).map_err(|e| e.to_string()))
                }
                Ok(_) => None,
                Err(error) => Some(Err(error.to_string())),
            };
            progress.done(1);
            rewritten
        })
        .collect();
    Ok(collect(
        &name,
        next,
        &parsed,
        rewritten,
        &opaque,
        &known,
        plan.exact().is_some_and(|exact| exact.sites),
    ))
}

fn collect(
    name: &str,
    ids: u32,
    parsed: &[Result<ClassFile<'_>, quipu_classfile::Error>],
    rewritten: Vec<Option<Result<Rewritten, String>>>,
    opaque: &BTreeSet<OpaqueKey>,
    known: &OpaqueIds<'_>,
    sites: bool,
) -> Instrumented {
    let mut out = Instrumented::default();
    let mut log = MethodLog::new(ids);
    let name_of = |what: &[u8]| String::from_utf8_lossy(what).replace('/', ".");
    let mut leave = |log: &mut MethodLog, what: &[u8], why: String| {
        log.left(what, &why);
        out.left.push(Left { what: name_of(what), why });
    };
    for (class, rewritten) in parsed.iter().zip(rewritten) {
        let bytes = match (class, rewritten) {
            (Ok(class), Some(Ok(rewritten))) => {
                for left in &rewritten.left {
                    let Some(method) = class.method(left.index) else { continue };
                    let what = [class.name(), b".", method.name(), method.descriptor()].concat();
                    leave(&mut log, &what, left.why.clone());
                    log.methods_left += 1;
                }
                let huge = rewritten.huge.iter().filter_map(|&index| class.method(index));
                out.huge.extend(huge.map(|method| name_of(&[class.name(), b".", method.name()].concat())));
                if !rewritten.shapes.is_empty() {
                    log.class(class, &rewritten.shapes);
                }
                rewritten.bytes
            }
            (_, Some(Err(why))) => {
                let what = class.as_ref().map_or(&b"a class that cannot be parsed"[..], |class| class.name());
                leave(&mut log, what, why);
                log.classes_left += 1;
                None
            }
            _ => None,
        };
        out.classes.push(bytes);
    }
    let used = opaque.iter().filter_map(|key| {
        let (id, used) = known.ids.get(key)?;
        used.load(Ordering::Relaxed).then_some((*id, [&*key.0, &*key.1, &*key.2]))
    });
    log.opaque(used);
    out.methods = log.methods.into();
    if log.methods > 0 {
        out.added.push((format!("{name}.class"), jar_class::class_file(name, ids)));
        out.added.push((format!("{name}.log"), log.into_bytes(sites)));
    }
    out
}

/// Every opaque method that the class might call, by the methods its constant pool names.
fn opaque_methods(class: &ClassFile<'_>, world: &World) -> BTreeSet<OpaqueKey> {
    let pool = class.pool();
    let mut found = BTreeSet::new();
    for index in 1..pool.count() {
        if !matches!(pool.tag(index), Some(tag::METHOD_REF | tag::INTERFACE_METHOD_REF)) {
            continue;
        }
        let Ok(member) = pool.member(index) else { continue };
        let call = Call {
            owner: member.owner,
            name: member.name,
            descriptor: member.descriptor,
            is_virtual: true,
            is_interface: false,
        };
        if let Some(method) = world.opaque(&call) {
            found.insert((method.class, member.name.into(), member.descriptor.into()));
        }
    }
    found
}

/// A number for what is rewritten and how (FNV-1a): two jars must not have classes of the same name for it, and the
/// same jar the same name every time.
fn fingerprint(classes: &[&[u8]], plan: &Plan) -> u64 {
    const PRIME: u64 = 0x0100_0000_01B3;
    let plan = format!("{plan:?}");
    let parts = classes.iter().copied().chain([plan.as_bytes()]);
    parts.fold(0xCBF2_9CE4_8422_2325, |hash, part| {
        let length = (part.len() as u64).to_le_bytes();
        length.iter().chain(part).fold(hash, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(PRIME))
    })
}
