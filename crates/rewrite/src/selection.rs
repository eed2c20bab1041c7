//! Which classes and methods are instrumented at all: what the user asked for, and what must never be touched.

use quipu_text::glob;

/// The user's filters. A pattern is a package or class with dots, with an optional method after `#`; `*` stands for
/// any run of characters. `com.acme` selects the class or package and everything below it.
#[derive(Debug, Default, Clone)]
pub struct Selection {
    include: Vec<Pattern>,
    exclude: Vec<Pattern>,
}

#[derive(Debug, Clone)]
struct Pattern {
    class: Vec<u8>,
    method: Option<Vec<u8>>,
}

impl Selection {
    /// Only what matches some included pattern is instrumented.
    pub fn include(&mut self, pattern: &str) {
        self.include.push(Pattern::new(pattern));
    }

    /// What matches is left alone, even if it is included.
    pub fn exclude(&mut self, pattern: &str) {
        self.exclude.push(Pattern::new(pattern));
    }

    /// Whether only what is named is instrumented.
    pub fn is_limited(&self) -> bool {
        !self.include.is_empty()
    }

    /// Whether some method of the class may be selected.
    pub fn class(&self, name: &[u8]) -> bool {
        (self.include.is_empty() || self.include.iter().any(|p| p.matches_class(name)))
            && !self.exclude.iter().any(|p| p.method.is_none() && p.matches_class(name))
    }

    /// Whether a method of a selected class is selected.
    pub fn method(&self, class: &[u8], name: &[u8]) -> bool {
        (self.include.is_empty() || self.include.iter().any(|p| p.matches(class, name)))
            && !self.exclude.iter().any(|p| p.matches(class, name))
    }
}

impl Pattern {
    fn new(text: &str) -> Pattern {
        let (class, method) = match text.split_once('#') {
            Some((class, method)) => (class, Some(method.as_bytes().to_vec())),
            None => (text, None),
        };
        Pattern { class: class.replace('.', "/").into_bytes(), method }
    }

    fn matches_class(&self, name: &[u8]) -> bool {
        let below = name
            .strip_prefix(self.class.as_slice())
            .is_some_and(|rest| matches!(rest.first(), None | Some(b'/' | b'$')));
        below || glob(&self.class, name)
    }

    fn matches(&self, class: &[u8], method: &[u8]) -> bool {
        self.matches_class(class) && self.method.as_ref().is_none_or(|pattern| glob(pattern, method))
    }
}

/// Classes in which no code may be inserted, whatever the user asks for, by prefix of the internal name.
const UNTOUCHABLE: &[(&str, &str)] = &[
    ("java/quipu/", "the runtime itself"),
    ("quipu/runtime/", "the runtime itself"),
    ("quipu/jars/", "part of an instrumented jar"),
    ("quipu/ExactProfiler", "for agents, which are not counted"),
    ("quipu/Context", "for agents, which are not counted"),
    ("quipu/MethodId", "for agents, which are not counted"),
    ("java/lang/Object", "its constructor is special to the VM"),
    ("jdk/internal/misc/Unsafe", "the runtime is made of it"),
    ("sun/misc/Unsafe", "the runtime is made of it"),
    ("java/lang/invoke/", "method handles: what runs in them depends on the JIT"),
    ("java/lang/VirtualThread", "runs while a thread changes its identity"),
    ("java/lang/BaseVirtualThread", "runs while a thread changes its identity"),
    ("java/lang/ThreadBuilders$BoundVirtualThread", "runs while a thread changes its identity"),
    ("jdk/internal/vm/", "runs while a thread changes its identity"),
    ("jdk/internal/misc/CarrierThread", "runs while a thread changes its identity"),
    ("jdk/internal/reflect/Generated", "made by the JDK's reflection at times of its own"),
    ("sun/reflect/Generated", "made by the JDK's reflection at times of its own"),
];

/// In the names of classes that the JDK makes for lambdas. Only JDK 8 shows them to agents, and they are left alone there as
/// they are elsewhere, so that contexts are the same.
const LAMBDA: &[u8] = b"$$Lambda$";

/// Why no method of a class may be instrumented.
pub fn untouchable(class: &[u8]) -> Option<&'static str> {
    if class.windows(LAMBDA.len()).any(|part| part == LAMBDA) {
        return Some("made by the JDK for a lambda");
    }
    UNTOUCHABLE.iter().find(|(prefix, _)| covers(prefix, class)).map(|(_, reason)| *reason)
}

/// A prefix that is a package covers it; one that is a class covers the class and its nested classes.
fn covers(prefix: &str, class: &[u8]) -> bool {
    class.strip_prefix(prefix.as_bytes()).is_some_and(|rest| {
        prefix.ends_with('/') || prefix.ends_with("Generated") || matches!(rest.first(), None | Some(b'$'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_select_packages_classes_and_methods() {
        let mut s = Selection::default();
        assert!(s.class(b"any/Thing") && s.method(b"any/Thing", b"m"));
        s.include("com.acme");
        s.include("org.*.Parser#parse*");
        s.exclude("com.acme.gen");
        s.exclude("com.acme.App#main");
        assert!(s.class(b"com/acme/App") && s.class(b"com/acme/App$Inner"));
        assert!(!s.class(b"com/acmecorp/App") && !s.class(b"com/acme/gen/X"));
        assert!(!s.method(b"com/acme/App", b"main") && s.method(b"com/acme/App", b"run"));
        assert!(s.class(b"org/json/Parser") && s.method(b"org/json/Parser", b"parseValue"));
        assert!(!s.method(b"org/json/Parser", b"close"));
    }

    #[test]
    fn untouchable_classes_are_named_exactly() {
        assert!(untouchable(b"java/lang/Object").is_some());
        assert!(untouchable(b"java/lang/ObjectName").is_none());
        assert!(untouchable(b"java/lang/invoke/LambdaForm$MH").is_some());
        assert!(untouchable(b"java/lang/VirtualThread$Runner").is_some());
        assert!(untouchable(b"jdk/internal/reflect/GeneratedMethodAccessor5").is_some());
        assert!(untouchable(b"app/Main$$Lambda$7").is_some() && untouchable(b"app/Main$Lambda").is_none());
    }
}
