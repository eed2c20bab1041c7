//! Names of machine code: from an address in the target to a function, by the symbol tables of the files that were
//! mapped there.

use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use cpp_demangle::{DemangleOptions, Symbol};
use object::{Object, ObjectSymbol, SymbolKind};
use quipu_arena::reader::Contents;
use quipu_arena::record::Record;

/// Files larger than this are not read: the largest `libjvm.so` with symbols is a tenth of it.
const LARGEST: u64 = 1 << 30;

/// What was mapped in the target, and what is known of it so far.
#[derive(Default)]
pub struct Symbols {
    modules: Vec<Module>,
    tables: HashMap<String, Table>,
}

struct Module {
    start: u64,
    end: u64,
    bias: u64,
    path: String,
}

/// Functions of a file, by address.
#[derive(Default)]
struct Table(Vec<Function>);

struct Function {
    start: u64,
    size: u64,
    name: String,
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
        Symbols { modules, tables: HashMap::new() }
    }

    /// What is at an address.
    pub fn find(&mut self, address: u64) -> Place {
        let behind = self.modules.partition_point(|module| module.start <= address);
        let module = behind.checked_sub(1).and_then(|at| self.modules.get(at));
        let Some(module) = module.filter(|module| address < module.end) else {
            return Place { function: "[machine code]".to_owned(), named: false, module: String::new() };
        };
        let table =
            self.tables.entry(module.path.clone()).or_insert_with(|| Table::read(Path::new(&module.path)));
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
    /// The functions of a file; none if it cannot be read, which leaves the file's name to tell.
    fn read(path: &Path) -> Table {
        read(path).and_then(|bytes| Table::parse(&bytes)).unwrap_or_default()
    }

    fn parse(bytes: &[u8]) -> Option<Table> {
        let file = object::File::parse(bytes).ok()?;
        let mut functions: Vec<Function> = file
            .symbols()
            .chain(file.dynamic_symbols())
            .filter(|symbol| symbol.is_definition() && symbol.kind() == SymbolKind::Text)
            .filter_map(|symbol| {
                let name = symbol.name().ok().filter(|name| !name.is_empty())?;
                Some(Function { start: symbol.address(), size: symbol.size(), name: name.to_owned() })
            })
            .collect();
        // Of several names of one address, the one that says how long it is, then the same every time.
        functions.sort_by(|a, b| (a.start, b.size, &a.name).cmp(&(b.start, a.size, &b.name)));
        functions.dedup_by_key(|function| function.start);
        Some(Table(functions))
    }

    fn find(&self, address: u64) -> Option<String> {
        let behind = self.0.partition_point(|function| function.start <= address);
        let function = self.0.get(behind.checked_sub(1)?)?;
        let near = function.size == 0 || address - function.start < function.size;
        near.then(|| readable(&function.name))
    }
}

/// The bytes of a plain file. Its name is the target's: it may be anything.
fn read(path: &Path) -> Option<Vec<u8>> {
    let known = std::fs::metadata(path).ok()?;
    if !known.is_file() || known.len() > LARGEST {
        return None;
    }
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(LARGEST).read_to_end(&mut bytes).ok()?;
    Some(bytes)
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
        let table = Table::read(&program);
        let main = table.0.iter().find(|function| function.name == "main").expect("main");
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
            assert!(Table::read(Path::new(path)).0.is_empty(), "{path}");
        }
        assert!(Table::parse(b"\x7fELF and nothing").is_none());
    }
}
