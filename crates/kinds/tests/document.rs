//! The document of the kinds is what they declare.

use std::path::Path;

const BEGIN: &str = "<!-- made by `QUIPU_BLESS=1 cargo test -p quipu-kinds` from crates/kinds -->\n";
const END: &str = "<!-- end -->\n";

#[test]
fn the_tables_in_the_document_are_those_of_the_declarations() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/kinds/README.md");
    let text = std::fs::read_to_string(&path).expect("docs/kinds/README.md");
    let begin = text.find(BEGIN).expect("where tables begin") + BEGIN.len();
    let end = begin + text[begin..].find(END).expect("where tables end");
    let made = format!("\n{}\n", quipu_kinds::table());
    if std::env::var_os("QUIPU_BLESS").is_some() {
        let new = [&text[..begin], &made, &text[end..]].concat();
        std::fs::write(&path, new).expect("the document can be written");
        return;
    }
    assert_eq!(&text[begin..end], made, "write it anew: QUIPU_BLESS=1 cargo test -p quipu-kinds");
}
