//! Profiles to export: made up, the same every time.
#![allow(dead_code)] // Each test uses some of them.

use quipu_profile::{
    Builder, Line, MethodFlags, MethodId, MethodSpec, MetricId, MetricSpec, NodeId, Profile, ThreadKind,
    ThreadSpec, UNKNOWN_SITE, Unit,
};

/// A small generator of numbers, so that samples need no dependency and never change.
pub struct Numbers(pub u64);

impl Numbers {
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit.max(1)
    }
}

struct Shop {
    b: Builder,
    methods: Vec<MethodId>,
    metrics: [MetricId; 4],
    numbers: Numbers,
}

const SHOP: [(&str, &str, &str, u8); 26] = [
    ("com.acme.shop.Server", "handle", "(Lcom/acme/shop/Request;)Lcom/acme/shop/Response;", 0),
    ("com.acme.shop.Router", "dispatch", "(Lcom/acme/shop/Request;)V", 0),
    ("com.acme.shop.cart.Cart", "total", "()J", 0),
    ("com.acme.shop.cart.Cart", "lines", "()Ljava/util/List;", 0),
    ("com.acme.shop.cart.Discount", "apply", "(JLjava/lang/String;)J", 0),
    ("com.acme.shop.catalog.Search", "rank", "([Ljava/lang/String;I)Ljava/util/List;", 0),
    ("com.acme.shop.catalog.Index", "lookup", "(Ljava/lang/String;)[I", 0),
    ("com.acme.shop.catalog.Tokenizer", "next", "()Ljava/lang/String;", 0),
    ("com.acme.shop.json.Writer", "value", "(Ljava/lang/Object;)V", 0),
    ("com.acme.shop.json.Writer", "escape", "(Ljava/lang/String;)V", 0),
    ("com.acme.shop.db.Query", "execute", "()Lcom/acme/shop/db/Rows;", 0),
    ("com.acme.shop.db.Rows", "decode", "([BI)V", 0),
    ("org.h2.command.Parser", "parse", "(Ljava/lang/String;)Lorg/h2/command/Prepared;", 0),
    ("org.h2.index.Cursor", "next", "()Z", 0),
    ("org.h2.value.ValueInteger", "compareTo", "(Lorg/h2/value/Value;)I", 0),
    ("java.util.HashMap", "getNode", "(Ljava/lang/Object;)Ljava/util/HashMap$Node;", 0),
    ("java.util.HashMap", "putVal", "(ILjava/lang/Object;Ljava/lang/Object;ZZ)Ljava/lang/Object;", 0),
    ("java.util.ArrayList", "grow", "(I)[Ljava/lang/Object;", 0),
    ("java.lang.String", "hashCode", "()I", 0),
    ("java.lang.String", "equals", "(Ljava/lang/Object;)Z", 2),
    ("java.lang.StringBuilder", "append", "(Ljava/lang/String;)Ljava/lang/StringBuilder;", 0),
    ("java.util.stream.ReferencePipeline", "collect", "(Ljava/util/stream/Collector;)Ljava/lang/Object;", 0),
    ("com.acme.shop.cart.Cart$$Lambda", "apply", "(Ljava/lang/Object;)Ljava/lang/Object;", 0),
    ("java.lang.System", "arraycopy", "(Ljava/lang/Object;ILjava/lang/Object;II)V", 3),
    ("java.util.TimSort", "mergeAt", "(I)V", 0),
    (
        "java.util.Comparator",
        "lambda$comparing$77a9974f$1",
        "(Ljava/util/function/Function;Ljava/lang/Object;Ljava/lang/Object;)I",
        0,
    ),
];

impl Shop {
    fn new(seed: u64) -> Shop {
        let mut b = Builder::new();
        let metrics = [
            b.metric(MetricSpec::calls()),
            b.metric(MetricSpec::bytecodes()),
            b.metric(MetricSpec::sampled("time", Unit::Nanoseconds, 1_000_000)),
            b.metric(MetricSpec::exact("alloc.bytes", Unit::Bytes)),
        ];
        let methods = SHOP
            .iter()
            .enumerate()
            .map(|(i, &(class, name, descriptor, flags))| {
                let simple = class.rsplit('.').next().unwrap().split('$').next().unwrap();
                let first = 20 + 10 * i as u32;
                let lines: Vec<Line> = (0..8).map(|n| Line { bci: 3 * n, line: first + n }).collect();
                b.method(MethodSpec {
                    class,
                    name,
                    descriptor,
                    source: &format!("{simple}.java"),
                    module: if class.starts_with("java.") { "java.base" } else { "" },
                    flags: MethodFlags(flags),
                    lines: &lines,
                    ..Default::default()
                })
            })
            .collect();
        Shop { b, methods, metrics, numbers: Numbers(seed) }
    }

    fn charge(&mut self, node: NodeId, opaque: bool, scale: u64) {
        let calls = 1 + self.numbers.below(scale);
        self.b.add(node, self.metrics[0], calls);
        if !opaque {
            let each = 4 + self.numbers.below(60);
            self.b.add(node, self.metrics[1], calls * each);
            let samples = self.numbers.below(2 + scale / 40);
            self.b.add(node, self.metrics[2], samples * 1_000_000);
            if self.numbers.below(3) == 0 {
                self.b.add(node, self.metrics[3], calls * 16 * (1 + self.numbers.below(8)));
            }
        }
    }

    /// Grows a tree below `root` towards `nodes` nodes by a walk that calls and returns, as programs do.
    fn grow(&mut self, root: NodeId, nodes: usize) {
        let goal = self.b.node_count() + nodes;
        let top = self.b.child(root, self.methods[0], UNKNOWN_SITE);
        self.charge(top, false, 50);
        let mut path: Vec<(NodeId, u64)> = vec![(top, 4000)];
        for _ in 0..40 * nodes {
            if self.b.node_count() >= goal {
                break;
            }
            let depth = path.len();
            let (parent, scale) = path[depth - 1];
            if depth > 1 && (depth > 45 || self.numbers.below(100) < 44) {
                path.pop();
                continue;
            }
            let low = depth.min(SHOP.len() - 9);
            let pick = low + self.numbers.below((SHOP.len() - low).min(12) as u64) as usize;
            let site = 3 * self.numbers.below(8) as i32;
            let before = self.b.node_count();
            let node = self.b.child(parent, self.methods[pick], site);
            let opaque = SHOP[pick].3 != 0;
            if self.b.node_count() > before {
                self.charge(node, opaque, scale);
            }
            if !opaque {
                path.push((node, (scale * (35 + self.numbers.below(60)) / 100).max(2)));
            }
        }
    }
}

/// A web shop with a few threads; about `nodes` contexts.
pub fn shop(nodes: usize) -> Profile {
    let mut shop = Shop::new(0x9e37_79b9_7f4a_7c15);
    for (name, threads, share) in [
        ("http-worker", 8, 60),
        ("main", 1, 25),
        ("indexer", 1, 10),
        ("ForkJoinPool.commonPool-worker", 3, 5),
    ] {
        let thread = shop.b.thread(ThreadSpec { name, group: "main", threads, ..Default::default() });
        let root = shop.b.root(thread);
        shop.grow(root, (nodes * share / 100).max(1));
    }
    shop.b.meta.target.main = "com.acme.shop.Server".to_owned();
    shop.b.meta.target.command = vec!["java".into(), "-jar".into(), "shop.jar".into()];
    shop.b.meta.jvm.name = "OpenJDK 64-Bit Server VM".to_owned();
    shop.b.meta.jvm.version = "21.0.5+11".to_owned();
    shop.b.meta.options = vec![("exact".into(), String::new()), ("cpu".into(), "1000".into())];
    shop.b.run.started = Some(1_750_000_000_000_000_000);
    shop.b.run.duration = Some(12_345_678_901);
    shop.b.finish()
}

/// Names that are legal in a class file or a thread and meant to do harm.
pub const HOSTILE: [&str; 7] = [
    "<img src=x onerror=document.title='owned'>",
    "</script><script>document.title='owned'</script>",
    "<!--<script>",
    "a;b c 7\nd;e 9",
    "\u{202e}\u{0}\u{1b}[31m&amp;\"'`${x}",
    "fn=(1) evil\u{2028}calls=9 9",
    "",
];

/// Every place that takes a name has each of [`HOSTILE`] in turn.
pub fn hostile() -> Profile {
    let mut b = Builder::new();
    let bytecodes = b.metric(MetricSpec::bytecodes());
    let odd = b.metric(MetricSpec::exact("<b>odd metric</b> & 1", Unit::Other("</script>".into())));
    for (i, name) in HOSTILE.iter().enumerate() {
        let thread =
            b.thread(ThreadSpec { name, group: name, labels: &[(name, name)], ..Default::default() });
        let mut node = b.root(thread);
        for class in HOSTILE {
            let method = b.method(MethodSpec {
                class,
                name: if i % 2 == 0 { name } else { "run" },
                descriptor: name,
                loader: name,
                source: name,
                module: name,
                ..Default::default()
            });
            node = b.child(node, method, UNKNOWN_SITE);
            b.add(node, bytecodes, 10 + i as u64);
            b.add(node, odd, 1);
        }
    }
    b.meta.target.main = HOSTILE[1].to_owned();
    b.meta.lost.insert(HOSTILE[0].to_owned(), 3);
    b.finish()
}

/// A recursion `depth` frames deep, each with a count of its own.
pub fn deep(depth: usize) -> Profile {
    let mut b = Builder::with_capacity(depth + 1);
    let bytecodes = b.metric(MetricSpec::bytecodes());
    let f = b.method(MethodSpec { class: "demo.Deep", name: "f", descriptor: "(I)V", ..Default::default() });
    let g = b.method(MethodSpec { class: "demo.Deep", name: "g", descriptor: "(I)V", ..Default::default() });
    let thread = b.thread(ThreadSpec { name: "main", ..Default::default() });
    let mut node = b.root(thread);
    for i in 0..depth {
        node = b.push(node, if i % 2 == 0 { f } else { g }, 5);
        b.add(node, bytecodes, 7);
    }
    b.finish()
}

/// Metrics, but nothing measured.
pub fn empty() -> Profile {
    let mut b = Builder::new();
    b.metric(MetricSpec::calls());
    b.metric(MetricSpec::bytecodes());
    b.thread(ThreadSpec { name: "main", kind: ThreadKind::Platform, ..Default::default() });
    b.finish()
}
