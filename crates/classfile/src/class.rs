//! The class file as a whole: header, members, attributes. Nothing is copied.

use crate::annotation;
use crate::code::Code;
use crate::error::{Error, ErrorKind};
use crate::pool::ConstantPool;
use crate::read::{Reader, be16, be32};

/// Access and property flags (JVMS tables 4.1-B, 4.5-A, 4.6-A).
#[allow(missing_docs)]
pub mod access {
    pub const PUBLIC: u16 = 0x0001;
    pub const PRIVATE: u16 = 0x0002;
    pub const PROTECTED: u16 = 0x0004;
    pub const STATIC: u16 = 0x0008;
    pub const FINAL: u16 = 0x0010;
    pub const SYNCHRONIZED: u16 = 0x0020;
    pub const BRIDGE: u16 = 0x0040;
    pub const VARARGS: u16 = 0x0080;
    pub const NATIVE: u16 = 0x0100;
    pub const INTERFACE: u16 = 0x0200;
    pub const ABSTRACT: u16 = 0x0400;
    pub const TRANSIENT: u16 = 0x0080;
    pub const SYNTHETIC: u16 = 0x1000;
    pub const MODULE: u16 = 0x8000;
}

/// A parsed class file borrowing from its bytes.
#[derive(Debug)]
pub struct ClassFile<'a> {
    bytes: &'a [u8],
    pool: ConstantPool<'a>,
    minor: u16,
    major: u16,
    access_flags: u16,
    this_class: u16,
    super_class: u16,
    interfaces: &'a [u8],
    fields: Vec<Member<'a>>,
    methods: Vec<Member<'a>>,
    attributes: Attributes<'a>,
}

/// Memory that outlives a [`ClassFile`].
#[derive(Debug, Default)]
pub struct Lists {
    offsets: Vec<u32>,
    fields: Vec<Member<'static>>,
    methods: Vec<Member<'static>>,
}

impl Lists {
    /// Bytes it keeps.
    pub fn memory(&self) -> usize {
        size_of::<u32>() * self.offsets.capacity()
            + size_of::<Member<'_>>() * (self.fields.capacity() + self.methods.capacity())
    }
}

/// A field or method as it stands in the file.
#[derive(Clone, Copy, Debug)]
pub struct Member<'a> {
    /// See [`access`].
    pub access_flags: u16,
    /// Pool index of the name.
    pub name_index: u16,
    /// Pool index of the descriptor.
    pub descriptor_index: u16,
    /// All attributes, raw.
    pub attributes: Attributes<'a>,
}

/// A list of attributes whose lengths were checked when the class was parsed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Attributes<'a> {
    data: &'a [u8],
    offset: u32,
    count: u16,
}

/// One attribute.
#[derive(Clone, Copy, Debug, Default)]
pub struct Attribute<'a> {
    /// Pool index of its name.
    pub name_index: u16,
    /// Its bytes after the length field.
    pub data: &'a [u8],
    /// Offset in the class file of its first byte (the name index).
    pub offset: usize,
}

impl<'a> Attributes<'a> {
    /// Reads `attributes_count` and checks every length.
    // Inlined: to hand over what is read here would take as long as reading it.
    #[inline(always)]
    pub(crate) fn parse(r: &mut Reader<'a>) -> Result<Self, Error> {
        let count = r.u2()?;
        let mut len = 0;
        for _ in 0..count {
            // A length may lead past the end: then there is nothing there, or too little in the end.
            let Some(attribute_len) = be32(r.rest(), len + 2) else { return Err(r.truncated()) };
            len += 6 + attribute_len as usize;
        }
        // No class file is longer than that.
        let offset = r.offset() as u32;
        Ok(Attributes { data: r.take(len)?, offset, count })
    }

    /// Number of attributes.
    pub fn count(&self) -> u16 {
        self.count
    }

    /// The attributes in file order.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = Attribute<'a>> + use<'a> {
        let (data, base) = (self.data, self.offset as usize);
        let mut at = 0;
        std::iter::from_fn(move || {
            let &[hi, lo, a, b, c, d] = data.get(at..)?.first_chunk::<6>()?;
            let len = u32::from_be_bytes([a, b, c, d]) as usize;
            let name_index = u16::from_be_bytes([hi, lo]);
            let attribute =
                Attribute { name_index, data: data.get(at + 6..)?.get(..len)?, offset: base + at };
            at += 6 + len;
            Some(attribute)
        })
    }

    /// The first attribute of that name.
    pub fn find(&self, pool: &ConstantPool<'a>, name: &[u8]) -> Option<Attribute<'a>> {
        self.iter().find(|a| pool.utf8(a.name_index) == Ok(name))
    }
}

impl<'a> ClassFile<'a> {
    /// Parses the structure of a class file of any version. Attribute contents are read when asked for.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Error> {
        ClassFile::parse_with(bytes, Lists::default())
    }

    /// The same with memory of an earlier one.
    pub fn parse_with(bytes: &'a [u8], lists: Lists) -> Result<Self, Error> {
        if u32::try_from(bytes.len()).is_err() {
            return Err(Error::malformed(0, "class file over 4 GB"));
        }
        let mut r = Reader::new(bytes, 0);
        if r.u4()? != 0xCAFE_BABE {
            return Err(Error::new(0, ErrorKind::BadMagic));
        }
        let (minor, major) = (r.u2()?, r.u2()?);
        let pool = ConstantPool::parse(bytes, lists.offsets)?;
        r.take(pool.end().saturating_sub(8))?;
        let (access_flags, this_class, super_class) = (r.u2()?, r.u2()?, r.u2()?);
        let interface_count = usize::from(r.u2()?);
        let interfaces = r.take(interface_count * 2)?;
        pool.class_name(this_class)?;
        if super_class != 0 {
            pool.class_name(super_class)?;
        }
        let mut fields = empty(lists.fields);
        members(&mut r, &pool, &mut fields)?;
        let mut methods = empty(lists.methods);
        members(&mut r, &pool, &mut methods)?;
        let attributes = Attributes::parse(&mut r)?;
        if !r.is_empty() {
            return Err(r.malformed("bytes after the class file"));
        }
        Ok(ClassFile {
            bytes,
            pool,
            minor,
            major,
            access_flags,
            this_class,
            super_class,
            interfaces,
            fields,
            methods,
            attributes,
        })
    }

    /// Its memory, for the next one.
    pub fn into_lists(self) -> Lists {
        Lists { offsets: self.pool.into_offsets(), fields: empty(self.fields), methods: empty(self.methods) }
    }

    /// The bytes this class was parsed from.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The constant pool.
    pub fn pool(&self) -> &ConstantPool<'a> {
        &self.pool
    }

    /// Major version (45 to 71 today).
    pub fn major_version(&self) -> u16 {
        self.major
    }

    /// Minor version.
    pub fn minor_version(&self) -> u16 {
        self.minor
    }

    /// True where the verifier type-checks against stack map frames (version 50 and later).
    pub fn has_stack_maps(&self) -> bool {
        self.major >= 50
    }

    /// See [`access`].
    pub fn access_flags(&self) -> u16 {
        self.access_flags
    }

    /// Pool index of this class.
    pub fn this_class(&self) -> u16 {
        self.this_class
    }

    /// Internal name of this class.
    pub fn name(&self) -> &'a [u8] {
        self.pool.class_name(self.this_class).unwrap_or_default()
    }

    /// Internal name of the super class; none for `java/lang/Object` and modules.
    pub fn super_name(&self) -> Option<&'a [u8]> {
        self.pool.class_name(self.super_class).ok()
    }

    /// Internal names of the direct super interfaces; entries that are not classes are skipped.
    pub fn interfaces(&self) -> impl Iterator<Item = &'a [u8]> + '_ {
        self.interfaces.chunks_exact(2).filter_map(|b| self.pool.class_name(be16(b, 0)?).ok())
    }

    /// Number of direct super interfaces.
    pub(crate) fn interfaces_len(&self) -> usize {
        self.interfaces.len() / 2
    }

    /// The fields, raw.
    pub fn fields(&self) -> &[Member<'a>] {
        &self.fields
    }

    /// The methods, in file order.
    pub fn methods(&self) -> impl ExactSizeIterator<Item = Method<'_, 'a>> {
        self.methods.iter().enumerate().map(|(index, member)| Method { class: self, member, index })
    }

    /// One method by position.
    pub fn method(&self, index: usize) -> Option<Method<'_, 'a>> {
        self.methods.get(index).map(|member| Method { class: self, member, index })
    }

    /// The class's own attributes.
    pub fn attributes(&self) -> Attributes<'a> {
        self.attributes
    }

    /// Contents of the `SourceFile` attribute.
    pub fn source_file(&self) -> Option<&'a [u8]> {
        let attribute = self.attributes.find(&self.pool, b"SourceFile")?;
        self.pool.utf8(be16(attribute.data, 0)?).ok()
    }
}

fn members<'a>(r: &mut Reader<'a>, pool: &ConstantPool<'a>, list: &mut Vec<Member<'a>>) -> Result<(), Error> {
    let count = usize::from(r.u2()?);
    list.reserve_exact(count.min(r.remaining() / 8));
    for _ in 0..count {
        let &[a, b, c, d, e, f] = r.chunk()?;
        let access_flags = u16::from_be_bytes([a, b]);
        let (name_index, descriptor_index) = (u16::from_be_bytes([c, d]), u16::from_be_bytes([e, f]));
        pool.check_utf8(name_index)?;
        pool.check_utf8(descriptor_index)?;
        let attributes = Attributes::parse(r)?;
        list.push(Member { access_flags, name_index, descriptor_index, attributes });
    }
    Ok(())
}

/// The memory of a list for one of another class.
fn empty<'to>(mut list: Vec<Member<'_>>) -> Vec<Member<'to>> {
    list.clear();
    // Nothing is there to be changed; the memory stays, because the types differ in nothing but how long they live.
    list.into_iter().map(|member| Member { attributes: Attributes::default(), ..member }).collect()
}

/// A method of a class.
#[derive(Clone, Copy, Debug)]
pub struct Method<'c, 'a> {
    class: &'c ClassFile<'a>,
    member: &'c Member<'a>,
    index: usize,
}

impl<'c, 'a> Method<'c, 'a> {
    /// Position in the class's method table.
    pub fn index(&self) -> usize {
        self.index
    }

    /// The class it was found in.
    pub fn class(&self) -> &'c ClassFile<'a> {
        self.class
    }

    /// See [`access`].
    pub fn access_flags(&self) -> u16 {
        self.member.access_flags
    }

    /// True if all bits of `flags` are set.
    pub fn is(&self, flags: u16) -> bool {
        self.member.access_flags & flags == flags
    }

    /// Method name.
    pub fn name(&self) -> &'a [u8] {
        self.class.pool.utf8(self.member.name_index).unwrap_or_default()
    }

    /// Method descriptor.
    pub fn descriptor(&self) -> &'a [u8] {
        self.class.pool.utf8(self.member.descriptor_index).unwrap_or_default()
    }

    pub(crate) fn descriptor_index(&self) -> u16 {
        self.member.descriptor_index
    }

    /// All attributes, raw.
    pub fn attributes(&self) -> Attributes<'a> {
        self.member.attributes
    }

    /// The raw `Code` attribute.
    pub fn code_attribute(&self) -> Option<Attribute<'a>> {
        self.member.attributes.find(&self.class.pool, b"Code")
    }

    /// The method's code; `None` for native and abstract methods.
    pub fn code(&self) -> Result<Option<Code<'a>>, Error> {
        self.code_attribute().map(|a| Code::parse(a.data, a.offset + 6)).transpose()
    }

    /// An empty `finalize()V`, which must stay so: see [`EditError::EmptyFinalizer`](crate::EditError).
    pub fn is_empty_finalizer(&self) -> bool {
        self.name() == b"finalize"
            && self.descriptor() == b"()V"
            && matches!(self.code(), Ok(Some(code)) if code.bytes == [crate::opcode::RETURN])
    }

    /// Is there a run-time visible annotation of this type (`Ljdk/internal/vm/annotation/IntrinsicCandidate;`)?
    /// Nested values are stepped over without recursion; malformed annotations count as absent.
    pub fn has_annotation(&self, descriptor: &[u8]) -> bool {
        self.member
            .attributes
            .find(&self.class.pool, b"RuntimeVisibleAnnotations")
            .is_some_and(|a| annotation::contains(a.data, &self.class.pool, descriptor).unwrap_or(false))
    }
}
