//! Questions about the heap that need no profile: who refers to the objects of a class, and why they are alive.
//!
//! Asked when the agent is loaded (`heap=paths,class=…`), answered in the file that the options name, and forgotten: there is
//! no session, no arena and no socket. Tags belong to an environment, and this one is made for the question and disposed
//! of with it, so those of profiles are not touched. The VM stands still during each walk over the heap, for as long as
//! `pause` milliseconds in all, and the answer says how long it did.

mod classes;
mod search;

use std::collections::HashMap;
use std::time::{Duration, Instant};

use quipu_jvm::sys::{
    JVMTI_HEAP_REFERENCE_ARRAY_ELEMENT, JVMTI_HEAP_REFERENCE_FIELD, JVMTI_HEAP_REFERENCE_STATIC_FIELD,
    JVMTI_HEAP_REFERENCE_THREAD,
};
use quipu_jvm::{Capabilities, Capability, Env, HeapReference, Jvm, Jvmti, MethodId};

use classes::Classes;
use search::{End, Link, Search};

/// Different ways of referring to a class's objects that are told apart.
const MOST_KINDS: usize = 4096;
/// How often it is looked whether time is up.
const GLANCE: u64 = 4096;
/// A way longer than this is not looked for.
const MOST_WALKS: u32 = 64;

/// What is asked.
struct Question {
    paths: bool,
    class: String,
    pause: Duration,
    samples: u64,
}

/// Whether options ask something about the heap.
pub fn is_asked(options: &str) -> bool {
    options.starts_with("heap=")
}

/// Answers, in lines.
pub fn answer(vm: Jvm, options: &str) -> Result<String, String> {
    let question = Question::parse(options)?;
    let jvmti = vm.jvmti().map_err(|e| e.to_string())?;
    let answered = jvmti
        .add_capabilities(&Capabilities::of(&[Capability::CAN_TAG_OBJECTS]))
        .map_err(|e| format!("this VM cannot walk its heap now: {e}"))
        .and_then(|()| {
            vm.with_env(|env| env.with_frame(64, |env| question.answer(jvmti, env)))
                .map_err(|e| e.to_string())?
                .map_err(|e| e.to_string())?
        });
    // SAFETY: nothing that was made with it is left.
    let _ = unsafe { jvmti.dispose() };
    answered
}

impl Question {
    fn parse(options: &str) -> Result<Question, String> {
        let mut question =
            Question { paths: true, class: String::new(), pause: Duration::from_secs(10), samples: 8 };
        for pair in options.split(',') {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            let number = || value.parse::<u64>().map_err(|_| format!("{key}: not a number"));
            match key {
                "heap" => {
                    question.paths = match value {
                        "paths" => true,
                        "refs" => false,
                        _ => return Err(format!("unknown question '{value}'")),
                    }
                }
                "class" => question.class = value.to_owned(),
                "pause" => question.pause = Duration::from_millis(number()?),
                "samples" => question.samples = number()?.clamp(1, search::SAMPLES as u64),
                "answer" => {}
                _ => return Err(format!("unknown option '{key}'")),
            }
        }
        Ok(question)
    }

    fn answer(&self, jvmti: Jvmti, env: &mut Env<'_>) -> Result<String, String> {
        let classes = Classes::tagged(jvmti, env)?;
        let wanted = classes.matching(&self.class);
        if wanted.is_empty() {
            return Err(format!(
                "no class '{}' is loaded; stars stand for anything, and packages are part of the name",
                self.class
            ));
        }
        let threads = threads(jvmti, env, classes.count());
        let mut walks = Walks { left: self.pause, ..Walks::default() };
        let mut out = String::new();
        let mut write = |line: String| {
            out.push_str(&line);
            out.push('\n');
        };
        if self.paths {
            self.paths(jvmti, env, &classes, &wanted, &threads, &mut walks, &mut write)?;
        } else {
            refs(jvmti, env, &classes, &wanted, &threads, &mut walks, &mut write)?;
        }
        let nanos = |time: Duration| time.as_nanos();
        write(format!("walks\t{}\t{}\t{}", walks.count, nanos(walks.total), nanos(walks.longest)));
        if walks.late {
            write("stopped\ttime is up".to_owned());
        }
        Ok(out)
    }

    #[allow(clippy::too_many_arguments, reason = "they are what is known of the VM")]
    fn paths(
        &self,
        jvmti: Jvmti,
        env: &Env<'_>,
        classes: &Classes<'_>,
        wanted: &std::collections::HashSet<i64>,
        threads: &[String],
        walks: &mut Walks,
        write: &mut impl FnMut(String),
    ) -> Result<(), String> {
        let mut instances = 0_u64;
        walks.objects(jvmti, |class, _| instances += u64::from(wanted.contains(&class)))?;
        let every = instances.div_ceil(self.samples).max(1);
        let (mut search, mut seen) = (Search::new(), 0_u64);
        walks.objects(jvmti, |class, tag| {
            if wanted.contains(&class) {
                if seen.is_multiple_of(every)
                    && *tag == 0
                    && let Some(new) = search.ask(class)
                {
                    *tag = new;
                }
                seen += 1;
            }
        })?;
        let (weak, first_thread) = (classes.weak(env), classes.count() + 1);
        let mut methods: Vec<MethodId> = Vec::new();
        for _ in 0..MOST_WALKS {
            if walks.late {
                break;
            }
            walks.references(jvmti, |reference| {
                let tag = reference.tag();
                if !search.wants(tag) {
                    return !search.is_solved();
                }
                match reference.referrer_tag() {
                    None => search.ends(tag, root(reference, &mut methods)),
                    // A class object holds it, or a thread.
                    Some(referrer) if (1..first_thread).contains(&referrer) => {
                        let field = reference.index.filter(|_| reference.kind == JVMTI_HEAP_REFERENCE_STATIC_FIELD);
                        search.ends(tag, End::Class(referrer, field));
                    }
                    Some(referrer) if (first_thread..search::FIRST).contains(&referrer) => {
                        search.ends(tag, End::Thread(referrer, None));
                    }
                    Some(referrer) => {
                        let link = link(reference);
                        let is_weak = matches!(link, Link::Field(index) if weak.contains(&(reference.referrer_class_tag, index)));
                        if !is_weak
                            && let Some(new) = search.refers(tag, link, referrer, reference.referrer_class_tag)
                        {
                            reference.set_referrer_tag(new);
                        }
                    }
                }
                true
            })?;
            if !search.next() {
                break;
            }
        }
        write(format!("instances\t{instances}"));
        if search.full {
            write("stopped\tmore objects are on the way than are kept in mind".to_owned());
        }
        for way in search.ways() {
            let Some(way) = way else {
                write("none".to_owned());
                continue;
            };
            let mut line = format!(
                "{}\t{}",
                if way.end == End::Unknown { "part" } else { "path" },
                end_text(jvmti, env, classes, threads, &methods, way.end)
            );
            for (class, link) in way.steps {
                let by = link.map_or(String::new(), |link| link_text(env, classes, class, link));
                line.push_str(&format!("\t{}\t{by}", classes.name(class)));
            }
            write(line);
        }
        Ok(())
    }
}

/// Who refers to objects of classes directly, by class and field.
fn refs(
    jvmti: Jvmti,
    env: &Env<'_>,
    classes: &Classes<'_>,
    wanted: &std::collections::HashSet<i64>,
    threads: &[String],
    walks: &mut Walks,
    write: &mut impl FnMut(String),
) -> Result<(), String> {
    let mut counts: HashMap<(i64, Link), u64> = HashMap::with_capacity(MOST_KINDS);
    let mut ends: Vec<(End, u64)> = Vec::new();
    let (mut methods, mut left_out) = (Vec::new(), 0_u64);
    let first_thread = classes.count() + 1;
    walks.references(jvmti, |reference| {
        if !wanted.contains(&reference.class_tag) {
            return true;
        }
        let end = match reference.referrer_tag() {
            None => Some(root(reference, &mut methods)),
            Some(referrer) if (1..first_thread).contains(&referrer) => Some(End::Class(
                referrer,
                reference.index.filter(|_| reference.kind == JVMTI_HEAP_REFERENCE_STATIC_FIELD),
            )),
            Some(_) => None,
        };
        match end {
            Some(end) => match ends.iter().position(|(known, _)| *known == end) {
                Some(at) => ends.get_mut(at).into_iter().for_each(|(_, count)| *count += 1),
                None if ends.len() < MOST_KINDS => ends.push((end, 1)),
                None => left_out += 1,
            },
            None => {
                let link = match link(reference) {
                    Link::Element(_) => Link::Element(0),
                    link => link,
                };
                let key = (reference.referrer_class_tag, link);
                if counts.len() < MOST_KINDS || counts.contains_key(&key) {
                    *counts.entry(key).or_insert(0) += 1;
                } else {
                    left_out += 1;
                }
            }
        }
        true
    })?;
    for ((class, link), count) in counts {
        let by = match link {
            Link::Element(_) => "[]".to_owned(),
            link => link_text(env, classes, class, link),
        };
        write(format!("ref\t{count}\t{}\t{by}", classes.name(class)));
    }
    for (end, count) in ends {
        write(format!("ref\t{count}\t{}\t", end_text(jvmti, env, classes, threads, &methods, end)));
    }
    if left_out > 0 {
        write(format!("stopped\t{left_out} references are of further kinds"));
    }
    Ok(())
}

/// Walks over the heap: how long they took, and how long they may take.
#[derive(Default)]
struct Walks {
    count: u32,
    total: Duration,
    longest: Duration,
    left: Duration,
    late: bool,
}

impl Walks {
    fn objects(&mut self, jvmti: Jvmti, mut each: impl FnMut(i64, &mut i64)) -> Result<(), String> {
        self.timed(|glance| {
            jvmti.iterate_through_heap(&mut |class, tag| {
                each(class, tag);
                glance()
            })
        })
    }

    fn references(
        &mut self,
        jvmti: Jvmti,
        mut each: impl FnMut(&HeapReference) -> bool,
    ) -> Result<(), String> {
        self.timed(|glance| jvmti.follow_references(&mut |reference| each(reference) && glance()))
    }

    /// Times a walk, and ends it when time is up.
    fn timed(
        &mut self,
        walk: impl FnOnce(&mut dyn FnMut() -> bool) -> Result<(), quipu_jvm::Error>,
    ) -> Result<(), String> {
        if self.late {
            return Ok(());
        }
        let (begun, left) = (Instant::now(), self.left);
        let (mut seen, mut late) = (0_u64, false);
        let walked = walk(&mut || {
            seen += 1;
            late |= seen.is_multiple_of(GLANCE) && begun.elapsed() > left;
            !late
        });
        let took = begun.elapsed();
        self.count += 1;
        self.total += took;
        self.longest = self.longest.max(took);
        self.left = self.left.saturating_sub(took);
        self.late = late;
        walked.map_err(|e| e.to_string())
    }
}

/// Gives tags to the threads that run, behind those of classes; their names.
fn threads(jvmti: Jvmti, env: &Env<'_>, classes: i64) -> Vec<String> {
    let mut names = Vec::new();
    for thread in jvmti.all_threads(env).unwrap_or_default() {
        let tag = classes + 1 + names.len() as i64;
        let name = jvmti.thread_info(env, Some(thread)).map(|info| info.name.to_string());
        if let (Ok(name), Ok(())) = (name, jvmti.set_tag(thread, tag)) {
            names.push(name);
        }
    }
    names
}

fn link(reference: &HeapReference) -> Link {
    match (reference.kind, reference.index) {
        (JVMTI_HEAP_REFERENCE_FIELD, Some(index)) => Link::Field(index),
        (JVMTI_HEAP_REFERENCE_ARRAY_ELEMENT, Some(index)) => Link::Element(index),
        (kind, _) => Link::Other(kind.0),
    }
}

/// Methods are kept aside: they have names only when the VM goes on.
fn root(reference: &HeapReference, methods: &mut Vec<MethodId>) -> End {
    let Some((thread, method)) = reference.local else { return End::Root(reference.kind.0) };
    let at = methods.iter().position(|known| known.raw() == method.raw()).unwrap_or_else(|| {
        methods.push(method);
        methods.len() - 1
    });
    End::Thread(thread, Some(at))
}

fn link_text(env: &Env<'_>, classes: &Classes<'_>, class: i64, link: Link) -> String {
    match link {
        Link::Field(index) => classes.field(env, class, index),
        Link::Element(index) => format!("[{index}]"),
        Link::Other(_) => "<class>".to_owned(),
    }
}

fn end_text(
    jvmti: Jvmti,
    env: &Env<'_>,
    classes: &Classes<'_>,
    threads: &[String],
    methods: &[MethodId],
    end: End,
) -> String {
    match end {
        End::Class(class, Some(field)) => {
            format!("static {}.{}", classes.name(class), classes.field(env, class, field))
        }
        End::Class(class, None) => format!("class {}", classes.name(class)),
        End::Thread(tag, method) => {
            let at = usize::try_from(tag - classes.count() - 1).ok();
            let name = at.and_then(|at| threads.get(at)).map_or("?", String::as_str);
            let method = method.and_then(|at| methods.get(at)).and_then(|method| {
                let class = jvmti.declaring_class(env, *method).ok()?;
                let tag = jvmti.tag(class).ok()?;
                Some(format!(
                    ", local variable in {}.{}",
                    classes.name(tag),
                    jvmti.method_name(*method).ok()?.name
                ))
            });
            format!("thread \"{name}\"{}", method.unwrap_or_default())
        }
        End::Unknown => "further up is not known".to_owned(),
        End::Root(kind) => match kind {
            21 => "JNI global reference",
            22 => "system class",
            23 => "locked monitor",
            24 => "local variable",
            25 => "JNI local reference",
            kind if kind == JVMTI_HEAP_REFERENCE_THREAD.0 => "thread",
            _ => "VM root",
        }
        .to_owned(),
    }
}
