//! What a `java` command line runs.

/// The main class, module or jar in the arguments of a `java` command.
pub(super) fn main_of(arguments: &[String]) -> Option<String> {
    let mut rest = arguments.iter().skip(1);
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "-jar" | "-m" | "--module" => return rest.next().cloned(),
            argument if takes_a_value(argument) => _ = rest.next(),
            argument if argument.starts_with("--module=") => {
                return argument.split_once('=').map(|(_, module)| module.to_owned());
            }
            argument if argument.starts_with('-') || argument.starts_with('@') => {}
            main => return Some(main.to_owned()),
        }
    }
    None
}

/// The launcher's options whose value is the next argument.
fn takes_a_value(option: &str) -> bool {
    let options = [
        "-cp",
        "-classpath",
        "--class-path",
        "-p",
        "--module-path",
        "--upgrade-module-path",
        "--add-modules",
        "--enable-native-access",
        "--add-reads",
        "--add-exports",
        "--add-opens",
        "--limit-modules",
        "--patch-module",
        "--source",
        "-d",
        "--describe-module",
    ];
    options.contains(&option)
}

#[cfg(test)]
mod tests {
    use super::main_of;

    #[test]
    fn mains() {
        let known = [
            ("java Main a b", Some("Main")),
            ("/opt/jdk/bin/java -Xmx1g -cp a.jar:b.jar com.acme.Main x", Some("com.acme.Main")),
            ("java -jar app.jar -cp no", Some("app.jar")),
            ("java -p mods --add-modules x -m a.b/c.D", Some("a.b/c.D")),
            ("java --module=a/b", Some("a/b")),
            ("java --add-opens java.base/java.lang=ALL-UNNAMED @args Main", Some("Main")),
            ("java -version", None),
            ("java -jar", None),
            ("", None),
        ];
        for (line, main) in known {
            let arguments: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            assert_eq!(main_of(&arguments).as_deref(), main, "{line}");
        }
    }
}
