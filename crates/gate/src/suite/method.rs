//! Test methods as a listener tells of them, and as people write them.

/// A method that is a test, or makes tests.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct TestMethod {
    pub(super) class: String,
    pub(super) name: String,
    pub(super) descriptor: String,
    /// The tests are made while it runs; their code is in its lambdas.
    pub(super) dynamic: bool,
    /// Where it was run, seen from where all tests were: two modules may have tests of the same name.
    pub(super) module: String,
}

impl TestMethod {
    /// Reads what the listener wrote: kind, class, method and descriptor.
    pub(super) fn parse(note: &str) -> Option<TestMethod> {
        let mut parts = note.split('\t');
        let (kind, class, name, descriptor) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        Some(TestMethod {
            class: class.to_owned(),
            name: name.to_owned(),
            descriptor: descriptor.to_owned(),
            dynamic: kind == "dynamic",
            module: String::new(),
        })
    }

    /// Whether a method is where this test's work begins.
    pub(super) fn begins_at(&self, class: &str, name: &str, descriptor: &str) -> bool {
        let made = || {
            let rest = name.strip_prefix("lambda$").and_then(|rest| rest.strip_prefix(self.name.as_str()));
            rest.is_some_and(|rest| rest.starts_with('$'))
        };
        class == self.class
            && match self.dynamic {
                false => name == self.name && descriptor == self.descriptor,
                true => made(),
            }
    }

    /// `com.acme.OrderTest.adds(int,String)`, on one line whatever the class file says.
    pub(super) fn title(&self, full: bool) -> String {
        self.title_in(&self.class, full)
    }

    /// The same where the class is another than the one that declares the method.
    pub(super) fn title_in(&self, class: &str, full: bool) -> String {
        let types: Vec<String> = parameters(&self.descriptor)
            .into_iter()
            .map(|name| match full {
                true => name,
                false => name.rsplit(['.', '$']).next().unwrap_or_default().to_owned(),
            })
            .collect();
        let module = if self.module.is_empty() { String::new() } else { format!("{}/", self.module) };
        let title = format!("{module}{class}.{}({})", self.name, types.join(","));
        title.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
    }
}

/// Names of the parameters' types, with dots.
fn parameters(descriptor: &str) -> Vec<String> {
    let inside = descriptor.strip_prefix('(').and_then(|rest| rest.split(')').next()).unwrap_or_default();
    let mut types = Vec::new();
    let mut rest = inside;
    while !rest.is_empty() {
        let element = rest.trim_start_matches('[');
        let dimensions = rest.len() - element.len();
        let (name, after) = match element.strip_prefix('L').and_then(|class| class.split_once(';')) {
            Some((class, after)) => (class.replace('/', "."), after),
            None => {
                let mut characters = element.chars();
                let primitive = match characters.next() {
                    Some('B') => "byte",
                    Some('C') => "char",
                    Some('D') => "double",
                    Some('F') => "float",
                    Some('I') => "int",
                    Some('J') => "long",
                    Some('S') => "short",
                    Some('Z') => "boolean",
                    _ => "?",
                };
                (primitive.to_owned(), characters.as_str())
            }
        };
        types.push(name + &"[]".repeat(dimensions));
        rest = after;
    }
    types
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_are_what_people_write() {
        let test = TestMethod::parse("method\tcom.acme.OrderTest$Large\tadds\t(I[[JLjava/util/Map$Entry;)V")
            .unwrap();
        assert_eq!(test.title(false), "com.acme.OrderTest$Large.adds(int,long[][],Entry)");
        assert_eq!(test.title(true), "com.acme.OrderTest$Large.adds(int,long[][],java.util.Map$Entry)");
        assert!(test.begins_at("com.acme.OrderTest$Large", "adds", "(I[[JLjava/util/Map$Entry;)V"));
        assert!(!test.begins_at("com.acme.OrderTest", "adds", "(I[[JLjava/util/Map$Entry;)V"));
    }

    #[test]
    fn what_a_factory_made_is_in_its_lambdas() {
        let test = TestMethod::parse("dynamic\tA\tall\t()Ljava/util/List;").unwrap();
        assert!(test.begins_at("A", "lambda$all$3", "(I)V"));
        assert!(!test.begins_at("A", "lambda$allOthers$3", "(I)V") && !test.begins_at("A", "all", "()V"));
    }

    #[test]
    fn damaged_notes_and_descriptors_are_survived() {
        assert_eq!(TestMethod::parse("method\tA"), None);
        for descriptor in ["", "(", "(L", "([", "(Lx", "(é)V", ")("] {
            assert!(parameters(descriptor).len() < 3, "{descriptor}");
        }
    }
}
