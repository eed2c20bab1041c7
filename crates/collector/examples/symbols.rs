//! Tells what programs and libraries need of the C library, and fails if it is newer than people have.
//!
//! ```sh
//! cargo run -p quipu-collector --example symbols -- 2.17 target/release/libquipu_agent.so
//! ```

use std::error::Error;
use std::path::Path;
use std::process::ExitCode;

use object::LittleEndian;
use object::elf::{DT_NEEDED, FileHeader64, STB_WEAK, VER_FLG_WEAK};
use object::read::elf::{Dyn, FileHeader, Sym};

/// What is part of the C library, and of the program that loads libraries.
const OF_THE_C_LIBRARY: [&str; 7] = [
    "libc.so.6",
    "libm.so.6",
    "libdl.so.2",
    "libpthread.so.0",
    "librt.so.1",
    "ld-linux-x86-64.so.2",
    "ld-linux-aarch64.so.1",
];

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let newest = arguments.next().ok_or("say which version is the newest that may be needed, then files")?;
    let newest = version(&newest).ok_or("a version looks like 2.17")?;
    let mut good = true;
    for path in arguments {
        let needs = needs(Path::new(&path))?;
        let shown = needs
            .symbols
            .last()
            .map_or("nothing".to_owned(), |(v, name)| format!("{}.{} ({name})", v.0, v.1));
        println!("{path}: needs GLIBC {shown}, libraries {:?}", needs.libraries);
        for (version, name) in needs.symbols.iter().filter(|(version, _)| *version > newest) {
            println!(
                "  {name} is of GLIBC {}.{}, and {}.{} is the newest that may be",
                version.0, version.1, newest.0, newest.1
            );
            good = false;
        }
        for library in needs.libraries.iter().filter(|library| !OF_THE_C_LIBRARY.contains(&&***library)) {
            println!("  {library} is not part of the C library");
            good = false;
        }
    }
    Ok(if good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What a file needs.
struct Needs {
    /// Versions of the C library's symbols, the newest last.
    symbols: Vec<((u32, u32), String)>,
    libraries: Vec<String>,
}

fn needs(path: &Path) -> Result<Needs, Box<dyn Error>> {
    let bytes = std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let (endian, data) = (LittleEndian, &*bytes);
    let header = FileHeader64::<LittleEndian>::parse(data)?;
    let sections = header.sections(endian, data)?;
    let mut symbols = Vec::new();
    if let Some(versions) = sections.versions(endian, data)? {
        let table = sections.symbols(endian, data, object::elf::SHT_DYNSYM)?;
        for (index, symbol) in table.enumerate() {
            // What may be missing is asked for before it is used.
            if !symbol.is_undefined(endian) || symbol.st_bind() == STB_WEAK {
                continue;
            }
            let Some(found) = versions.version(versions.version_index(endian, index).into())? else {
                continue;
            };
            let Some(number) = std::str::from_utf8(found.name())?.strip_prefix("GLIBC_") else { continue };
            let name = String::from_utf8_lossy(table.symbol_name(endian, symbol)?).into_owned();
            symbols.push((version(number).unwrap_or((u32::MAX, 0)), name));
        }
    }
    // The loader looks for these before it looks for any symbol, also if nothing but weak symbols has them, unless they are
    // marked as such.
    if let Some((mut needed, strings)) = sections.gnu_verneed(endian, data)? {
        let strings = sections.strings(endian, data, strings)?;
        while let Some((_, mut versions)) = needed.next()? {
            while let Some(found) = versions.next()? {
                let is_weak = found.vna_flags.get(endian).0 & VER_FLG_WEAK.0 != 0;
                let name = String::from_utf8_lossy(found.name(endian, strings)?).into_owned();
                if let Some(number) = name.strip_prefix("GLIBC_").filter(|_| !is_weak) {
                    symbols.push((
                        version(number).unwrap_or((u32::MAX, 0)),
                        "a version that is asked for".to_owned(),
                    ));
                }
            }
        }
    }
    symbols.sort();
    let mut libraries = Vec::new();
    if let Some((dynamic, strings)) = sections.dynamic(endian, data)? {
        let strings = sections.strings(endian, data, strings)?;
        for entry in dynamic.iter().filter(|entry| entry.d_tag(endian) == DT_NEEDED) {
            libraries.push(String::from_utf8_lossy(entry.string(endian, strings)?).into_owned());
        }
    }
    Ok(Needs { symbols, libraries })
}

/// 2.17, or 2.2.5.
fn version(text: &str) -> Option<(u32, u32)> {
    let mut numbers = text.split('.').map(|number| number.parse().ok());
    Some((numbers.next()??, numbers.next()??))
}
