//! What samples, events and columns are about: leaves below the context that they are of.

use std::collections::HashMap;

use quipu_arena::layout::detail;
use quipu_arena::reader::Contents;
use quipu_arena::record::Record;
use quipu_classfile::mutf8;
use quipu_profile::{Builder, MethodFlags, MethodId, MethodSpec, NodeId, UNKNOWN_SITE};

use super::budget::Budget;

struct Detail {
    kind: u32,
    identity: u64,
    name: String,
    /// Its leaf's method, once there is one.
    method: Option<MethodId>,
}

/// The name of a class by its signature: `[Ljava/lang/String;` is `java.lang.String[]`. What is no signature stays.
fn class_of_signature(signature: &str) -> String {
    let element = signature.trim_start_matches('[');
    let name = match element {
        "Z" => "boolean".to_owned(),
        "B" => "byte".to_owned(),
        "C" => "char".to_owned(),
        "S" => "short".to_owned(),
        "I" => "int".to_owned(),
        "J" => "long".to_owned(),
        "F" => "float".to_owned(),
        "D" => "double".to_owned(),
        _ => {
            let class = element.strip_prefix('L').and_then(|name| name.strip_suffix(';'));
            class.unwrap_or(element).replace('/', ".")
        }
    };
    name + &"[]".repeat(signature.len() - element.len())
}

/// What was told of details, by number.
pub struct Details {
    known: HashMap<u32, Detail>,
    /// Above all numbers that were told.
    next: u32,
}

impl Details {
    /// All of them: one that was told in an earlier profile is not told again.
    pub fn read(contents: &Contents<'_>) -> Details {
        let told = contents.records.iter().filter_map(|record| match *record {
            Record::Detail { id, kind, identity, name } => {
                let name = mutf8::decode(name);
                let name = if kind == detail::NAME { name } else { class_of_signature(&name) };
                Some((id, Detail { kind, identity, name, method: None }))
            }
            _ => None,
        });
        let known: HashMap<u32, Detail> = told.collect();
        let next = known.keys().max().map_or(1, |last| last.saturating_add(1));
        Details { known, next }
    }

    /// One more, which the arena does not tell by itself; returns its number.
    pub fn add(&mut self, kind: u32, name: &str) -> u32 {
        let name = class_of_signature(name);
        let number = self.next;
        self.next = number.saturating_add(1);
        self.known.insert(number, Detail { kind, identity: 0, name, method: None });
        number
    }

    /// The leaf below a node that says what it is about; the node itself, if that is nothing in particular.
    pub fn below(&mut self, builder: &mut Builder, node: NodeId, detail: u32, budget: &mut Budget) -> NodeId {
        self.at(builder, node, detail, UNKNOWN_SITE, budget)
    }

    /// The same, of an instruction of the node's method.
    pub fn at(
        &mut self,
        builder: &mut Builder,
        node: NodeId,
        detail: u32,
        site: i32,
        budget: &mut Budget,
    ) -> NodeId {
        let Some(detail) = self.known.get_mut(&detail) else { return node };
        if !budget.take() {
            budget.refuse();
            return node;
        }
        let Detail { kind, identity, name, method } = detail;
        let method = *method.get_or_insert_with(|| {
            let what = match *kind {
                detail::ALLOCATED => "[allocated]",
                detail::LOCK => "[lock]",
                detail::OBJECT => "[object]",
                _ => "[detail]",
            };
            let descriptor = if *identity == 0 { String::new() } else { format!("@{identity:x}") };
            builder.method(MethodSpec {
                class: name,
                name: what,
                descriptor: &descriptor,
                flags: MethodFlags::DETAIL,
                ..MethodSpec::default()
            })
        });
        builder.child(node, method, site)
    }

    /// A detail in words, with what tells it from others of the same name; `None` if there is none.
    pub fn text(&self, detail: u32) -> Option<String> {
        self.known.get(&detail).map(|Detail { name, identity, .. }| match identity {
            0 => name.clone(),
            identity => format!("{name}@{identity:x}"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::class_of_signature;

    #[test]
    fn classes_are_named_as_people_write_them() {
        for (signature, name) in [
            ("Ljava/lang/String;", "java.lang.String"),
            ("[B", "byte[]"),
            ("[[Ljava/util/Map$Entry;", "java.util.Map$Entry[][]"),
            ("something else", "something else"),
        ] {
            assert_eq!(class_of_signature(signature), name);
        }
    }
}
