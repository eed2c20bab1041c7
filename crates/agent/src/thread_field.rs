//! A field for `java.lang.Thread`, in which each thread has the slot it published.
//!
//! It can be added only while the class is loaded for the first time, which is long before the VM is up. It is not
//! visible to programs but by reflection on the declared fields of `Thread`.
//!
//! A thread's constructor sets it, before anything else: native threads that attach themselves run their own
//! constructor, and what that calls must find a slot.

use quipu_classfile::{ClassEditor, ClassFile, EditError, Snippet, access};

/// The class that gets it.
pub const CLASS: &[u8] = b"java/lang/Thread";
/// As the runtime knows it.
const NAME: &[u8] = b"quipuSlot";
const DESCRIPTOR: &[u8] = b"J";

/// `Thread` with the field, set to the slot of threads that have not called anything yet.
pub fn add(bytes: &[u8], new_thread: i64) -> Result<Vec<u8>, EditError> {
    let class = ClassFile::parse(bytes).map_err(EditError::from)?;
    let mut editor = ClassEditor::new(&class);
    editor.add_field(access::SYNTHETIC | access::TRANSIENT, NAME, DESCRIPTOR)?;
    for method in class.methods().filter(|method| method.name() == b"<init>") {
        let Some(mut code) = editor.edit_method(method.index())? else { continue };
        let value = code.pool().long(new_thread)?;
        let field = code.pool().field_ref(CLASS, NAME, DESCRIPTOR)?;
        code.insert_entry(Snippet::new().aload(0).ldc2(value).putfield(field, DESCRIPTOR))?;
        code.finish()?;
    }
    Ok(editor.into_bytes().into_owned())
}
