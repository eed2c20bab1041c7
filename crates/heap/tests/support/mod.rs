//! Dumps made by hand, as HPROF has them.
#![allow(dead_code, reason = "each test uses a part of it")]

use quipu_heap::Kind;

/// A dump that is being written.
pub struct Writer {
    pub bytes: Vec<u8>,
    id_size: usize,
    segment: Vec<u8>,
    names: u64,
}

/// Ids of class objects that every test has.
pub const OBJECT: u64 = 0x1000;
pub const STRING: u64 = 0x1008;
pub const CLASS: u64 = 0x1010;
pub const OBJECTS: u64 = 0x1018;
pub const WEAK: u64 = 0x1020;
pub const REFERENCE: u64 = 0x1028;
pub const LIST: u64 = 0x1030;
pub const THREAD: u64 = 0x1038;

impl Writer {
    pub fn new(id_size: usize) -> Writer {
        let mut bytes = b"JAVA PROFILE 1.0.2\0".to_vec();
        bytes.extend((id_size as u32).to_be_bytes());
        bytes.extend(1_700_000_000_000_u64.to_be_bytes());
        let mut writer = Writer { bytes, id_size, segment: Vec::new(), names: 0x100 };
        writer.class(OBJECT, "java/lang/Object", 0, &[], &[]);
        writer.class(
            STRING,
            "java/lang/String",
            OBJECT,
            &[],
            &[("value", Kind::Object), ("hash", Kind::Int), ("coder", Kind::Byte)],
        );
        writer.class(CLASS, "java/lang/Class", OBJECT, &[], &[]);
        writer.class(OBJECTS, "[Ljava/lang/Object;", OBJECT, &[], &[]);
        writer.class(REFERENCE, "java/lang/ref/Reference", OBJECT, &[], &[("referent", Kind::Object)]);
        writer.class(WEAK, "java/lang/ref/WeakReference", REFERENCE, &[], &[]);
        writer.class(
            LIST,
            "java/util/ArrayList",
            OBJECT,
            &[],
            &[("size", Kind::Int), ("elementData", Kind::Object)],
        );
        writer.class(THREAD, "java/lang/Thread", OBJECT, &[], &[("name", Kind::Object)]);
        for id in [OBJECT, STRING, CLASS, OBJECTS, REFERENCE, WEAK, LIST, THREAD] {
            writer.root(id);
        }
        writer
    }

    fn id_of(&self, id: u64) -> Vec<u8> {
        if self.id_size == 8 { id.to_be_bytes().to_vec() } else { (id as u32).to_be_bytes().to_vec() }
    }

    fn record(&mut self, tag: u8, body: &[u8]) {
        self.bytes.push(tag);
        self.bytes.extend(0_u32.to_be_bytes());
        self.bytes.extend((body.len() as u32).to_be_bytes());
        self.bytes.extend(body);
    }

    fn name(&mut self, text: &str) -> u64 {
        self.names += 1;
        let body = [self.id_of(self.names), text.as_bytes().to_vec()].concat();
        self.record(0x01, &body);
        self.names
    }

    /// A class with static references and fields.
    pub fn class(
        &mut self,
        id: u64,
        name: &str,
        superclass: u64,
        statics: &[(&str, u64)],
        fields: &[(&str, Kind)],
    ) {
        self.class_of_loader(0, id, name, superclass, statics, fields);
    }

    /// The same of a loader.
    pub fn class_of_loader(
        &mut self,
        loader: u64,
        id: u64,
        name: &str,
        superclass: u64,
        statics: &[(&str, u64)],
        fields: &[(&str, Kind)],
    ) {
        let name = self.name(name);
        let loaded =
            [7_u32.to_be_bytes().to_vec(), self.id_of(id), 0_u32.to_be_bytes().to_vec(), self.id_of(name)]
                .concat();
        self.record(0x02, &loaded);
        let statics: Vec<(u64, u64)> =
            statics.iter().map(|&(name, value)| (self.name(name), value)).collect();
        let fields: Vec<(u64, Kind)> = fields.iter().map(|&(name, kind)| (self.name(name), kind)).collect();
        let mut body = vec![0x20];
        body.extend(self.id_of(id));
        body.extend(0_u32.to_be_bytes());
        body.extend(self.id_of(superclass));
        body.extend(self.id_of(loader));
        (0..4).for_each(|_| body.extend(self.id_of(0)));
        body.extend(0_u32.to_be_bytes());
        body.extend(0_u16.to_be_bytes());
        body.extend((statics.len() as u16).to_be_bytes());
        for (name, value) in statics {
            body.extend(self.id_of(name));
            body.push(2);
            body.extend(self.id_of(value));
        }
        body.extend((fields.len() as u16).to_be_bytes());
        for (name, kind) in fields {
            body.extend(self.id_of(name));
            body.push(code(kind));
        }
        self.segment.extend(body);
    }

    /// A system class, or anything else that is a root.
    pub fn root(&mut self, id: u64) {
        self.segment.push(0x05);
        self.segment.extend(self.id_of(id));
    }

    /// A thread that is a root.
    pub fn thread(&mut self, id: u64, serial: u32) {
        self.segment.push(0x08);
        self.segment.extend(self.id_of(id));
        self.segment.extend(serial.to_be_bytes());
        self.segment.extend(0_u32.to_be_bytes());
    }

    /// A local variable of a thread.
    pub fn local(&mut self, id: u64, serial: u32) {
        self.segment.push(0x03);
        self.segment.extend(self.id_of(id));
        self.segment.extend(serial.to_be_bytes());
        self.segment.extend(0_u32.to_be_bytes());
    }

    /// An instance with these values, the class's own first.
    pub fn instance(&mut self, id: u64, class: u64, values: &[Val]) {
        let values: Vec<u8> = values
            .iter()
            .flat_map(|value| match *value {
                Val::Ref(id) => self.id_of(id),
                Val::Int(value) => value.to_be_bytes().to_vec(),
                Val::Byte(value) => vec![value],
            })
            .collect();
        let mut body = vec![0x21];
        body.extend(self.id_of(id));
        body.extend(0_u32.to_be_bytes());
        body.extend(self.id_of(class));
        body.extend((values.len() as u32).to_be_bytes());
        body.extend(values);
        self.segment.extend(body);
    }

    pub fn array(&mut self, id: u64, class: u64, elements: &[u64]) {
        let mut body = vec![0x22];
        body.extend(self.id_of(id));
        body.extend(0_u32.to_be_bytes());
        body.extend((elements.len() as u32).to_be_bytes());
        body.extend(self.id_of(class));
        elements.iter().for_each(|&element| body.extend(self.id_of(element)));
        self.segment.extend(body);
    }

    pub fn byte_array(&mut self, id: u64, elements: &[u8]) {
        let mut body = vec![0x23];
        body.extend(self.id_of(id));
        body.extend(0_u32.to_be_bytes());
        body.extend((elements.len() as u32).to_be_bytes());
        body.push(8);
        body.extend(elements);
        self.segment.extend(body);
    }

    /// A string and its array, at `id` and behind it.
    pub fn string(&mut self, id: u64, text: &str) {
        self.instance(id, STRING, &[Val::Ref(id + 24), Val::Int(0), Val::Byte(0)]);
        self.byte_array(id + 24, text.as_bytes());
    }

    /// What follows is in another segment.
    pub fn next_segment(&mut self) {
        let segment = std::mem::take(&mut self.segment);
        self.record(0x1c, &segment);
    }

    pub fn finish(mut self) -> Vec<u8> {
        self.next_segment();
        self.record(0x2c, &[]);
        self.bytes
    }
}

/// A value of a field.
#[derive(Clone, Copy)]
pub enum Val {
    Ref(u64),
    Int(i32),
    Byte(u8),
}

fn code(kind: Kind) -> u8 {
    match kind {
        Kind::Object => 2,
        Kind::Boolean => 4,
        Kind::Char => 5,
        Kind::Float => 6,
        Kind::Double => 7,
        Kind::Byte => 8,
        Kind::Short => 9,
        Kind::Int => 10,
        Kind::Long => 11,
    }
}

pub const SESSION: u64 = 0x2000;
pub const REGISTRY: u64 = 0x2008;

/// A shop: a registry with a static list of sessions, one of which nobody holds but a weak reference, and garbage.
pub fn shop(id_size: usize) -> Vec<u8> {
    let mut w = Writer::new(id_size);
    w.class(SESSION, "com/acme/Session", OBJECT, &[], &[("user", Kind::Object), ("number", Kind::Int)]);
    w.class(REGISTRY, "com/acme/Registry", OBJECT, &[("SESSIONS", 0x10_000)], &[]);
    w.root(REGISTRY);
    w.instance(0x10_000, LIST, &[Val::Int(20), Val::Ref(0x10_018)]);
    let sessions: Vec<u64> = (0..20).map(|i| 0x20_000 + i * 0x100).collect();
    w.array(0x10_018, OBJECTS, &[sessions.clone(), vec![0; 12]].concat());
    w.next_segment();
    for (i, &session) in sessions.iter().enumerate() {
        w.instance(session, SESSION, &[Val::Ref(session + 24), Val::Int(i as i32)]);
        w.string(session + 24, if i % 2 == 0 { "Ada" } else { "Grace Hopper" });
    }
    // Held weakly.
    w.instance(0x30_000, WEAK, &[Val::Ref(0x30_100)]);
    w.root(0x30_000);
    w.instance(0x30_100, SESSION, &[Val::Ref(0), Val::Int(100)]);
    // Garbage, which refers to what is alive.
    w.instance(0x40_000, SESSION, &[Val::Ref(0x20_018), Val::Int(101)]);
    // A thread with a local variable.
    w.instance(0x50_000, THREAD, &[Val::Ref(0x50_018)]);
    w.string(0x50_018, "worker-1");
    w.thread(0x50_000, 3);
    w.byte_array(0x60_000, &[0; 100_000]);
    w.local(0x60_000, 3);
    w.finish()
}
