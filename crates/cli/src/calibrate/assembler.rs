//! Writes the one class file that is measured. Its version is the last without stack maps, so code is just bytes.

/// A class file in the making.
#[derive(Default)]
pub struct Assembler {
    pool: Vec<Vec<u8>>,
    /// Entries taken: a long takes two.
    next: u16,
    fields: Vec<Vec<u8>>,
    methods: Vec<Vec<u8>>,
}

const PUBLIC: u16 = 1;
/// Of members: together with [`PUBLIC`].
pub const STATIC: u16 = 8;

impl Assembler {
    fn constant(&mut self, bytes: Vec<u8>, width: u16) -> u16 {
        let mut at = 1;
        for known in &self.pool {
            if *known == bytes {
                return at;
            }
            at += if matches!(known.first(), Some(5 | 6)) { 2 } else { 1 };
        }
        self.pool.push(bytes);
        self.next = at + width;
        at
    }

    fn utf8(&mut self, text: &str) -> u16 {
        let mut bytes = vec![1];
        bytes.extend((text.len() as u16).to_be_bytes());
        bytes.extend(text.bytes());
        self.constant(bytes, 1)
    }

    fn pair(&mut self, tag: u8, first: u16, second: u16) -> u16 {
        let mut bytes = vec![tag];
        bytes.extend(first.to_be_bytes());
        bytes.extend(second.to_be_bytes());
        self.constant(bytes, 1)
    }

    /// A class constant.
    pub fn class(&mut self, name: &str) -> u16 {
        let name = self.utf8(name);
        let mut bytes = vec![7];
        bytes.extend(name.to_be_bytes());
        self.constant(bytes, 1)
    }

    /// An int constant.
    pub fn int(&mut self, value: i32) -> u16 {
        let mut bytes = vec![3];
        bytes.extend(value.to_be_bytes());
        self.constant(bytes, 1)
    }

    /// A long constant.
    pub fn long(&mut self, value: i64) -> u16 {
        let mut bytes = vec![5];
        bytes.extend(value.to_be_bytes());
        self.constant(bytes, 2)
    }

    fn member(&mut self, tag: u8, class: &str, name: &str, descriptor: &str) -> u16 {
        let (class, name, descriptor) = (self.class(class), self.utf8(name), self.utf8(descriptor));
        let name_and_type = self.pair(12, name, descriptor);
        self.pair(tag, class, name_and_type)
    }

    /// A reference to a field.
    pub fn field_ref(&mut self, class: &str, name: &str, descriptor: &str) -> u16 {
        self.member(9, class, name, descriptor)
    }

    /// A reference to a class's method.
    pub fn method_ref(&mut self, class: &str, name: &str, descriptor: &str) -> u16 {
        self.member(10, class, name, descriptor)
    }

    /// A reference to an interface's method.
    pub fn interface_ref(&mut self, class: &str, name: &str, descriptor: &str) -> u16 {
        self.member(11, class, name, descriptor)
    }

    /// Adds a field.
    pub fn field(&mut self, access: u16, name: &str, descriptor: &str) {
        let words = [PUBLIC | access, self.utf8(name), self.utf8(descriptor), 0];
        self.fields.push(words.iter().flat_map(|word| word.to_be_bytes()).collect());
    }

    /// Adds a method.
    pub fn method(&mut self, access: u16, name: &str, descriptor: &str, code: &[u8]) {
        let words = [PUBLIC | access, self.utf8(name), self.utf8(descriptor), 1, self.utf8("Code")];
        let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
        bytes.extend((12 + code.len() as u32).to_be_bytes());
        // Stack and locals: more than any unit needs.
        bytes.extend([0, 16, 0, 24]);
        bytes.extend((code.len() as u32).to_be_bytes());
        bytes.extend(code);
        bytes.extend([0, 0, 0, 0]);
        self.methods.push(bytes);
    }

    /// The class.
    pub fn finish(mut self, name: &str, interface: &str) -> Vec<u8> {
        let names = [name, "java/lang/Object", interface].map(|name| self.class(name));
        let mut out = vec![0xCA, 0xFE, 0xBA, 0xBE, 0, 0, 0, 49];
        out.extend(self.next.to_be_bytes());
        self.pool.iter().for_each(|constant| out.extend(constant));
        let words = [0x21, names[0], names[1], 1, names[2], self.fields.len() as u16];
        out.extend(words.iter().flat_map(|word: &u16| word.to_be_bytes()));
        self.fields.iter().for_each(|field| out.extend(field));
        out.extend((self.methods.len() as u16).to_be_bytes());
        self.methods.iter().for_each(|method| out.extend(method));
        out.extend([0, 0]);
        out
    }
}
