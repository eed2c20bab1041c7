//! The Rust half of `bench/rewriter`: rewrites all classes of a pack in memory, many times.
//!
//! `bench PACK ROUNDS THREADS` where a pack is a sequence of big-endian length and class bytes. Prints one line per
//! round: CPU nanoseconds of the slowest thread, wall nanoseconds, bytes in, bytes out, methods edited.

#[allow(dead_code)]
#[path = "../tests/support/shapes.rs"]
mod shapes;

use std::time::Instant;

use quipu_classfile::{ClassFile, Lists};
use shapes::{Rewriter, Shape};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [pack, rounds, threads] = arguments.as_slice() else {
        return Err("usage: bench PACK ROUNDS THREADS".into());
    };
    let (rounds, threads): (usize, usize) = (rounds.parse()?, threads.parse()?);
    let pack = std::fs::read(pack)?;
    let mut classes = Vec::new();
    let mut rest = pack.as_slice();
    while let Some((length, tail)) = rest.split_first_chunk::<4>() {
        let (class, tail) = tail.split_at(u32::from_be_bytes(*length) as usize);
        classes.push(class);
        rest = tail;
    }
    let bytes_in: usize = classes.iter().map(|c| c.len()).sum();
    let mut rewriters: Vec<Rewriter> = (0..threads).map(|_| Rewriter::default()).collect();
    for _ in 0..rounds {
        let start = Instant::now();
        let (bytes_out, cpu) = std::thread::scope(|scope| {
            let workers: Vec<_> = rewriters
                .iter_mut()
                .enumerate()
                .map(|(t, rewriter)| {
                    let mine = classes.iter().skip(t).step_by(threads);
                    scope.spawn(move || {
                        let before = cpu_nanoseconds();
                        rewriter.edited = 0;
                        rewriter.refused.clear();
                        let mut lists = Lists::default();
                        let mut out = 0;
                        for bytes in mine {
                            let Ok(class) = ClassFile::parse_with(bytes, lists) else { return (0, 0) };
                            let rewritten = rewriter.rewrite(&class, Shape::Counter);
                            out += rewritten.len();
                            rewriter.take_back(rewritten);
                            lists = class.into_lists();
                        }
                        (out, cpu_nanoseconds() - before)
                    })
                })
                .collect();
            let results = workers.into_iter().map(|w| w.join().unwrap_or((0, 0)));
            results.fold((0, 0), |(out, cpu), (o, c)| (out + o, cpu.max(c)))
        });
        let edited: u64 = rewriters.iter().map(|r| r.edited).sum();
        println!("{cpu} {} {bytes_in} {bytes_out} {edited}", start.elapsed().as_nanos());
    }
    Ok(())
}

/// Time this thread has been on a processor: the only fair clock on a busy machine.
fn cpu_nanoseconds() -> u64 {
    // The kernel brings the count up to date when a thread gives way, and else every few milliseconds.
    std::thread::yield_now();
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    stat.split(' ').next().and_then(|n| n.parse().ok()).unwrap_or(0)
}
