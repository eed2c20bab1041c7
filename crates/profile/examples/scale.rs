//! Times a profile of millions of nodes: build, save, load, totals by method.
//!
//! `cargo run --release -p quipu-profile --example scale [nodes [FILE]]`; FILE is where the profile without sites stays.
//!
//! The tree is the unfolding of a static call graph, as real ones are: few methods are called from many places, whole
//! subtrees repeat, most nodes are leaves, and straight-line methods execute `calls × length` bytecodes.

use quipu_profile::{Builder, Contents, MethodSpec, MetricSpec, Profile, ThreadSpec, UNKNOWN_SITE};
use std::time::Instant;

/// A small xorshift generator: the figures must not depend on a library's version.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % n
    }
}

struct Code {
    callees: Vec<(u32, i32)>,
    length: u64,
    straight: bool,
}

/// 13,000 methods with up to 12 call sites each; low ids are popular (`String`, `HashMap`), high ids are callers.
fn program(b: &mut Builder, random: &mut Random) -> Vec<Code> {
    const METHODS: u32 = 13_000;
    (0..METHODS)
        .map(|id| {
            let class = format!("com.example.{}.part{}.Service{}", id % 37, id % 211, id % 1801);
            let name = format!("operation{}", id % 53);
            let descriptor =
                ["()V", "(I)I", "(Ljava/lang/Object;)Z", "(Ljava/lang/String;II)Ljava/lang/String;"];
            let got = b.method(MethodSpec {
                class: &class,
                name: &name,
                descriptor: descriptor[id as usize % 4],
                loader: &(id / 1801 / 53).to_string(),
                source: &format!("Service{}.java", id % 1801),
                ..Default::default()
            });
            assert_eq!(got, id);
            let callees = (0..if id < 400 { 0 } else { random.below(12) })
                .map(|site| {
                    let popular = random.below(3) > 0;
                    let callee = random.below(u64::from(if popular { id.min(900) } else { id }));
                    (callee as u32, site as i32 * 7 + 3)
                })
                .collect();
            Code { callees, length: 3 + random.below(60), straight: random.below(10) < 6 }
        })
        .collect()
}

fn tree(nodes: usize, sites: bool) -> Builder {
    let random = &mut Random(0x5eed_1234_5678_9abc);
    let mut b = Builder::with_capacity(nodes);
    let (calls, bytecodes) = (b.metric(MetricSpec::calls()), b.metric(MetricSpec::bytecodes()));
    let code = program(&mut b, random);
    let mut open: Vec<(u32, u32, u64)> = Vec::new();
    let mut threads = 0;
    while b.node_count() < nodes {
        let Some((parent, method, times)) = open.pop() else {
            let thread = b.thread(ThreadSpec { name: &format!("worker-{threads}"), ..Default::default() });
            threads += 1;
            for _ in 0..200 {
                open.push((b.root(thread), 9_000 + random.below(4_000) as u32, 1 + random.below(50)));
            }
            continue;
        };
        let body = &code[method as usize];
        let site = if sites { random.below(40) as i32 } else { UNKNOWN_SITE };
        let node = b.push(parent, method, site);
        b.add(node, calls, times);
        let extra = if body.straight { 0 } else { random.below(times * body.length) };
        b.add(node, bytecodes, times * body.length + extra);
        for &(callee, _) in &body.callees {
            if random.below(100) < 80 {
                let factor = if random.below(4) == 0 { 1 + random.below(20) } else { 1 };
                open.push((node, callee, (times * factor).min(1 << 40)));
            }
        }
    }
    b
}

fn timed<T>(what: &str, work: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let result = work();
    println!("{what:<28} {:>8.3} s", start.elapsed().as_secs_f64());
    result
}

/// Kilobytes this process ever held, as the kernel counts.
fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("0 kB");
    line.trim().trim_end_matches(" kB").parse().unwrap_or(0)
}

fn main() {
    let nodes = std::env::args().nth(1).map_or(5_000_000, |n| n.parse().expect("a number of nodes"));
    for sites in [false, true] {
        println!("-- {} call sites", if sites { "with" } else { "without" });
        let builder = timed("feed", || tree(nodes, sites));
        let profile: Profile = timed("finish (canonical order)", || builder.finish());
        let count = profile.tree().len();
        let temporary = std::env::temp_dir().join(format!("scale-{}.quipu", std::process::id()));
        let kept = std::env::args().nth(2).filter(|_| !sites).map(std::path::PathBuf::from);
        let path = kept.clone().unwrap_or(temporary);
        timed("encode", || profile.to_bytes(Contents::All));
        timed("save", || profile.save(&path).expect("the temporary folder is writable"));
        let size = std::fs::metadata(&path).expect("just written").len();
        let again = timed("load", || Profile::load(&path).expect("just written"));
        assert!(again == profile, "a profile survives its file");
        if kept.is_none() {
            std::fs::remove_file(&path).expect("just written");
        }
        println!(
            "{count} nodes, {} threads, {size} bytes: {:.2} bytes/node",
            profile.threads().len(),
            size as f64 / count as f64
        );
        let bytecodes = profile.metric("bytecodes").expect("measured");
        timed("totals by method", || profile.totals_by_method(bytecodes));
        println!("most memory so far: {} MB", peak_memory() / 1000);
    }
}
