//! Writing back what was read: every method goes through the whole editor with nothing inserted, so instructions,
//! tables and stack maps are decoded and encoded again, and the class file must come out as it went in.

mod support;

use quipu_classfile::{ClassEditor, ClassFile, EditError};

/// Re-encodes every method; the new bytes.
fn round_trip(bytes: &[u8]) -> Result<Vec<u8>, String> {
    let class = ClassFile::parse(bytes).map_err(|e| e.to_string())?;
    let mut editor = ClassEditor::new(&class);
    for method in class.methods() {
        let opened = editor.edit_method(method.index()).map_err(|e| e.to_string())?;
        match opened.map(|code| code.finish()) {
            None | Some(Ok(_) | Err(EditError::EmptyFinalizer)) => {}
            Some(Err(e)) => return Err(format!("{}: {e}", String::from_utf8_lossy(method.name()))),
        }
    }
    Ok(editor.into_bytes().into_owned())
}

fn check(files: &[std::path::PathBuf]) {
    let mut wrong = Vec::new();
    for file in files {
        let bytes = std::fs::read(file).expect("class");
        match round_trip(&bytes) {
            Ok(written) if written == bytes => {}
            Ok(_) => wrong.push(format!("{}: differs", file.display())),
            Err(e) => wrong.push(format!("{}: {e}", file.display())),
        }
    }
    assert!(wrong.is_empty(), "{} of {} classes:\n{}", wrong.len(), files.len(), wrong.join("\n"));
    println!("{} classes identical", files.len());
}

#[test]
fn jdk_classes_round_trip() {
    for jdk in support::jdks() {
        check(&support::sampled(support::class_files(&jdk.classes())));
    }
}

#[test]
fn library_classes_round_trip() {
    for (name, directory) in support::libraries() {
        println!("{name}");
        check(&support::class_files(&directory));
    }
}
