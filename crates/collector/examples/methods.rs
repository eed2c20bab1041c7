//! Prints calls and bytecodes of the methods of a profile, by thread.
use std::collections::BTreeMap;

fn main() {
    let path = std::env::args().nth(1).expect("a .quipu file");
    let want = std::env::args().nth(2).unwrap_or_else(|| "main".into());
    let p = quipu_profile::Profile::load(path).unwrap();
    let calls = p.metric("calls").unwrap();
    let bytecodes = p.metric("bytecodes").unwrap();
    let mut rows: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    for t in p.threads() {
        let range = p.tree().subtree(t.root);
        eprintln!("thread {:?} threads={} nodes={}", p.str(t.name), t.threads, range.len());
        if p.str(t.name) != want {
            continue;
        }
        for n in range.skip(1) {
            let m = p.tree().method(n).unwrap();
            let row = rows.entry(p.method_name(m)).or_default();
            row.0 += calls.values()[n as usize];
            row.1 += bytecodes.values()[n as usize];
        }
    }
    for (name, (c, b)) in rows {
        println!("{c:>12} {b:>14} {name}");
    }
}
