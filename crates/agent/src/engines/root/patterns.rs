//! What people call a root: a method by name, by name and parameters, with stars, by file and line, or `main`.

use quipu_classfile::{Method, mutf8};
use quipu_text::glob;

/// What somebody wrote, and what it means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    pub text: String,
    pub pattern: Pattern,
}

impl Named {
    /// What somebody wrote, or why it is not understood.
    pub fn parse(text: &str) -> Result<Named, String> {
        Pattern::parse(text).map(|pattern| Named { text: text.to_owned(), pattern })
    }
}

/// Lines of a method.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lines {
    pub text: String,
    pub method: Pattern,
    /// The first and the last.
    pub lines: (u16, u16),
}

impl Lines {
    /// `com.acme.Orders.place:120-135`, `com.acme.Orders.place:120`.
    pub fn parse(text: &str) -> Result<Lines, String> {
        let wrong = || {
            format!(
                "--region {text}: must be a method with lines of it, such as com.acme.Orders.place:120-135"
            )
        };
        let (method, lines) = text.rsplit_once(':').ok_or_else(wrong)?;
        let (first, last) = lines.split_once('-').unwrap_or((lines, lines));
        let (Ok(first), Ok(last)) = (first.parse(), last.parse()) else { return Err(wrong()) };
        match Pattern::parse(method) {
            Ok(method @ Pattern::Named { .. }) if first <= last => {
                Ok(Lines { text: text.to_owned(), method, lines: (first, last) })
            }
            _ => Err(wrong()),
        }
    }

    /// Whether a method has some of them.
    pub fn are_in(&self, method: &Method<'_, '_>) -> bool {
        let (first, last) = self.lines;
        self.method.class(method.class().name())
            && self.method.method(method)
            && lines_of(method).into_iter().any(|line| (first..=last).contains(&line))
    }
}

/// A method that was named, or several.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pattern {
    /// `main(String[])` of any class that is not the JDK's.
    Main,
    /// `com.acme.Orders.place`, `com.acme.Orders#place(int,String)`, `com.acme.*.handle*`.
    Named {
        /// With dots, and perhaps without a package.
        class: String,
        method: String,
        /// Parameters as the source has them, or a descriptor's; any, if none are named.
        parameters: Option<String>,
    },
    /// `Orders.java:120`.
    Line { file: String, line: u16 },
}

impl Pattern {
    /// What somebody wrote, or why it is not understood.
    pub fn parse(text: &str) -> Result<Pattern, String> {
        if text == "main" {
            return Ok(Pattern::Main);
        }
        if let Some((file, line)) = text.split_once(':')
            && let Ok(line) = line.parse()
            && !file.contains('(')
        {
            return Ok(Pattern::Line { file: file.to_owned(), line });
        }
        let (name, parameters) = match text.split_once('(') {
            Some((name, rest)) => {
                let parameters = rest.split(')').next().unwrap_or_default();
                (name, Some(parameters.replace(' ', "")))
            }
            None => (text, None),
        };
        let parts = name.split_once('#').or_else(|| name.rsplit_once('.'));
        match parts {
            Some((class, method)) if !class.is_empty() && !method.is_empty() => {
                Ok(Pattern::Named { class: class.replace('/', "."), method: method.to_owned(), parameters })
            }
            _ => Err(format!(
                "--root {text}: must be a method such as com.acme.Orders.place, a line such as Orders.java:120, or main"
            )),
        }
    }

    /// Whether a class with this internal name can have such a method, for what its name tells.
    pub fn class(&self, name: &[u8]) -> bool {
        match self {
            Pattern::Main => !is_jdks(name),
            Pattern::Line { file, .. } => {
                // The file of a class is called like its outermost class, but in other languages, where anything goes.
                let simple = name.rsplit(|&byte| byte == b'/').next().unwrap_or(name);
                let outer = simple.split(|&byte| byte == b'$').next().unwrap_or(simple);
                let stem = file.rsplit_once('.').map_or(file.as_str(), |(stem, _)| stem);
                !file.ends_with(".java") || outer == stem.as_bytes()
            }
            Pattern::Named { class, .. } => {
                let name = mutf8::decode(name).replace('/', ".");
                glob(class, &name) || glob(class, name.replace('$', "."))
                    // Without its package.
                    || (!class.contains('.') && name.rsplit('.').next().is_some_and(|simple| glob(class, simple)))
            }
        }
    }

    /// Whether it is a method of a class that can have it.
    pub fn method(&self, method: &Method<'_, '_>) -> bool {
        let is_there = match self {
            Pattern::Line { file, line } => {
                let source = method.class().source_file().unwrap_or_default();
                source == file.as_bytes() && has_line(method, *line)
            }
            Pattern::Main | Pattern::Named { .. } => true,
        };
        is_there && self.signature(method.name(), method.descriptor())
    }

    /// Whether it can be called so, in a class that can have it.
    pub fn signature(&self, name: &[u8], descriptor: &[u8]) -> bool {
        match self {
            Pattern::Main => name == b"main" && descriptor == b"([Ljava/lang/String;)V",
            Pattern::Line { .. } => true,
            Pattern::Named { method, parameters, .. } => {
                glob(method, name) && parameters.as_ref().is_none_or(|wanted| takes(descriptor, wanted))
            }
        }
    }

    /// The source file that it names.
    pub fn file(&self) -> Option<&str> {
        match self {
            Pattern::Line { file, .. } => Some(file),
            Pattern::Main | Pattern::Named { .. } => None,
        }
    }
}

/// Classes that nobody means by `main`.
fn is_jdks(name: &[u8]) -> bool {
    [&b"java/"[..], b"javax/", b"jdk/", b"sun/", b"com/sun/"].iter().any(|prefix| name.starts_with(prefix))
}

/// Whether a method has code for a line, or for lines before and behind it.
fn has_line(method: &Method<'_, '_>, line: u16) -> bool {
    let (least, most) = lines_of(method)
        .into_iter()
        .fold((u16::MAX, 0), |(least, most), line| (least.min(line), most.max(line)));
    (least..=most).contains(&line)
}

/// The lines that a method has code for.
fn lines_of(method: &Method<'_, '_>) -> Vec<u16> {
    let Ok(Some(code)) = method.code() else { return Vec::new() };
    let Some(table) = code.attributes.find(method.class().pool(), b"LineNumberTable") else {
        return Vec::new();
    };
    let rows = table.data.get(2..).unwrap_or_default().chunks_exact(4);
    rows.filter_map(|row| Some(u16::from_be_bytes(row.get(2..4)?.try_into().ok()?))).collect()
}

/// Whether a descriptor's parameters are those that were named: by its own letters, or as the source has them.
fn takes(descriptor: &[u8], wanted: &str) -> bool {
    let text = mutf8::decode(descriptor);
    let Some(inside) = text.strip_prefix('(').and_then(|text| text.split(')').next()) else { return false };
    if inside == wanted.replace('.', "/") {
        return true;
    }
    let wanted: Vec<&str> = wanted.split(',').filter(|name| !name.is_empty()).collect();
    let types = types(inside);
    types.len() == wanted.len()
        && types.iter().zip(wanted).all(|(full, wanted)| {
            let simple = full.rsplit(['.', '$']).next().unwrap_or(full);
            full == wanted || simple == wanted || full.replace('$', ".") == wanted
        })
}

/// The types of a descriptor, as the source has them.
fn types(mut rest: &str) -> Vec<String> {
    let mut found = Vec::new();
    while let Some(first) = rest.trim_start_matches('[').chars().next() {
        let dimensions = rest.len() - rest.trim_start_matches('[').len();
        rest = rest.get(dimensions + 1..).unwrap_or_default();
        let mut name = match first {
            'B' => "byte".to_owned(),
            'C' => "char".to_owned(),
            'D' => "double".to_owned(),
            'F' => "float".to_owned(),
            'I' => "int".to_owned(),
            'J' => "long".to_owned(),
            'S' => "short".to_owned(),
            'Z' => "boolean".to_owned(),
            _ => {
                let (class, behind) = rest.split_once(';').unwrap_or((rest, ""));
                rest = behind;
                class.replace('/', ".")
            }
        };
        name.push_str(&"[]".repeat(dimensions));
        found.push(name);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_people_write_is_understood() {
        let named = |class: &str, method: &str, parameters: Option<&str>| Pattern::Named {
            class: class.to_owned(),
            method: method.to_owned(),
            parameters: parameters.map(str::to_owned),
        };
        assert_eq!(Pattern::parse("main"), Ok(Pattern::Main));
        assert_eq!(Pattern::parse("A.java:7"), Ok(Pattern::Line { file: "A.java".to_owned(), line: 7 }));
        assert_eq!(Pattern::parse("com.acme.A.place"), Ok(named("com.acme.A", "place", None)));
        assert_eq!(
            Pattern::parse("com/acme/A#place(int, java.lang.String)"),
            Ok(named("com.acme.A", "place", Some("int,java.lang.String")))
        );
        assert_eq!(Pattern::parse("A.place()V"), Ok(named("A", "place", Some(""))));
        assert!(
            Pattern::parse("place").is_err() && Pattern::parse("").is_err() && Pattern::parse("A.").is_err()
        );
    }

    #[test]
    fn regions_are_lines_of_methods() {
        let lines = |text| Lines::parse(text).map(|region| region.lines);
        assert_eq!((lines("a.B.c:3-5"), lines("a.B.c(int):7")), (Ok((3, 5)), Ok((7, 7))));
        for wrong in ["a.B.c", "a.B.c:5-3", "a.B.c:x", "main:3", "B.java:3:4", ":3"] {
            assert!(lines(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn classes_are_named_with_or_without_their_package() {
        let matches = |pattern: &str, class: &str| Pattern::parse(pattern).unwrap().class(class.as_bytes());
        assert!(matches("com.acme.A.m", "com/acme/A") && matches("A.m", "com/acme/A"));
        assert!(matches("com.acme.A.B.m", "com/acme/A$B") && matches("com.*.handle*", "com/acme/A"));
        assert!(!matches("acme.A.m", "com/acme/A") && !matches("A.m", "com/acme/AB"));
        assert!(matches("A.java:3", "com/acme/A$1") && !matches("A.java:3", "com/acme/B"));
        assert!(matches("Script.kt:3", "com/acme/ScriptKt"));
        assert!(matches("main", "Main") && !matches("main", "sun/launcher/LauncherHelper"));
    }

    #[test]
    fn parameters_are_those_of_the_source_or_of_the_descriptor() {
        let descriptor = b"(I[Ljava/util/Map$Entry;J)V";
        assert!(takes(descriptor, "int,Entry[],long") && takes(descriptor, "int,java.util.Map.Entry[],long"));
        assert!(takes(descriptor, "I[Ljava/util/Map$Entry;J"));
        assert!(!takes(descriptor, "int,long") && !takes(descriptor, "") && takes(b"()V", ""));
    }
}
