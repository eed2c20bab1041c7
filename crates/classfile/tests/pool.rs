//! Growing the constant pool of a minimal class.

use quipu_classfile::{ClassEditor, ClassFile, Constant, EditError, Snippet, VerificationType};

/// `class A { static void f() { return; } }` by hand, version 49, with a lone surrogate among its strings.
fn minimal() -> Vec<u8> {
    let mut class = vec![0xca, 0xfe, 0xba, 0xbe, 0, 0, 0, 49, 0, 7];
    for text in [&b"A"[..], b"f", b"()V", b"Code", b"\xed\xa0\x80"] {
        class.push(1);
        class.extend((text.len() as u16).to_be_bytes());
        class.extend(text);
    }
    class.extend([7, 0, 1]);
    class.extend([0, 0x20, 0, 6, 0, 0, 0, 0, 0, 0, 0, 1]);
    class.extend([0, 8, 0, 2, 0, 3, 0, 1, 0, 4, 0, 0, 0, 13, 0, 0, 0, 0, 0, 0, 0, 1, 0xb1, 0, 0, 0, 0, 0, 0]);
    class
}

#[test]
fn equal_entries_are_shared_and_new_ones_appended() {
    let bytes = minimal();
    let class = ClassFile::parse(&bytes).expect("parses");
    let mut editor = ClassEditor::new(&class);
    let pool = editor.pool();
    assert_eq!(pool.utf8(b"f"), Ok(2));
    assert_eq!(pool.class(b"A"), Ok(6));
    let method = pool.method_ref(b"A", b"f", b"()V").expect("room");
    assert_eq!(pool.method_ref(b"A", b"f", b"()V"), Ok(method));
    let long = pool.long(1 << 40).expect("room");
    assert_eq!(pool.int(7), Ok(long + 2));
    assert_eq!(pool.long(1 << 40), Ok(long));

    let mut code = editor.edit_method(0).expect("opens").expect("has code");
    let mut snippet = Snippet::new();
    let local = code.new_local(VerificationType::Long).expect("room");
    code.insert_entry(snippet.ldc2(long).lstore(local).invokestatic(method, b"()V")).expect("inserts");
    let edited = code.finish().expect("edits");
    assert_eq!((edited.old_size, edited.new_size), (1, 1 + 3 + 1 + 3));
    assert_eq!(editor.last_position(0), (7, 7));

    let written = editor.into_bytes();
    let again = ClassFile::parse(&written).expect("parses");
    assert_eq!(again.pool().get(long), Ok(Constant::Long(1 << 40)));
    assert_eq!(again.pool().get(5), Ok(Constant::Utf8(b"\xed\xa0\x80")));
    let code = again.method(0).expect("f").code().expect("code").expect("code");
    assert_eq!((code.max_stack, code.max_locals), (2, 2));
}

#[test]
fn a_full_pool_is_an_error_and_nothing_changes() {
    let bytes = minimal();
    let class = ClassFile::parse(&bytes).expect("parses");
    let mut editor = ClassEditor::new(&class);
    let full = (0..70_000).find_map(|i| editor.pool().int(i).err());
    assert_eq!(full, Some(EditError::PoolFull));
    assert!(!editor.is_changed());
    assert_eq!(*editor.into_bytes(), *bytes);
}

#[test]
fn wrong_requests_are_refused() {
    let bytes = minimal();
    let class = ClassFile::parse(&bytes).expect("parses");
    let mut editor = ClassEditor::new(&class);
    let mut code = editor.edit_method(0).expect("opens").expect("has code");
    let mut snippet = Snippet::new();
    snippet.int16(1);
    assert!(matches!(code.insert_entry(&snippet), Err(EditError::BadSnippet(_))), "unbalanced");
    snippet.clear().int16(1).istore(0);
    assert_eq!(code.insert_before(1, &snippet), Err(EditError::NotAnInstruction { bci: 1 }));
    code.insert_entry(&snippet).expect("inserts");
    code.set_size_limit(2);
    assert_eq!(code.finish(), Err(EditError::OverLimit { size: 3, limit: 2 }));
    assert!(!editor.is_changed());
}
