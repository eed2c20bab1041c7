//! Peak memory while a class is rewritten, output included, with buffers reused from class to class.
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

#[test]
fn rewriting_takes_less_than_four_times_the_class() {
    for jdk in support::jdks() {
        for shape in [Shape::Counter, Shape::Full] {
            let mut rewriter = Rewriter::default();
            let (mut worst, mut worst_name, mut sum, mut count) = (0.0f64, String::new(), 0.0, 0u32);
            for file in support::sampled(support::class_files(&jdk.classes())) {
                let bytes = std::fs::read(&file).expect("class");
                let before = LIVE.load(Relaxed);
                PEAK.store(before, Relaxed);
                let class = ClassFile::parse(&bytes).expect("parses");
                let written = rewriter.rewrite(&class, shape).len();
                let extra = (PEAK.load(Relaxed) - before) as f64 / bytes.len() as f64;
                rewriter.refused.clear();
                assert!(written > 0);
                sum += extra;
                count += 1;
                if extra > worst {
                    (worst, worst_name) = (extra, file.display().to_string());
                }
            }
            println!(
                "{} {shape:?}: mean {:.2}, worst {worst:.2} ({worst_name})",
                jdk.name,
                sum / f64::from(count)
            );
            // The other shape makes a block of almost every instruction; its figures are for the record.
            assert!(worst < 4.0 || shape == Shape::Full, "{shape:?} takes {worst:.2} times {worst_name}");
        }
    }
}
