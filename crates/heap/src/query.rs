//! Looking for objects: those of a class of which something is true.
//!
//! ```text
//! items.size > 100 and customer.name = "Ada" or not paid
//! ```
//!
//! Fields are followed with dots. `size` and `length` are the number of elements of what has elements; a string's fields are
//! those of the text that it is. What cannot be followed, because something on the way is null, is null. `and` binds
//! tighter than `or`.

use rayon::prelude::*;

use crate::dump::Dump;
use crate::error::HeapError;
use crate::object::{Object, Objects, Value};
use crate::record::Record;
use crate::strings::each_span;
use crate::watch::Watch;

/// What must be true of an object.
#[derive(Debug, Clone, PartialEq)]
pub struct Condition {
    /// Of one of these all must be true.
    any: Vec<Vec<Comparison>>,
}

#[derive(Debug, Clone, PartialEq)]
struct Comparison {
    path: Vec<String>,
    operator: Operator,
    with: Literal,
    negated: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operator {
    Equal,
    Different,
    Less,
    LessOrEqual,
    More,
    MoreOrEqual,
    /// A text has another in it.
    Contains,
}

#[derive(Debug, Clone, PartialEq)]
enum Literal {
    Null,
    Truth(bool),
    Number(f64),
    Text(String),
}

#[derive(Debug, Clone, PartialEq)]
enum Token {
    Word(String),
    Text(String),
    Symbol(&'static str),
}

const SYMBOLS: [(&str, Operator); 8] = [
    ("==", Operator::Equal),
    ("!=", Operator::Different),
    ("<=", Operator::LessOrEqual),
    (">=", Operator::MoreOrEqual),
    ("=", Operator::Equal),
    ("<", Operator::Less),
    (">", Operator::More),
    ("~", Operator::Contains),
];

impl Condition {
    /// Reads a condition.
    pub fn parse(text: &str) -> Result<Condition, HeapError> {
        let wrong = |what: String| {
            HeapError::Question(format!(
                "the condition '{text}': {what}; for example: items.size > 100 and customer.name = \"Ada\""
            ))
        };
        let tokens = tokens(text).map_err(wrong)?;
        let mut tokens = tokens.into_iter().peekable();
        let mut any = vec![Vec::new()];
        loop {
            let mut negated = false;
            let path = loop {
                match tokens.next() {
                    Some(Token::Word(word)) if word == "not" => negated = !negated,
                    Some(Token::Symbol("!")) => negated = !negated,
                    Some(Token::Word(path)) => break path,
                    other => {
                        return Err(wrong(format!("the name of a field was expected, not {}", shown(other))));
                    }
                }
            };
            let operator = match tokens.peek() {
                Some(Token::Symbol(symbol)) => {
                    SYMBOLS.iter().find(|(name, _)| name == symbol).map(|(_, operator)| *operator)
                }
                _ => None,
            };
            let (operator, with) = match operator {
                Some(operator) => {
                    tokens.next();
                    (operator, literal(tokens.next()).map_err(wrong)?)
                }
                None => (Operator::Equal, Literal::Truth(true)),
            };
            let path = path.split('.').map(str::to_owned).collect();
            if let Some(all) = any.last_mut() {
                all.push(Comparison { path, operator, with, negated });
            }
            match tokens.next() {
                None => return Ok(Condition { any }),
                Some(Token::Symbol("&&")) => {}
                Some(Token::Symbol("||")) => any.push(Vec::new()),
                Some(Token::Word(word)) if word == "and" => {}
                Some(Token::Word(word)) if word == "or" => any.push(Vec::new()),
                other => return Err(wrong(format!("'and' or 'or' was expected, not {}", shown(other)))),
            }
        }
    }

    fn is_true(&self, objects: &mut Objects<'_>, object: &Object) -> bool {
        self.any.iter().any(|all| all.iter().all(|one| one.holds(objects, object) != one.negated))
    }
}

fn shown(token: Option<Token>) -> String {
    match token {
        None => "the end".to_owned(),
        Some(Token::Word(word)) => format!("'{word}'"),
        Some(Token::Text(text)) => format!("\"{text}\""),
        Some(Token::Symbol(symbol)) => format!("'{symbol}'"),
    }
}

fn tokens(text: &str) -> Result<Vec<Token>, String> {
    const ALL: [&str; 11] = ["==", "!=", "<=", ">=", "&&", "||", "=", "<", ">", "~", "!"];
    let (mut tokens, mut rest) = (Vec::new(), text.trim_start());
    while let Some(first) = rest.chars().next() {
        if let Some(symbol) = ALL.into_iter().find(|symbol| rest.starts_with(symbol)) {
            tokens.push(Token::Symbol(symbol));
            rest = &rest[symbol.len()..];
        } else if first == '"' || first == '\'' {
            let end =
                rest[1..].find(first).ok_or_else(|| format!("a {first} is missing at the end of a text"))?;
            tokens.push(Token::Text(rest[1..=end].to_owned()));
            rest = &rest[end + 2..];
        } else {
            let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$' | '.' | '-');
            let end = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
            if end == 0 {
                return Err(format!("'{first}' means nothing here"));
            }
            tokens.push(Token::Word(rest[..end].to_owned()));
            rest = &rest[end..];
        }
        rest = rest.trim_start();
    }
    Ok(tokens)
}

fn literal(token: Option<Token>) -> Result<Literal, String> {
    match token {
        Some(Token::Text(text)) => Ok(Literal::Text(text)),
        Some(Token::Word(word)) => match word.as_str() {
            "null" => Ok(Literal::Null),
            "true" => Ok(Literal::Truth(true)),
            "false" => Ok(Literal::Truth(false)),
            number => number
                .parse()
                .map(Literal::Number)
                .map_err(|_| format!("'{word}' is no number; texts are in quotes")),
        },
        other => {
            Err(format!("a number, a text in quotes, true, false or null was expected, not {}", shown(other)))
        }
    }
}

/// What a path leads to.
enum Led {
    Nothing,
    Object(Box<Object>),
    Value(Value),
}

impl Comparison {
    fn holds(&self, objects: &mut Objects<'_>, object: &Object) -> bool {
        let (led, with) = (lead(objects, object, &self.path), &self.with);
        match (led, with) {
            (Led::Nothing, Literal::Null) => self.operator == Operator::Equal,
            (Led::Nothing, _) => self.operator == Operator::Different,
            (_, Literal::Null) => self.operator == Operator::Different,
            (Led::Value(value), with) => self.compare_value(value, with),
            (Led::Object(object), Literal::Text(with)) => match objects.text(&object) {
                Some(text) if self.operator == Operator::Contains => text.contains(with.as_str()),
                Some(text) => self.is(text.as_str().cmp(with)),
                None => false,
            },
            // A number in a box.
            (Led::Object(object), with) => match objects.field(&object, "value") {
                Some(value @ (Value::Integer(_) | Value::Real(_) | Value::Boolean(_) | Value::Char(_))) => {
                    self.compare_value(value, with)
                }
                _ => false,
            },
        }
    }

    fn compare_value(&self, value: Value, with: &Literal) -> bool {
        match (value, with) {
            (Value::Boolean(value), Literal::Truth(with)) => self.is(value.cmp(with)),
            (Value::Integer(value), Literal::Number(with)) => {
                (value as f64).partial_cmp(with).is_some_and(|order| self.is(order))
            }
            (Value::Real(value), Literal::Number(with)) => {
                value.partial_cmp(with).is_some_and(|order| self.is(order))
            }
            (Value::Char(value), Literal::Number(with)) => {
                f64::from(value).partial_cmp(with).is_some_and(|order| self.is(order))
            }
            (Value::Char(value), Literal::Text(with)) => {
                self.is(String::from_utf16_lossy(&[value]).as_str().cmp(with))
            }
            _ => self.operator == Operator::Different,
        }
    }

    fn is(&self, order: std::cmp::Ordering) -> bool {
        match self.operator {
            Operator::Equal => order.is_eq(),
            Operator::Different => order.is_ne(),
            Operator::Less => order.is_lt(),
            Operator::LessOrEqual => order.is_le(),
            Operator::More => order.is_gt(),
            Operator::MoreOrEqual => order.is_ge(),
            Operator::Contains => false,
        }
    }
}

fn lead(objects: &mut Objects<'_>, object: &Object, path: &[String]) -> Led {
    let mut at = object.clone();
    for (i, name) in path.iter().enumerate() {
        let value = objects.field(&at, name);
        let value = match value {
            Some(value) => value,
            None if name == "this" => {
                continue;
            }
            None if matches!(name.as_str(), "size" | "length") => {
                let text = objects.text(&at).map(|text| text.encode_utf16().count() as u64);
                match text.or_else(|| objects.length(&at)) {
                    Some(length) => {
                        return Led::Value(Value::Integer(i64::try_from(length).unwrap_or(i64::MAX)));
                    }
                    None => return Led::Nothing,
                }
            }
            None => return Led::Nothing,
        };
        match value {
            Value::Reference(0) => return Led::Nothing,
            Value::Reference(id) => match objects.with_id(id) {
                Ok(next) => at = next,
                Err(_) => return Led::Nothing,
            },
            value if i + 1 == path.len() => return Led::Value(value),
            _ => return Led::Nothing,
        }
    }
    Led::Object(Box::new(at))
}

/// Objects that were looked for.
#[derive(Debug, Clone, Default)]
pub struct Listing {
    /// How many there are.
    pub matching: u64,
    /// Those that come first in the dump, as many as were asked for.
    pub objects: Vec<Object>,
}

/// Objects of classes of which something is true, the first `limit` of them.
pub fn list(
    dump: &Dump<'_>,
    classes: &[u32],
    condition: Option<&Condition>,
    limit: usize,
    watch: &dyn Watch,
) -> Result<Listing, HeapError> {
    let wanted: std::collections::HashSet<u32> = classes.iter().copied().collect();
    let mut listing = Listing::default();
    // Only the first fields of names that nobody has are an error that can be told from an empty answer.
    if let Some(condition) = condition {
        unknown_field(dump, classes, condition)?;
    }
    watch.begin("looking for objects", dump.spans.iter().map(|span| span.end - span.begin).sum());
    for batch in dump.spans.chunks(128) {
        let found = each_span(dump, batch, watch, |found: &mut Vec<u64>, record, number, _| {
            let class = match *record {
                Record::Instance { class, .. } | Record::ObjectArray { class, .. } => {
                    dump.classes.by_id(class)
                }
                Record::PrimitiveArray { kind, .. } => Some(dump.classes.of_primitives(kind)),
                _ => None,
            };
            if class.is_some_and(|class| wanted.contains(&class)) {
                found.push(number);
            }
            Ok(false)
        })?;
        let matching: Vec<Object> = found
            .into_par_iter()
            .flat_map_iter(|numbers| {
                let mut objects = Objects::new(dump);
                numbers.into_iter().filter_map(move |number| {
                    let object = objects.read(number).ok()?;
                    condition
                        .is_none_or(|condition| condition.is_true(&mut objects, &object))
                        .then_some(object)
                })
            })
            .collect();
        listing.matching += matching.len() as u64;
        let room = limit - listing.objects.len();
        listing.objects.extend(matching.into_iter().take(room));
    }
    Ok(listing)
}

fn unknown_field(dump: &Dump<'_>, classes: &[u32], condition: &Condition) -> Result<(), HeapError> {
    for comparison in condition.any.iter().flatten() {
        let Some(first) = comparison.path.first() else { continue };
        let known = |&class: &u32| dump.classes.fields(class).any(|(_, field)| field.name == *first);
        let special = matches!(first.as_str(), "size" | "length" | "this");
        if !special && !classes.iter().any(known) {
            let mut names: Vec<&str> = classes
                .iter()
                .flat_map(|&class| dump.classes.fields(class))
                .map(|(_, field)| field.name.as_str())
                .collect();
            names.sort_unstable();
            names.dedup();
            return Err(HeapError::Question(format!(
                "there is no field '{first}'; there are: {}",
                names.join(", ")
            )));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_are_read() {
        let condition =
            Condition::parse("items.size > 100 and customer.name = \"Ada L\" || not paid").unwrap();
        assert_eq!(condition.any.len(), 2);
        assert_eq!(condition.any[0][0].path, ["items", "size"]);
        assert_eq!(condition.any[0][0].operator, Operator::More);
        assert_eq!(condition.any[0][1].with, Literal::Text("Ada L".into()));
        assert!(condition.any[1][0].negated);
    }

    #[test]
    fn what_is_no_condition_is_said_to_be_none() {
        for wrong in ["", "a >", "> 3", "a = b", "a = 'x", "a 3", "a & b", "a = 1 and"] {
            let error = Condition::parse(wrong).unwrap_err().to_string();
            assert!(error.contains("for example"), "{wrong}: {error}");
        }
    }
}
