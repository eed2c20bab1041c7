//! Names of machine code: from an address in the target to a function, by the symbol tables of the files that were
//! mapped there.

use std::collections::HashMap;
use std::fs::File;
use std::path::Path;

use cpp_demangle::{DemangleOptions, Symbol};
use object::elf::{FileHeader64, SHT_DYNSYM, SHT_SYMTAB, STT_FUNC, STT_GNU_IFUNC};
use object::read::elf::{FileHeader, SectionHeader, Sym};
use object::{Endianness, ReadCache, ReadRef};
use quipu_arena::reader::Contents;
use quipu_arena::record::Record;

use super::kernel::{self, Kernel};

/// Files that are larger than this together are not read: the largest `libjvm.so` with symbols is a tenth of it. Their names
/// are the target's, which may name one file in many ways.
const LARGEST: u64 = 1 << 30;

/// What was mapped in the target, and what is known of it so far.
#[derive(Default)]
pub struct Symbols {
    modules: Vec<Module>,
    tables: HashMap<String, Table>,
    kernel: Kernel,
    /// Bytes of all files that were read.
    read: u64,
}

struct Module {
    start: u64,
    end: u64,
    bias: u64,
    path: String,
}

/// Functions of a file, by address, and the names of all. Of a `libjvm.so` with symbols these are some five of thirty
/// megabytes; nothing else of it is read.
#[derive(Default)]
struct Table {
    functions: Vec<Function>,
    names: Vec<u8>,
}

#[derive(Clone, Copy)]
struct Function {
    start: u64,
    size: u64,
    /// Where its name begins; it ends with a zero.
    name: usize,
}

/// Machine code, for people.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Place {
    /// The function, or something in brackets if that is not known.
    pub function: String,
    /// Whether it is.
    pub named: bool,
    /// Name of the file; empty if it is not known.
    pub module: String,
}

impl Symbols {
    /// What an arena says was mapped.
    pub fn of(contents: &Contents<'_>) -> Symbols {
        let mut modules: Vec<Module> = contents
            .records
            .iter()
            .filter_map(|record| match *record {
                Record::SampledModule { start, end, bias, path } => {
                    Some(Module { start, end, bias, path: String::from_utf8_lossy(path).into_owned() })
                }
                _ => None,
            })
            .collect();
        modules.sort_by_key(|module| module.start);
        Symbols { modules, tables: HashMap::new(), kernel: Kernel::at(contents.header.created), read: 0 }
    }

    /// What is at an address.
    pub fn find(&mut self, address: u64) -> Place {
        if address >= kernel::FIRST {
            let function = self.kernel.find(address);
            let named = function.is_some();
            let function = function.unwrap_or_else(|| "[kernel]".to_owned());
            return Place { function, named, module: "kernel".to_owned() };
        }
        let behind = self.modules.partition_point(|module| module.start <= address);
        let module = behind.checked_sub(1).and_then(|at| self.modules.get(at));
        let Some(module) = module.filter(|module| address < module.end) else {
            return Place { function: "[machine code]".to_owned(), named: false, module: String::new() };
        };
        let read = &mut self.read;
        let table = self
            .tables
            .entry(module.path.clone())
            .or_insert_with(|| Table::read(Path::new(&module.path), read));
        let name = module.path.rsplit('/').next().unwrap_or_default();
        let function = table.find(address.wrapping_sub(module.bias));
        Place {
            named: function.is_some(),
            function: function.unwrap_or_else(|| format!("[{name}]")),
            module: name.to_owned(),
        }
    }
}

impl Table {
    /// The functions of a file; none if it cannot be read, which leaves the file's name to tell. Its name is the
    /// target's: it may be anything.
    fn read(path: &Path, read: &mut u64) -> Table {
        let known = std::fs::metadata(path).ok().filter(|known| known.is_file());
        let all = known.and_then(|known| read.checked_add(known.len())).filter(|&all| all <= LARGEST);
        let Some(all) = all else { return Table::default() };
        *read = all;
        let Ok(file) = File::open(path) else { return Table::default() };
        Table::parse(&ReadCache::new(file)).unwrap_or_default()
    }

    fn parse<'d>(file: impl ReadRef<'d>) -> object::Result<Table> {
        let header = FileHeader64::<Endianness>::parse(file)?;
        let endian = header.endian()?;
        let sections = header.sections(endian, file)?;
        let mut table = Table::default();
        for kind in [SHT_SYMTAB, SHT_DYNSYM] {
            let symbols = sections.symbols(endian, file, kind)?;
            if symbols.is_empty() {
                continue;
            }
            let names = sections.section(symbols.string_section())?.data(endian, file)?;
            let before = table.names.len();
            table.names.extend_from_slice(names);
            let functions = symbols.iter().filter(|symbol| {
                matches!(symbol.st_type(), STT_FUNC | STT_GNU_IFUNC) && !symbol.is_undefined(endian)
            });
            table.functions.extend(functions.map(|symbol| Function {
                start: symbol.st_value(endian),
                size: symbol.st_size(endian),
                name: before + symbol.st_name(endian) as usize,
            }));
        }
        table.functions.sort_unstable_by_key(|function| function.start);
        Ok(table)
    }

    fn name(&self, function: Function) -> &str {
        let name = self.names.get(function.name..).and_then(|rest| rest.split(|&byte| byte == 0).next());
        name.and_then(|name| std::str::from_utf8(name).ok()).unwrap_or_default()
    }

    fn find(&self, address: u64) -> Option<String> {
        let behind = self.functions.partition_point(|function| function.start <= address);
        let start = self.functions.get(behind.checked_sub(1)?)?.start;
        let first = self.functions.partition_point(|function| function.start < start);
        // Of several names of one address, the one that says how long it is, then the same every time.
        let function = self
            .functions
            .get(first..behind)?
            .iter()
            .copied()
            .min_by(|&a, &b| (b.size, self.name(a)).cmp(&(a.size, self.name(b))))?;
        let near = function.size == 0 || address - start < function.size;
        Some(self.name(function)).filter(|name| near && !name.is_empty()).map(readable)
    }
}

/// The name as it stands in the source, without the types of arguments.
fn readable(name: &str) -> String {
    // Versions of a symbol: memcpy@@GLIBC_2.14.
    let plain = name.split('@').next().unwrap_or(name);
    let options = DemangleOptions::new().no_params().no_return_type();
    Symbol::new(plain)
        .ok()
        .and_then(|symbol| symbol.demangle_with_options(&options).ok())
        .unwrap_or_else(|| plain.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_source() {
        assert_eq!(
            readable("_ZN9JavaCalls11call_helperEP9JavaValueRK12methodHandle"),
            "JavaCalls::call_helper"
        );
        assert_eq!(readable("memcpy@@GLIBC_2.14"), "memcpy");
        assert_eq!(readable("_Znot_mangled"), "_Znot_mangled");
    }

    #[test]
    fn a_function_of_this_program_is_found_and_what_is_beside_it_is_not() {
        let program = std::env::current_exe().expect("a program");
        let mut read = 0;
        let table = Table::read(&program, &mut read);
        assert!(read > 0);
        assert!(Table::read(&program, &mut (LARGEST - read + 1)).functions.is_empty(), "too many files");
        let main = table.functions.iter().find(|&&function| table.name(function) == "main").expect("main");
        assert_eq!(table.find(main.start).as_deref(), Some("main"));
        assert_eq!(table.find(0), None);
        let mut symbols = Symbols::default();
        let path = program.to_string_lossy().into_owned();
        symbols.modules.push(Module { start: 1 << 40, end: 1 << 41, bias: 1 << 40, path });
        assert_eq!(symbols.find((1 << 40) + main.start).function, "main");
        assert_eq!(symbols.find(5).module, "");
    }

    #[test]
    fn what_is_no_file_is_not_read() {
        for path in ["/dev/zero", "/proc/self", "/nowhere", ""] {
            assert!(Table::read(Path::new(path), &mut 0).functions.is_empty(), "{path}");
        }
        assert!(Table::parse(&b"\x7fELF and nothing"[..]).is_err());
    }
}
