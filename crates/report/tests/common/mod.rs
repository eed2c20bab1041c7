//! A small profile whose every number can be checked by hand.
#![allow(dead_code)]

use quipu_profile::{
    Aggregation, Block, Builder, Event, Line, MethodFlags, MethodId, MethodSpec, MetricSpec, NO_BCI,
    NO_LABELS, NO_NODE, NO_THREAD, NodeId, Profile, Sample, ThreadSpec, Unit,
};

pub struct Maker {
    pub b: Builder,
    pub calls: u32,
    pub bytecodes: u32,
}

impl Maker {
    pub fn new() -> Maker {
        let mut b = Builder::new();
        let (calls, bytecodes) = (b.metric(MetricSpec::calls()), b.metric(MetricSpec::bytecodes()));
        Maker { b, calls, bytecodes }
    }

    pub fn method(&mut self, class: &str, name: &str, descriptor: &str) -> MethodId {
        let simple = class.rsplit('.').next().unwrap();
        let source = format!("{}.java", simple.split('$').next().unwrap());
        self.b.method(MethodSpec { class, name, descriptor, source: &source, ..Default::default() })
    }

    pub fn thread(&mut self, name: &str, threads: u64) -> NodeId {
        let thread = self.b.thread(ThreadSpec { name, threads, ..Default::default() });
        self.b.root(thread)
    }

    pub fn node(
        &mut self,
        parent: NodeId,
        method: MethodId,
        site: i32,
        calls: u64,
        bytecodes: u64,
    ) -> NodeId {
        let node = self.b.push(parent, method, site);
        self.b.add(node, self.calls, calls);
        self.b.add(node, self.bytecodes, bytecodes);
        node
    }
}

/// `main` calls `sum` and a recursive `fib`; two workers share a tree; `hashCode` is opaque.
pub fn profile() -> Profile {
    sample(1)
}

/// The same with `fib` doing `factor` times the work.
pub fn sample(factor: u64) -> Profile {
    let mut m = Maker::new();
    let main = m.method("app.Foo", "main", "([Ljava/lang/String;)V");
    let sum = m.method("app.Foo", "sum", "(II)I");
    let add = m.method("app.Foo", "add", "(II)I");
    let fib = m.method("app.math.Fib", "fib", "(I)I");
    let put =
        m.method("java.util.HashMap", "put", "(Ljava/lang/Object;Ljava/lang/Object;)Ljava/lang/Object;");
    let hash = m.method("java.lang.Object", "hashCode", "()I");
    m.b.set_flags(hash, MethodFlags::INTRINSIC);
    let run = m.method("app.Worker", "run", "()V");

    let root = m.thread("main", 1);
    let n_main = m.node(root, main, -1, 1, 100);
    let n_sum = m.node(n_main, sum, 4, 1, 10_007);
    m.node(n_sum, add, 12, 1000, 4000);
    let mut fib_at = m.node(n_main, fib, 9, 1, 300 * factor);
    for _ in 0..3 {
        fib_at = m.node(fib_at, fib, 7, 2, 200 * factor);
    }
    let n_put = m.node(n_main, put, 20, 5, 150);
    m.node(n_put, hash, 1, 5, 0);

    let root = m.thread("worker", 2);
    let n_run = m.node(root, run, -1, 2, 40);
    let n_put = m.node(n_run, put, 3, 40, 1200);
    m.node(n_put, hash, 1, 40, 0);

    m.b.method(MethodSpec {
        class: "app.Foo",
        name: "sum",
        descriptor: "(II)I",
        lines: &[Line { bci: 0, line: 10 }, Line { bci: 4, line: 11 }, Line { bci: 15, line: 13 }],
        ..Default::default()
    });
    for (bci, instructions, count) in [(0, 2, 1), (2, 3, 1001), (5, 7, 1000), (15, 2, 1)] {
        m.b.block(sum, Block { bci, instructions, count });
    }
    m.b.meta.target.command = ["java", "-cp", "app.jar", "app.Foo"].map(str::to_owned).to_vec();
    m.b.finish()
}

/// The same program, looked at every 10 ms: each sample is one context on a stack.
pub fn sampled(factor: u64) -> Profile {
    let mut b = Builder::new();
    let time = b.metric(MetricSpec::sampled("samples.cpu", Unit::Nanoseconds, 10_000_000));
    let edges = b.metric(MetricSpec {
        aggregation: Aggregation::Count,
        ..MetricSpec::sampled("samples.calls", Unit::Count, 1)
    });
    let thread = b.thread(ThreadSpec { name: "main", ..Default::default() });
    let method = |b: &mut Builder, name| {
        b.method(MethodSpec { class: "app.Foo", name, descriptor: "()V", ..Default::default() })
    };
    let (main, hot, cold) = (method(&mut b, "main"), method(&mut b, "hot"), method(&mut b, "cold"));
    let n_main = b.push(b.root(thread), main, -1);
    for (callee, samples) in [(hot, 300 * factor), (cold, 2)] {
        let node = b.push(n_main, callee, 4);
        b.add(node, time, samples * 10_000_000);
        b.add(node, edges, samples);
    }
    b.add(n_main, time, 98 * 10_000_000);
    b.finish()
}

/// Objects that were made, waits for a lock, and what took place when.
pub fn about() -> Profile {
    let mut b = Builder::new();
    let bytes = b.metric(MetricSpec::sampled("alloc.bytes", Unit::Bytes, 512 << 10));
    let count = b.metric(MetricSpec::sampled("alloc.count", Unit::Count, 1000));
    let waited = b.metric(MetricSpec::exact("lock.time", Unit::Nanoseconds));
    let waits = b.metric(MetricSpec::exact("lock.count", Unit::Count));
    let blocked = b.metric(MetricSpec::exact("lock.blocked", Unit::Nanoseconds));
    let thread = b.thread(ThreadSpec { name: "main", ..Default::default() });
    let method = |b: &mut Builder, class, name| {
        b.method(MethodSpec { class, name, descriptor: "()V", ..Default::default() })
    };
    let detail = |b: &mut Builder, class, name, descriptor| {
        let flags = MethodFlags::DETAIL;
        b.method(MethodSpec { class, name, descriptor, flags, ..Default::default() })
    };
    let main = method(&mut b, "app.Foo", "main");
    let park = method(&mut b, "java.util.concurrent.locks.LockSupport", "park");
    let string = detail(&mut b, "java.lang.String", "[allocated]", "");
    let array = detail(&mut b, "byte[]", "[allocated]", "");
    let lock = detail(&mut b, "app.Lock", "[lock]", "@1f");
    let touched = detail(&mut b, "app.Cache", "[object]", "");
    let n_main = b.push(b.root(thread), main, -1);
    for (class, size, objects) in [(string, 3 << 20, 90_000), (array, 5 << 20, 40)] {
        let node = b.child(n_main, class, -1);
        b.add(node, bytes, size);
        b.add(node, count, objects);
    }
    let n_park = b.push(n_main, park, 7);
    let n_lock = b.child(n_park, lock, -1);
    for (i, value) in [5_000u64, 20_000, 1_000_000].into_iter().enumerate() {
        b.add(n_lock, waited, value);
        b.add(n_lock, waits, 1);
        let labels = if i == 0 { NO_LABELS } else { b.labels(&[("request", "/search")]) };
        let (time, bci) = (i as u64 * 1000, NO_BCI);
        b.sample(Sample { time, thread, node: n_lock, metric: waited, value, labels, bci });
    }
    let n_held = b.child(n_main, lock, -1);
    b.add(n_held, blocked, 900_000);
    let n_touched = b.child(n_main, touched, -1);
    b.add(n_touched, bytes, 1 << 20);
    let (pause, load, what, class) =
        (b.string("gc.pause"), b.string("class.load"), b.string("what"), b.string("app.Foo"));
    b.event(Event {
        time: 2_000_000,
        duration: 1_500_000,
        thread: NO_THREAD,
        node: NO_NODE,
        name: pause,
        details: Vec::new(),
    });
    b.event(Event { time: 500, duration: 0, thread, node: n_main, name: load, details: vec![(what, class)] });
    b.finish()
}

/// Objects that survive, made at two places: those of one grow, those of the other come and go. And what pauses found.
pub fn survivors() -> Profile {
    let mut b = Builder::new();
    let spec = MetricSpec::sampled("live.bytes", Unit::Bytes, 1 << 10);
    let variance = b.metric(spec.variance());
    let (bytes, count) = (b.metric(spec), b.metric(MetricSpec::sampled("live.count", Unit::Count, 10)));
    let thread = b.thread(ThreadSpec { name: "main", ..Default::default() });
    let lines = [Line { bci: 0, line: 10 }, Line { bci: 4, line: 11 }];
    let method = |b: &mut Builder, name| {
        let (class, descriptor, source) = ("app.Shop", "()V", "Shop.java");
        b.method(MethodSpec { class, name, descriptor, source, lines: &lines, ..Default::default() })
    };
    let (main, login) = (method(&mut b, "main"), method(&mut b, "login"));
    let class = |b: &mut Builder, class| {
        let flags = MethodFlags::DETAIL;
        b.method(MethodSpec { class, name: "[allocated]", flags, ..Default::default() })
    };
    let (session, page) = (class(&mut b, "app.Session"), class(&mut b, "app.Page"));
    let n_main = b.push(b.root(thread), main, -1);
    let n_login = b.push(n_main, login, -1);
    for (class, bci, points) in
        [(session, 6, "1024 2048 4096 8192 9216"), (page, 2, "4096 2048 4096 1024 4096")]
    {
        let node = b.child(n_login, class, -1);
        let value: u64 = points.rsplit(' ').next().and_then(|last| last.parse().ok()).unwrap_or(0);
        for (metric, value) in [(bytes, value), (count, value / 64), (variance, value << 10)] {
            b.add(node, metric, value);
            b.sample(Sample { time: 1, thread, node, metric, value, labels: NO_LABELS, bci });
        }
        let details = [("age", "7"), ("bytes", points), ("collections", "1 2 3 5 9")];
        let mut details: Vec<_> =
            details.iter().map(|(key, value)| (b.string(key), b.string(value))).collect();
        details.sort_unstable();
        let name = b.string("live.growth");
        b.event(Event { time: 0, duration: 0, thread, node, name, details });
    }
    for (time, before, after) in [(1_000_000, "9000000", "1000000"), (9_000_000, "5000000", "2000000")] {
        let details = [("heap.after", after), ("heap.before", before)];
        let mut details: Vec<_> =
            details.iter().map(|(key, value)| (b.string(key), b.string(value))).collect();
        details.sort_unstable();
        let name = b.string("gc.pause");
        b.event(Event { time, duration: 4_000_000, thread: NO_THREAD, node: NO_NODE, name, details });
    }
    b.finish()
}

/// Locks that were acquired, known by class, and waits for some of them, known by identity and the class inside.
pub fn locked() -> Profile {
    let mut b = Builder::new();
    let waited = b.metric(MetricSpec::exact("lock.time", Unit::Nanoseconds));
    let waits = b.metric(MetricSpec::exact("lock.count", Unit::Count));
    let entered = b.metric(MetricSpec::exact("lock.entered", Unit::Count));
    let hold = b.metric(MetricSpec::exact("lock.hold", Unit::Nanoseconds));
    let thread = b.thread(ThreadSpec { name: "main", ..Default::default() });
    let method = |b: &mut Builder, name| {
        b.method(MethodSpec { class: "app.Foo", name, descriptor: "()V", ..Default::default() })
    };
    let lock = |b: &mut Builder, class, identity| {
        let flags = MethodFlags::DETAIL;
        b.method(MethodSpec { class, name: "[lock]", descriptor: identity, flags, ..Default::default() })
    };
    let root = b.root(thread);
    let (read, write) = (method(&mut b, "read"), method(&mut b, "write"));
    let (read, write) = (b.push(root, read, -1), b.push(root, write, -1));
    const LOCK: &str = "java.util.concurrent.locks.ReentrantLock";
    const INSIDE: &str = "java.util.concurrent.locks.ReentrantLock$NonfairSync";
    for (parent, class, count, nanos) in [
        (read, LOCK, 900, 9_000_000),
        (write, LOCK, 100, 5_000_000),
        (write, "app.Quiet", 50, 40_000),
        (read, "app.Waited", 10, 20_000),
    ] {
        let class = lock(&mut b, class, "");
        let node = b.child(parent, class, -1);
        b.add(node, entered, count);
        b.add(node, hold, nanos);
    }
    for (parent, class, identity, count, nanos) in [
        (read, INSIDE, "@a1", 3, 30_000),
        (write, INSIDE, "@a1", 2, 50_000),
        (write, INSIDE, "@b2", 1, 10_000),
        (read, "app.Waited", "@c3", 4, 2_000),
    ] {
        let class = lock(&mut b, class, identity);
        let node = b.child(parent, class, -1);
        b.add(node, waited, nanos);
        b.add(node, waits, count);
    }
    b.finish()
}

/// Two roots, one of which is called in two contexts.
pub fn rooted() -> Profile {
    let mut b = Builder::new();
    let count =
        MetricSpec { aggregation: Aggregation::Count, ..MetricSpec::exact("executions", Unit::Count) };
    let (count, gross) = (b.metric(count), b.metric(MetricSpec::exact("time.gross", Unit::Nanoseconds)));
    let time = b.metric(MetricSpec::exact("time", Unit::Nanoseconds));
    let thread = b.thread(ThreadSpec { name: "main", ..Default::default() });
    let method = |b: &mut Builder, class, name, flags| {
        b.method(MethodSpec { class, name, flags, ..Default::default() })
    };
    let place = method(&mut b, "app.Orders", "place", MethodFlags::default());
    let cancel = method(&mut b, "app.Orders", "cancel", MethodFlags::default());
    let top = b.push(b.root(thread), place, -1);
    let below = b.push(top, cancel, -1);
    let again = b.push(below, place, -1);
    for (node, from, executions, nanos) in [
        (top, "1024 ns", 900u64, 930_000u64),
        (top, "2097152 ns", 9, 19_000_000),
        (again, "2097152 ns", 90, 190_000_000),
        (top, "31457280 ns", 1, 32_000_000),
        (below, "480 ns", 10, 4_850),
    ] {
        let took = method(&mut b, from, "[took]", MethodFlags::DETAIL);
        let leaf = b.child(node, took, -1);
        b.add(leaf, count, executions);
        b.add(leaf, gross, nanos);
        b.add(node, time, nanos);
    }
    b.finish()
}
