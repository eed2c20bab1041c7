//! Fields for `java.lang.Thread`, in which each thread has the slot it published, its current tally, and for samples
//! every so many bytecodes the top of its stack and what is left until the next one.
//!
//! They can be added only while the class is loaded for the first time, which is long before the VM is up. They are not
//! visible to programs but by reflection on the declared fields of `Thread`.
//!
//! A thread's constructor sets them, before anything else: native threads that attach themselves run their own
//! constructor, and what that calls must find them.

use quipu_classfile::{ClassEditor, ClassFile, EditError, Snippet, access};

/// The class that gets them.
pub const CLASS: &[u8] = b"java/lang/Thread";
const DESCRIPTOR: &[u8] = b"J";

/// A field, by the name that the runtime knows.
pub struct Field {
    name: &'static [u8],
    /// What it is in a new thread.
    initial: i64,
}

impl Field {
    /// The published slot.
    pub fn slot(initial: i64) -> Field {
        Field { name: b"quipuSlot", initial }
    }

    /// The current tally.
    pub fn tally(initial: i64) -> Field {
        Field { name: b"quipuTally", initial }
    }

    /// Where the next frame goes.
    pub fn top(initial: i64) -> Field {
        Field { name: b"quipuTop", initial }
    }

    /// Bytecodes until the next sample.
    pub fn left(initial: i64) -> Field {
        Field { name: b"quipuLeft", initial }
    }
}

/// `Thread` with the fields; `None` if it has one of them already, from another agent of this kind.
pub fn add(bytes: &[u8], fields: &[Field]) -> Result<Option<Vec<u8>>, EditError> {
    let class = ClassFile::parse(bytes).map_err(EditError::from)?;
    let there =
        |field: &Field| class.fields().iter().any(|f| class.pool().utf8(f.name_index) == Ok(field.name));
    if fields.iter().any(there) {
        return Ok(None);
    }
    let mut editor = ClassEditor::new(&class);
    let flags = access::SYNTHETIC | access::TRANSIENT;
    let added: Vec<_> = fields.iter().map(|field| (flags, field.name, DESCRIPTOR)).collect();
    editor.add_fields(&added)?;
    for method in class.methods().filter(|method| method.name() == b"<init>") {
        let Some(mut code) = editor.edit_method(method.index())? else { continue };
        let mut s = Snippet::new();
        for field in fields {
            let value = code.pool().long(field.initial)?;
            let name = code.pool().field_ref(CLASS, field.name, DESCRIPTOR)?;
            s.aload(0).ldc2(value).putfield(name, DESCRIPTOR);
        }
        code.insert_entry(&s)?;
        code.finish()?;
    }
    Ok(Some(editor.into_bytes().into_owned()))
}
