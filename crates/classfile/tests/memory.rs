//! Peak memory while a class is rewritten: what parsing needs, all buffers, and the output.
//!
//! An allocator that counts needs `unsafe`; it only forwards to the system's.
#![allow(unsafe_code)]

mod support;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use quipu_classfile::ClassFile;
use support::shapes::{Rewriter, Shape};

struct Counting;

static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is passed on unchanged to the system allocator; the counters do not influence it.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let live = LIVE.fetch_add(layout.size(), Relaxed) + layout.size();
        PEAK.fetch_max(live, Relaxed);
        // SAFETY: the caller's obligations are the system allocator's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the pointer came from `alloc` above with this layout.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// What an editor takes for any class: the list of its buffers, behind a pointer so that it is not moved about.
const FIXED: usize = 768;

/// Peak memory of one class, in multiples of its size.
fn extra(rewriter: &mut Rewriter, bytes: &[u8], shape: Shape) -> f64 {
    let before = LIVE.load(Relaxed);
    PEAK.store(before, Relaxed);
    let class = ClassFile::parse(bytes).expect("parses");
    assert!(!rewriter.rewrite(&class, shape).is_empty());
    let extra = (PEAK.load(Relaxed) - before).saturating_sub(FIXED) as f64 / bytes.len() as f64;
    rewriter.refused.clear();
    extra
}

/// Four times the class is enough where buffers are kept from class to class, and for a counter in every block anywhere. For
/// the rest the bound is what it takes today: docs/classfile.md says for which classes.
#[test]
fn rewriting_takes_a_few_times_the_class() {
    let mut over = Vec::new();
    for jdk in support::jdks() {
        let files = support::sampled(support::class_files(&jdk.classes()));
        let classes: Vec<Vec<u8>> = files.iter().map(|file| std::fs::read(file).expect("class")).collect();
        for (shape, keeps_buffers, bound) in [
            (Shape::Counter, false, 4.0),
            (Shape::Counter, true, 4.0),
            (Shape::Full, false, 5.25),
            (Shape::Full, true, 4.0),
        ] {
            let mut rewriter = Rewriter::default();
            let mut all: Vec<(f64, usize)> = Vec::new();
            for (i, bytes) in classes.iter().enumerate() {
                if !keeps_buffers {
                    rewriter = Rewriter::default();
                }
                all.push((extra(&mut rewriter, bytes, shape), i));
            }
            let mean = all.iter().map(|(extra, _)| extra).sum::<f64>() / all.len() as f64;
            let above = all.iter().filter(|(extra, _)| *extra >= 4.0).count();
            let (worst, i) = all.into_iter().max_by(|a, b| a.0.total_cmp(&b.0)).expect("classes");
            let (name, size) = (files[i].display(), classes[i].len());
            let buffers = if keeps_buffers { "kept" } else { "new" };
            println!(
                "{} {shape:?}, {buffers} buffers: mean {mean:.2}, worst {worst:.2} ({name}, {size} bytes), {above} of {} above",
                jdk.name,
                classes.len()
            );
            if worst >= bound {
                over.push(format!("{shape:?}, {buffers} buffers: {worst:.2} times {name}"));
            }
        }
    }
    assert!(over.is_empty(), "{over:#?}");
}
