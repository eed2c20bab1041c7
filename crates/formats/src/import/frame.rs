//! Class and method from the text of a frame.

/// What async-profiler appends to say how a frame was running.
const SUFFIXES: [&str; 6] = ["_[j]", "_[i]", "_[k]", "_[0]", "_[1]", "_[c]"];

/// Splits `java.util.HashMap.put` and `java/util/HashMap.put` into class and method. What does not look like a Java
/// method (`libc.so.6`, `std::sort`, `[unknown]`) has no class. Class, dot and method are always the frame's text again,
/// except for slashes that separate packages and the suffixes above.
pub(super) fn split(text: &str) -> (String, &str) {
    let text = SUFFIXES.iter().find_map(|suffix| text.strip_suffix(suffix)).unwrap_or(text);
    match text.rsplit_once('.') {
        Some((class, name)) if !class.is_empty() && is_method_name(name) => (dotted(class), name),
        _ => (String::new(), text),
    }
}

fn is_method_name(name: &str) -> bool {
    let plain = |c: char| !c.is_whitespace() && !".;[/()<>:,*&]{}".contains(c);
    matches!(name, "<init>" | "<clinit>")
        || (!name.is_empty()
            && name != "so"
            && !name.starts_with(|c: char| c.is_ascii_digit())
            && name.chars().all(plain))
}

/// Packages in the class file's notation become dots; the slash of a hidden class (`Foo/0x7f…`) stays.
fn dotted(class: &str) -> String {
    match class.rsplit_once('/') {
        Some((_, last)) if !class.contains('.') && !last.starts_with("0x") => class.replace('/', "."),
        _ => class.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn frames_of_several_tools() {
        for (text, class, name) in [
            ("java.util.HashMap.put", "java.util.HashMap", "put"),
            ("java/util/HashMap.put_[j]", "java.util.HashMap", "put"),
            ("Foo.<init>", "Foo", "<init>"),
            ("p.Foo$$Lambda/0x00007f.run", "p.Foo$$Lambda/0x00007f", "run"),
            ("Foo/0x00007f.run", "Foo/0x00007f", "run"),
            ("libc.so.6", "", "libc.so.6"),
            ("libjvm.so", "", "libjvm.so"),
            ("std::sort", "", "std::sort"),
            ("do_syscall_64_[k]", "", "do_syscall_64"),
            ("[unknown]", "", "[unknown]"),
            ("<img src=x>.f", "<img src=x>", "f"),
            ("f(int, ...)", "", "f(int, ...)"),
            (".", "", "."),
            ("", "", ""),
        ] {
            assert_eq!(split(text), (class.to_owned(), name), "{text}");
        }
    }
}
