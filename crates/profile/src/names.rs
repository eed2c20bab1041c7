//! Names of classes: their packages, and where generated ones come from.

use std::borrow::Cow;

/// How methods of two profiles are told to be the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Names {
    /// By their names.
    Exact,
    /// By where they come from: numbers and addresses that the JVM or a generator made up do not count.
    #[default]
    ByOrigin,
}

impl Names {
    pub(crate) fn class(self, name: &str) -> Cow<'_, str> {
        match self {
            Names::Exact => Cow::Borrowed(name),
            Names::ByOrigin => class_origin(name),
        }
    }

    pub(crate) fn method(self, name: &str) -> &str {
        match self {
            Names::Exact => name,
            Names::ByOrigin => method_origin(name),
        }
    }

    pub(crate) fn descriptor(self, descriptor: &str) -> Cow<'_, str> {
        match self {
            Names::Exact => Cow::Borrowed(descriptor),
            Names::ByOrigin => descriptor_origin(descriptor),
        }
    }
}

/// The package of a binary class name, empty for the unnamed one.
pub fn package_of(class: &str) -> &str {
    // The suffix of a hidden class is not a package, whichever way it is written.
    let class = split_hidden(class).map_or(class, |(name, _)| name);
    class.rsplit_once('.').map_or("", |(package, _)| package)
}

/// The class name without its package.
pub fn simple_name(class: &str) -> &str {
    match package_of(class) {
        "" => class,
        package => &class[package.len() + 1..],
    }
}

/// The class a generated one stands for, without what differs from run to run.
///
/// ```
/// use quipu_profile::class_origin;
/// assert_eq!(class_origin("Foo$$Lambda$14/0x00007f3c4c001200"), "Foo$$Lambda");
/// assert_eq!(class_origin("Foo$$Lambda/0x00007f3c4c001200"), "Foo$$Lambda");
/// assert_eq!(class_origin("Foo/0x00007f3c4c001200"), "Foo/hidden");
/// assert_eq!(class_origin("jdk.proxy2.$Proxy12"), "jdk.proxy.$Proxy");
/// assert_eq!(class_origin("jdk.internal.reflect.GeneratedMethodAccessor5"), "jdk.internal.reflect.GeneratedMethodAccessor");
/// assert_eq!(class_origin("java.util.Map$Entry"), "java.util.Map$Entry");
/// ```
pub fn class_origin(class: &str) -> Cow<'_, str> {
    let (name, hidden) = match split_hidden(class) {
        Some((name, _)) => (name, true),
        None => (class, false),
    };
    if let Some(at) = name.find("$$Lambda") {
        return Cow::Borrowed(&name[..at + "$$Lambda".len()]);
    }
    if name.starts_with("java.lang.invoke.") && (name.contains("LambdaForm$") || name.contains("Species_")) {
        return Cow::Borrowed(name.trim_end_matches(|c: char| c.is_ascii_digit()));
    }
    let (package, simple) = name.rsplit_once('.').map_or(("", name), |(package, simple)| (package, simple));
    if let Some(number) = simple.strip_prefix("$Proxy")
        && is_number(number)
    {
        // Dynamic modules are numbered too: jdk.proxy1, jdk.proxy2.
        let package =
            package.strip_prefix("jdk.proxy").filter(|rest| is_number(rest)).map_or(package, |_| "jdk.proxy");
        return Cow::Owned(if package.is_empty() { "$Proxy".into() } else { format!("{package}.$Proxy") });
    }
    if simple.starts_with("Generated") && simple.contains("Accessor") {
        return Cow::Borrowed(name.trim_end_matches(|c: char| c.is_ascii_digit()));
    }
    for marker in
        ["CGLIB$$", "$ByteBuddy$", "$MockitoMock$", "$HibernateProxy$", "$auxiliary$", "$$Generated$"]
    {
        if let Some(at) = name.find(marker) {
            return Cow::Borrowed(name[..at + marker.len()].trim_end_matches('$'));
        }
    }
    match (hidden, name.contains("$$")) {
        (true, true) => Cow::Borrowed(name),
        (true, false) => Cow::Owned(format!("{name}/hidden")),
        (false, _) => Cow::Borrowed(class),
    }
}

/// The method a lambda's body was written in: `lambda$main$3` comes from `lambda$main`.
pub fn method_origin(method: &str) -> &str {
    match method.rsplit_once('$') {
        Some((origin, number)) if origin.starts_with("lambda$") && is_number(number) => origin,
        _ => method,
    }
}

/// A thread's name with its numbers left open: `worker-17` is one of `worker-#`.
pub fn thread_pattern(name: &str) -> String {
    let mut pattern = String::with_capacity(name.len());
    for c in name.chars() {
        match c {
            '0'..='9' if pattern.ends_with('#') => {}
            '0'..='9' => pattern.push('#'),
            other => pattern.push(other),
        }
    }
    pattern
}

/// Class names inside a descriptor have slashes; a generated one among them differs from run to run as well.
fn descriptor_origin(descriptor: &str) -> Cow<'_, str> {
    if !descriptor.contains("0x") && !descriptor.contains("$Proxy") {
        return Cow::Borrowed(descriptor);
    }
    let mut out = String::with_capacity(descriptor.len());
    let mut rest = descriptor;
    while let Some(start) = rest.find('L') {
        let Some(length) = rest[start..].find(';') else { break };
        let class = rest[start + 1..start + length].replace('/', ".");
        out.push_str(&rest[..=start]);
        out.push_str(&class_origin(&class).replace('.', "/"));
        out.push(';');
        rest = &rest[start + length + 1..];
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// `Foo/0x0123` (as Java writes it), `Foo.0x0123` or `Foo+0x0123` (as the VM does) into name and address.
fn split_hidden(class: &str) -> Option<(&str, &str)> {
    let at = class.rfind(['/', '.', '+'])?;
    let (name, suffix) = (&class[..at], &class[at + 1..]);
    let address = suffix.strip_prefix("0x").unwrap_or(if class.as_bytes()[at] == b'/' { suffix } else { "" });
    (!address.is_empty() && address.bytes().all(|b| b.is_ascii_hexdigit())).then_some((name, address))
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generated_classes_have_an_origin() {
        for (class, origin) in [
            ("a.Foo$$Lambda$14", "a.Foo$$Lambda"),
            ("a.Foo$$Lambda$14/1234567", "a.Foo$$Lambda"),
            ("a.Foo$$Lambda.0x00007f", "a.Foo$$Lambda"),
            ("a.Foo+0x00007f", "a.Foo/hidden"),
            ("$Proxy3", "$Proxy"),
            ("com.sun.proxy.$Proxy3", "com.sun.proxy.$Proxy"),
            ("a.$ProxyFactory", "a.$ProxyFactory"),
            ("java.lang.invoke.LambdaForm$MH/0x0001", "java.lang.invoke.LambdaForm$MH"),
            ("java.lang.invoke.LambdaForm$DMH012", "java.lang.invoke.LambdaForm$DMH"),
            ("a.Foo$$EnhancerBySpringCGLIB$$1a2b3c", "a.Foo$$EnhancerBySpringCGLIB"),
            ("a.Foo$$StringConcat/0x77", "a.Foo$$StringConcat"),
            ("a.Foo1", "a.Foo1"),
            ("a.Foo$1", "a.Foo$1"),
            ("", ""),
        ] {
            assert_eq!(class_origin(class), origin, "{class}");
        }
    }

    #[test]
    fn lambdas_belong_to_the_method_they_are_in() {
        assert_eq!(method_origin("lambda$main$3"), "lambda$main");
        assert_eq!(method_origin("lambda$do$it$30"), "lambda$do$it");
        assert_eq!(method_origin("access$000"), "access$000");
        assert_eq!(descriptor_origin("(ILa/Foo$$Lambda.0x77;J)V"), "(ILa/Foo$$Lambda;J)V");
    }

    #[test]
    fn packages_end_at_the_last_dot() {
        assert_eq!(package_of("java.util.Map$Entry"), "java.util");
        assert_eq!(package_of("a.b.Foo.0x00ff"), "a.b");
        assert_eq!((package_of("Foo"), simple_name("Foo"), simple_name("a.Foo")), ("", "Foo", "Foo"));
        assert_eq!(thread_pattern("pool-1-thread-23"), "pool-#-thread-#");
    }
}
