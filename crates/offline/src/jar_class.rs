//! The class that each instrumented jar gets: its initialiser takes ids for the jar's methods.
//!
//! ```java
//! public final class J0123456789abcdef {
//!     public static final int WORD;
//!     static {
//!         WORD = Jars.reserve(methods);
//!         Jars.load(J0123456789abcdef.class, WORD);
//!     }
//! }
//! ```

/// Package of these classes.
pub const PACKAGE: &str = "quipu/jars/";

/// Version 49, the first with class constants and the last that needs no stack maps.
const VERSION: u16 = 49;
const PUBLIC_FINAL_SUPER: u16 = 0x0031;
const PUBLIC_STATIC_FINAL: u16 = 0x0019;
const STATIC: u16 = 0x0008;

/// The class file of the class with this internal name, for so many methods.
pub fn class_file(name: &str, methods: u32) -> Vec<u8> {
    let mut pool = Pool::default();
    let this = pool.class(name);
    let object = pool.class("java/lang/Object");
    let word = pool.member(9, this, "WORD", "I");
    let jars = pool.class("quipu/runtime/Jars");
    let reserve = pool.member(10, jars, "reserve", "(I)I");
    let load = pool.member(10, jars, "load", "(Ljava/lang/Class;I)V");
    let count = pool.add(3, &methods.to_be_bytes());
    let (field, int) = (pool.utf8("WORD"), pool.utf8("I"));
    let (initialiser, no_arguments, code) = (pool.utf8("<clinit>"), pool.utf8("()V"), pool.utf8("Code"));
    let mut body = Vec::new();
    for (opcode, operand) in
        [(LDC_W, count), (INVOKESTATIC, reserve), (PUTSTATIC, word), (LDC_W, this), (GETSTATIC, word)]
    {
        body.push(opcode);
        put16(&mut body, operand);
    }
    body.push(INVOKESTATIC);
    put16(&mut body, load);
    body.push(RETURN);

    let mut out = 0xCAFE_BABE_u32.to_be_bytes().to_vec();
    put16s(&mut out, &[0, VERSION, pool.count + 1]);
    out.extend_from_slice(&pool.bytes);
    put16s(&mut out, &[PUBLIC_FINAL_SUPER, this, object, 0]);
    put16s(&mut out, &[1, PUBLIC_STATIC_FINAL, field, int, 0]);
    put16s(&mut out, &[1, STATIC, initialiser, no_arguments, 1, code]);
    out.extend_from_slice(&(body.len() as u32 + 12).to_be_bytes());
    put16s(&mut out, &[2, 0]);
    out.extend_from_slice(&(body.len() as u32).to_be_bytes());
    out.extend_from_slice(&body);
    put16s(&mut out, &[0, 0]);
    put16s(&mut out, &[0]);
    out
}

const LDC_W: u8 = 0x13;
const INVOKESTATIC: u8 = 0xB8;
const PUTSTATIC: u8 = 0xB3;
const GETSTATIC: u8 = 0xB2;
const RETURN: u8 = 0xB1;

#[derive(Default)]
struct Pool {
    bytes: Vec<u8>,
    count: u16,
}

impl Pool {
    fn add(&mut self, tag: u8, payload: &[u8]) -> u16 {
        self.bytes.push(tag);
        self.bytes.extend_from_slice(payload);
        self.count += 1;
        self.count
    }

    fn utf8(&mut self, text: &str) -> u16 {
        let mut payload = (text.len() as u16).to_be_bytes().to_vec();
        payload.extend_from_slice(text.as_bytes());
        self.add(1, &payload)
    }

    fn class(&mut self, name: &str) -> u16 {
        let name = self.utf8(name);
        self.add(7, &name.to_be_bytes())
    }

    fn member(&mut self, tag: u8, class: u16, name: &str, descriptor: &str) -> u16 {
        let (name, descriptor) = (self.utf8(name), self.utf8(descriptor));
        let pair = self.add(12, &[name.to_be_bytes(), descriptor.to_be_bytes()].concat());
        self.add(tag, &[class.to_be_bytes(), pair.to_be_bytes()].concat())
    }
}

fn put16(out: &mut Vec<u8>, n: u16) {
    out.extend_from_slice(&n.to_be_bytes());
}

fn put16s(out: &mut Vec<u8>, numbers: &[u16]) {
    numbers.iter().for_each(|&n| put16(out, n));
}

#[cfg(test)]
mod tests {
    use quipu_classfile::ClassFile;

    #[test]
    fn it_is_a_class_with_one_field_and_an_initialiser() {
        let bytes = super::class_file("quipu/jars/J1", 70_000);
        let class = ClassFile::parse(&bytes).unwrap();
        assert_eq!(class.name(), b"quipu/jars/J1");
        assert_eq!(class.fields().len(), 1);
        let method = class.methods().next().unwrap();
        assert_eq!(method.name(), b"<clinit>");
        assert_eq!(method.code().unwrap().unwrap().instructions().filter(Result::is_ok).count(), 7);
    }
}
