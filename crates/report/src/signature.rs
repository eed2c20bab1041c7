//! What a method takes, the way it is written in Java.

use quipu_profile::{MethodId, Profile, simple_name};

/// What tells two methods of one name apart.
#[derive(Clone, Copy)]
pub(crate) enum Detail {
    /// `(int, String[])`.
    Parameters,
    /// `: Object`, in which methods made by a compiler may differ alone.
    Returned,
    /// ` [app]`: the class is there twice.
    Loader,
}

impl Detail {
    /// In the order in which they are asked for.
    pub(crate) const ALL: [Detail; 3] = [Detail::Parameters, Detail::Returned, Detail::Loader];

    /// The text to add to the method's name; empty if the profile does not know.
    pub(crate) fn of(self, profile: &Profile, method: MethodId) -> String {
        let method = profile.method(method);
        let descriptor = profile.str(method.descriptor);
        let text = match self {
            Detail::Parameters => descriptor.strip_prefix('(').and_then(parameters),
            Detail::Returned => {
                let returned = descriptor.rsplit_once(')').and_then(|(_, returned)| field_type(returned));
                returned.map(|(name, _)| format!(": {name}"))
            }
            Detail::Loader => Some(profile.str(method.loader))
                .filter(|loader| !loader.is_empty())
                .map(|l| format!(" [{l}]")),
        };
        text.unwrap_or_default()
    }
}

fn parameters(mut descriptor: &str) -> Option<String> {
    let mut types = Vec::new();
    while !descriptor.starts_with(')') {
        let (name, rest) = field_type(descriptor)?;
        types.push(name);
        descriptor = rest;
    }
    Some(format!("({})", types.join(", ")))
}

/// The type at the start of a descriptor, and what follows it.
fn field_type(descriptor: &str) -> Option<(String, &str)> {
    let element = descriptor.trim_start_matches('[');
    let dimensions = descriptor.len() - element.len();
    let (name, rest) = match element.chars().next()? {
        'L' => {
            let end = element.find(';')?;
            (simple_name(&element[1..end].replace('/', ".")).to_owned(), &element[end + 1..])
        }
        primitive => {
            let name = match primitive {
                'B' => "byte",
                'C' => "char",
                'D' => "double",
                'F' => "float",
                'I' => "int",
                'J' => "long",
                'S' => "short",
                'Z' => "boolean",
                'V' => "void",
                _ => return None,
            };
            (name.to_owned(), &element[1..])
        }
    };
    Some((format!("{name}{}", "[]".repeat(dimensions)), rest))
}
