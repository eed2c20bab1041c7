//! Is the generated table what `jvmti.h` says? Asked of a C compiler, for every JDK on this machine.

#[path = "../../gen/emit.rs"]
mod emit;
#[path = "../../gen/header.rs"]
mod header;
#[path = "../../gen/jdks.rs"]
mod jdks;
#[path = "../../gen/tokens.rs"]
mod tokens;

use super::{Capability, jvmtiCapabilities, layout};
use header::{Header, Item};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::Command;

fn read(jdk: &jdks::Jdk) -> Header {
    let text = std::fs::read_to_string(jdk.jvmti_h()).unwrap();
    header::parse(&text).unwrap()
}

#[test]
fn generated_text_is_current() {
    let ours = super::JVMTI_VERSION >> 16 & 0xFFF;
    let newest = jdks::find_all().pop();
    let Some(jdk) = newest.filter(|jdk| jdk.feature >= ours as u32) else {
        println!("skipped: no JDK {ours} or newer here to generate from");
        return;
    };
    let header = read(&jdk);
    let advice = "run: cargo run -p quipu-jvm --example gen-jvmti";
    assert!(emit::table(&header) == include_str!("table.rs"), "table.rs is out of date; {advice}");
    assert!(emit::layout(&header) == include_str!("layout.rs"), "layout.rs is out of date; {advice}");
}

/// An older header's names must all be ours, at the same place: the table only ever grows.
#[test]
fn layout_agrees_with_c() {
    let jdks = jdks::find_all();
    if jdks.is_empty() || Command::new("cc").arg("--version").output().is_err() {
        println!("skipped: needs a JDK with headers and cc");
    }
    for jdk in &jdks {
        println!("JDK {} in {}", jdk.feature, jdk.home.display());
        let header = read(jdk);
        let ours = ours();
        let newest = emit::constant(&header, "JVMTI_VERSION") == Some(i64::from(super::JVMTI_VERSION));
        let theirs = ask_c(jdk, &header);
        let mut compared = 0;
        for (name, value) in &theirs {
            // What may differ in an older header: its version and bounds, the size of tables that grew, and a slot
            // that was reserved and is a function now.
            let grows =
                ["_MAX", "JVMTI_MAX_", " JVMTI_VERSION", "size jvmtiEventCallbacks", "size jvmtiInterface"];
            let reserved = name.contains(" reserved") && !ours.contains_key(name);
            if !newest
                && (reserved || grows.iter().any(|what| name.contains(what) && !name.contains("VERSION_")))
            {
                continue;
            }
            // Structures had an underscore before their name once.
            let name = &name.replace(" _jvmti", " jvmti");
            assert_eq!(Some(value), ours.get(name), "{name}");
            compared += 1;
        }
        println!("{compared} of {} names agree", theirs.len());
        assert!(compared > 400, "only {compared}");
        if newest {
            assert_eq!(ours.len(), theirs.len());
        }
    }
}

/// Everything Rust knows, as text to compare.
fn ours() -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    for (name, size) in layout::SIZES {
        all.insert(format!("size {name}"), size.to_string());
    }
    for (record, field, offset) in layout::OFFSETS {
        all.insert(format!("offset {record} {field}"), offset.to_string());
    }
    for (name, value) in layout::CONSTANTS {
        all.insert(format!("value {name}"), value.to_string());
    }
    assert_eq!(layout::CAPABILITIES.len(), Capability::ALL.len());
    for (capability, (name, _)) in Capability::ALL.iter().zip(layout::CAPABILITIES) {
        assert_eq!(capability.name(), *name);
        let set = jvmtiCapabilities::of(&[*capability]);
        let bytes = set.words.iter().flat_map(|word| word.to_ne_bytes());
        all.insert(format!("bit {name}"), bytes.map(|byte| format!("{byte:02x}")).collect());
    }
    all
}

fn ask_c(jdk: &jdks::Jdk, header: &Header) -> BTreeMap<String, String> {
    let mut c = String::from(
        "#include <jvmti.h>\n#include <stddef.h>\n#include <stdio.h>\n#include <string.h>\n\
         static void bits(const char *name, const jvmtiCapabilities *set) {\n\
         printf(\"bit %s=\", name);\n\
         for (size_t i = 0; i < sizeof *set; i++) printf(\"%02x\", ((const unsigned char *)set)[i]);\n\
         printf(\"\\n\");\n}\nint main(void) {\njvmtiCapabilities set;\n\
         printf(\"size jvmtiCapabilities=%zu\\n\", sizeof set);\n",
    );
    for item in &header.items {
        match item {
            Item::Constants(values) | Item::Enum { values, .. } => {
                for (name, _) in values {
                    _ = writeln!(c, "printf(\"value {name}=%lld\\n\", (long long){name});");
                }
            }
            Item::Record { name, is_union, fields } => {
                let keyword = match (is_union, name.as_str()) {
                    (true, _) => "union ",
                    (false, "jvmtiEventCallbacks") => "",
                    _ => "struct ",
                };
                _ = writeln!(c, "printf(\"size {name}=%zu\\n\", sizeof({keyword}{name}));");
                for field in fields {
                    let field = &field.name;
                    _ = writeln!(
                        c,
                        "printf(\"offset {name} {field}=%zu\\n\", offsetof({keyword}{name}, {field}));"
                    );
                }
            }
            Item::Capabilities { bits, .. } => {
                for (name, _) in bits {
                    _ = writeln!(c, "memset(&set, 0, sizeof set); set.{name} = 1; bits(\"{name}\", &set);");
                }
            }
            _ => {}
        }
    }
    c.push_str("return 0;\n}\n");
    let answers = compile_and_run(jdk, &c);
    let split = |line: &str| line.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned()));
    answers.lines().filter_map(split).collect()
}

fn compile_and_run(jdk: &jdks::Jdk, source: &str) -> String {
    let folder = std::env::temp_dir().join(format!("quipu-layout-{}-{}", std::process::id(), jdk.feature));
    std::fs::create_dir_all(&folder).unwrap();
    let (file, program): (PathBuf, PathBuf) = (folder.join("layout.c"), folder.join("layout"));
    std::fs::write(&file, source).unwrap();
    let mut cc = Command::new("cc");
    cc.arg("-I").arg(jdk.include()).arg("-I").arg(jdk.include().join("linux"));
    let compiled = cc.arg("-o").arg(&program).arg(&file).output().unwrap();
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let answers = Command::new(&program).output().unwrap();
    assert!(answers.status.success());
    std::fs::remove_dir_all(&folder).unwrap();
    String::from_utf8(answers.stdout).unwrap()
}
