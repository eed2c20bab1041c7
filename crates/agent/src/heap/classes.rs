//! The classes of the VM for the time of a question: tags, names, and names of their fields.

use std::collections::HashSet;

use quipu_jvm::{Class, Env, Jvmti};
use quipu_text::glob;

/// Classes that have tags: the first has 1.
pub struct Classes<'e> {
    jvmti: Jvmti,
    list: Vec<Class<'e>>,
}

impl<'e> Classes<'e> {
    /// Gives tags to all of them.
    pub fn tagged(jvmti: Jvmti, env: &Env<'e>) -> Result<Classes<'e>, String> {
        let list = jvmti.loaded_classes(env).map_err(|e| e.to_string())?;
        for (tag, class) in (1..).zip(&list) {
            jvmti.set_tag(*class, tag).map_err(|e| e.to_string())?;
        }
        Ok(Classes { jvmti, list })
    }

    /// How many there are, which is also the highest tag.
    pub fn count(&self) -> i64 {
        self.list.len() as i64
    }

    fn get(&self, tag: i64) -> Option<Class<'e>> {
        self.list.get(usize::try_from(tag).ok()?.checked_sub(1)?).copied()
    }

    /// `java.util.Map$Entry`, `int[]`.
    pub fn name(&self, tag: i64) -> String {
        let signature = self.get(tag).and_then(|class| self.jvmti.class_signature(class).ok());
        signature.map_or_else(|| "?".to_owned(), |signature| readable(&signature.to_string()))
    }

    /// Tags of those that a pattern means.
    pub fn matching(&self, pattern: &str) -> HashSet<i64> {
        (1..=self.count()).filter(|&tag| glob(pattern, self.name(tag))).collect()
    }

    /// References that do not keep alive what they refer to: class, and number of the field.
    pub fn weak(&self, env: &Env<'e>) -> HashSet<(i64, i32)> {
        let is_weak = |tag: i64| {
            self.line(env, tag).iter().any(|class| {
                let signature = self.jvmti.class_signature(*class);
                signature.is_ok_and(|signature| {
                    matches!(
                        signature.as_bytes(),
                        b"Ljava/lang/ref/WeakReference;"
                            | b"Ljava/lang/ref/SoftReference;"
                            | b"Ljava/lang/ref/PhantomReference;"
                    )
                })
            })
        };
        let weak = (1..=self.count()).filter(|&tag| is_weak(tag));
        weak.filter_map(|tag| {
            let names = self.fields(env, tag);
            let at = names.iter().position(|name| name.as_deref() == Some("referent"))?;
            Some((tag, i32::try_from(at).ok()?))
        })
        .collect()
    }

    /// The name of a field by its number.
    pub fn field(&self, env: &Env<'e>, tag: i64, index: i32) -> String {
        let names = self.fields(env, tag);
        let name = usize::try_from(index).ok().and_then(|index| names.into_iter().nth(index)).flatten();
        name.unwrap_or_else(|| format!("field {index}"))
    }

    /// A class and those above it, the topmost first.
    fn line(&self, env: &Env<'e>, tag: i64) -> Vec<Class<'e>> {
        let mut line: Vec<Class<'e>> =
            std::iter::successors(self.get(tag), |class| env.superclass(*class)).take(4096).collect();
        line.reverse();
        line
    }

    /// Fields in the order in which JVMTI counts them: those of all interfaces, which have no name here, then those of the
    /// classes from the topmost down.
    fn fields(&self, env: &Env<'e>, tag: i64) -> Vec<Option<String>> {
        let line = self.line(env, tag);
        let (mut seen, mut interfaces) = (HashSet::new(), Vec::new());
        let mut waiting: Vec<Class<'e>> = line.clone();
        while let Some(class) = waiting.pop() {
            for interface in self.jvmti.interfaces(env, class).unwrap_or_default() {
                if seen.insert(self.jvmti.tag(interface).unwrap_or(0)) {
                    interfaces.push(interface);
                    waiting.push(interface);
                }
            }
        }
        let count: usize =
            interfaces.iter().map(|class| self.jvmti.class_fields(*class).map_or(0, |all| all.len())).sum();
        let mut names: Vec<Option<String>> = vec![None; count];
        for class in line {
            let fields = self.jvmti.class_fields(class).unwrap_or_default();
            names.extend(
                fields
                    .into_iter()
                    .map(|field| self.jvmti.field_name(class, field).ok().map(|name| name.to_string())),
            );
        }
        names
    }
}

/// `Ljava/util/Map$Entry;` becomes `java.util.Map$Entry`, `[I` `int[]`.
fn readable(signature: &str) -> String {
    let element = signature.trim_start_matches('[');
    let name = match element {
        "Z" => "boolean".to_owned(),
        "C" => "char".to_owned(),
        "F" => "float".to_owned(),
        "D" => "double".to_owned(),
        "B" => "byte".to_owned(),
        "S" => "short".to_owned(),
        "I" => "int".to_owned(),
        "J" => "long".to_owned(),
        class => class.strip_prefix('L').unwrap_or(class).trim_end_matches(';').replace('/', "."),
    };
    name + &"[]".repeat(signature.len() - element.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_readable() {
        assert_eq!(readable("Ljava/util/Map$Entry;"), "java.util.Map$Entry");
        assert_eq!(readable("[[I"), "int[][]");
        assert_eq!((readable("[LFoo;"), readable("LLeaking;")), ("Foo[]".to_owned(), "Leaking".to_owned()));
    }
}
