//! Reads `jvmti.h`: not C in general, only the shapes that header is written in. Anything else is an error with the
//! line it stands on, so a new JDK that brings a new shape is noticed instead of being skipped.

use super::tokens::{Token, tokens, without_cplusplus};
use std::collections::HashMap;

/// What the header declares, in its order.
#[derive(Debug, Default)]
pub struct Header {
    pub items: Vec<Item>,
}

#[derive(Debug)]
pub enum Item {
    /// Constants without a type of their own.
    Constants(Vec<(String, i64)>),
    Enum {
        name: String,
        values: Vec<(String, i64)>,
    },
    Record {
        name: String,
        is_union: bool,
        fields: Vec<Field>,
    },
    Capabilities {
        bits: Vec<(String, u32)>,
        size_bits: u32,
    },
    Function {
        name: String,
        signature: Signature,
    },
    Alias {
        name: String,
        target: Type,
    },
    /// A struct that is only ever pointed to.
    Opaque(String),
}

#[derive(Debug)]
pub struct Field {
    pub name: String,
    pub doc: Option<String>,
    pub kind: FieldKind,
}

#[derive(Debug)]
pub enum FieldKind {
    Value(Type),
    Function(Signature),
}

#[derive(Debug)]
pub struct Signature {
    pub returns: Type,
    pub parameters: Vec<(String, Type)>,
    pub variadic: bool,
}

/// A base type behind some pointers; `pointers[0]` is the innermost and says whether what it points to is const.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Type {
    pub base: String,
    pub pointers: Vec<Pointee>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pointee {
    Const,
    Mut,
}

pub fn parse(text: &str) -> Result<Header, String> {
    let tokens = tokens(&without_cplusplus(text)?)?;
    let mut parser = Parser { tokens, at: 0, known: HashMap::new() };
    let mut header = Header::default();
    while parser.peek().is_some() {
        if let Some(item) = parser.item()? {
            header.items.push(item);
        }
    }
    Ok(header)
}

struct Parser {
    tokens: Vec<(Token, usize)>,
    at: usize,
    /// Constants seen so far: later ones are written in terms of them.
    known: HashMap<String, i64>,
}

impl Parser {
    fn peek(&mut self) -> Option<&Token> {
        while matches!(self.tokens.get(self.at), Some((Token::Comment(_), _))) {
            self.at += 1;
        }
        self.tokens.get(self.at).map(|(token, _)| token)
    }

    fn next(&mut self) -> Result<Token, String> {
        let token = self.peek().cloned().ok_or("unexpected end")?;
        self.at += 1;
        Ok(token)
    }

    fn error<T>(&self, wanted: &str) -> Result<T, String> {
        let at = self.at.min(self.tokens.len() - 1);
        Err(format!("line {}: {wanted} wanted, {:?} found", self.tokens[at].1, self.tokens[at].0))
    }

    fn eat(&mut self, mark: char) -> bool {
        let found = self.peek() == Some(&Token::Mark(mark));
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, mark: char) -> Result<(), String> {
        if self.eat(mark) { Ok(()) } else { self.error(&format!("{mark:?}")) }
    }

    fn eat_word(&mut self, word: &str) -> bool {
        let found = matches!(self.peek(), Some(Token::Word(found)) if found == word);
        self.at += usize::from(found);
        found
    }

    fn word(&mut self) -> Result<String, String> {
        match self.peek() {
            Some(Token::Word(word)) => {
                let word = word.clone();
                self.at += 1;
                Ok(word)
            }
            _ => self.error("a name"),
        }
    }

    fn item(&mut self) -> Result<Option<Item>, String> {
        if self.eat_word("typedef") {
            return self.typedef().map(Some);
        }
        if self.eat_word("enum") {
            let values = self.enum_body()?;
            self.expect(';')?;
            return Ok(Some(Item::Constants(values)));
        }
        if self.eat_word("JNIEXPORT") {
            // The agent's entry points: whoever exports them writes them out.
            while self.next()? != Token::Mark(';') {}
            return Ok(None);
        }
        let is_union = matches!(self.peek(), Some(Token::Word(word)) if word == "union");
        if !self.eat_word("struct") && !self.eat_word("union") {
            return self.error("a declaration");
        }
        let name = self.word()?;
        if self.eat(';') {
            return Ok(name.starts_with("_jraw").then_some(Item::Opaque(name)));
        }
        let fields = self.fields()?;
        self.expect(';')?;
        // `_jvmtiEnv` is how C++ sees the environment; C and we use the table's pointer itself.
        Ok((name != "_jvmtiEnv").then_some(Item::Record { name, is_union, fields }))
    }

    fn typedef(&mut self) -> Result<Item, String> {
        if self.eat_word("enum") {
            let values = self.enum_body()?;
            let name = self.word()?;
            self.expect(';')?;
            return Ok(Item::Enum { name, values });
        }
        let start = self.at;
        if self.eat_word("struct") || self.eat_word("union") {
            let tag = if self.peek() == Some(&Token::Mark('{')) { None } else { Some(self.word()?) };
            if self.peek() == Some(&Token::Mark('{')) {
                return self.typedef_record(tag);
            }
        }
        self.at = start;
        let target = self.type_()?;
        if self.eat('(') {
            let name = self.function_pointer_name()?;
            let signature = self.signature(target)?;
            self.expect(';')?;
            return Ok(Item::Function { name, signature });
        }
        let name = self.word()?;
        self.expect(';')?;
        Ok(Item::Alias { name, target })
    }

    fn typedef_record(&mut self, tag: Option<String>) -> Result<Item, String> {
        let body = self.at;
        let item = match self.bit_fields() {
            Ok((bits, size_bits)) if tag.is_none() && !bits.is_empty() => {
                Item::Capabilities { bits, size_bits }
            }
            _ => {
                self.at = body;
                Item::Record { name: tag.unwrap_or_default(), is_union: false, fields: self.fields()? }
            }
        };
        let typedef = self.word()?;
        self.expect(';')?;
        Ok(match item {
            Item::Record { name, is_union, fields } if name.is_empty() => {
                Item::Record { name: typedef, is_union, fields }
            }
            Item::Capabilities { .. } if typedef != "jvmtiCapabilities" => {
                return self.error("jvmtiCapabilities");
            }
            item => item,
        })
    }

    fn enum_body(&mut self) -> Result<Vec<(String, i64)>, String> {
        self.expect('{')?;
        let mut values = Vec::new();
        while !self.eat('}') {
            let name = self.word()?;
            self.expect('=')?;
            let value = self.value()?;
            self.known.insert(name.clone(), value);
            values.push((name, value));
            self.eat(',');
        }
        Ok(values)
    }

    /// Sums and unions of products: all the arithmetic the header has, with C's precedence.
    fn value(&mut self) -> Result<i64, String> {
        let mut union = self.sum()?;
        while self.eat('|') {
            union |= self.sum()?;
        }
        Ok(union)
    }

    fn sum(&mut self) -> Result<i64, String> {
        let mut sum = self.product()?;
        while self.eat('+') {
            sum += self.product()?;
        }
        Ok(sum)
    }

    fn product(&mut self) -> Result<i64, String> {
        let mut product = self.atom()?;
        while self.eat('*') {
            product *= self.atom()?;
        }
        Ok(product)
    }

    fn atom(&mut self) -> Result<i64, String> {
        match self.next()? {
            Token::Number(value) => Ok(value),
            Token::Word(name) => self.known.get(&name).copied().ok_or(format!("unknown constant {name}")),
            Token::Mark('(') => {
                let value = self.value()?;
                self.expect(')')?;
                Ok(value)
            }
            _ => self.error("a value"),
        }
    }

    /// `unsigned int NAME : 1;` and unnamed padding. No field crosses a 32-bit unit, as C asks.
    fn bit_fields(&mut self) -> Result<(Vec<(String, u32)>, u32), String> {
        self.expect('{')?;
        let (mut bits, mut at) = (Vec::new(), 0_u32);
        while !self.eat('}') {
            if !self.eat_word("unsigned") || !self.eat_word("int") {
                return self.error("unsigned int");
            }
            let name = if self.eat(':') { None } else { Some(self.word()?) };
            if name.is_some() {
                self.expect(':')?;
            }
            let Token::Number(width) = self.next()? else { return self.error("a width") };
            let width = u32::try_from(width).map_err(|_| "bad width")?;
            if at % 32 + width > 32 {
                at = at.next_multiple_of(32);
            }
            if let Some(name) = name {
                if width != 1 {
                    return self.error("a width of 1");
                }
                bits.push((name, at));
            }
            at += width;
            self.expect(';')?;
        }
        Ok((bits, at.next_multiple_of(32)))
    }

    fn fields(&mut self) -> Result<Vec<Field>, String> {
        self.expect('{')?;
        let mut fields = Vec::new();
        loop {
            let doc = match self.tokens.get(self.at) {
                Some((Token::Comment(text), _)) => Some(text.clone()),
                _ => None,
            };
            if self.eat('}') {
                return Ok(fields);
            }
            let type_ = self.type_()?;
            let (name, kind) = if self.eat('(') {
                (self.function_pointer_name()?, FieldKind::Function(self.signature(type_)?))
            } else {
                (self.word()?, FieldKind::Value(type_))
            };
            self.expect(';')?;
            fields.push(Field { name, doc, kind });
        }
    }

    fn function_pointer_name(&mut self) -> Result<String, String> {
        if !self.eat_word("JNICALL") {
            return self.error("JNICALL");
        }
        self.expect('*')?;
        let name = self.word()?;
        self.expect(')')?;
        Ok(name)
    }

    fn signature(&mut self, returns: Type) -> Result<Signature, String> {
        self.expect('(')?;
        let (mut parameters, mut variadic) = (Vec::new(), false);
        while !self.eat(')') {
            if self.peek() == Some(&Token::Dots) {
                self.at += 1;
                variadic = true;
                continue;
            }
            let type_ = self.type_()?;
            if type_.base != "void" || !type_.pointers.is_empty() {
                parameters.push((self.word()?, type_));
            }
            self.eat(',');
        }
        Ok(Signature { returns, parameters, variadic })
    }

    fn type_(&mut self) -> Result<Type, String> {
        let mut pointee = if self.eat_word("const") { Pointee::Const } else { Pointee::Mut };
        _ = self.eat_word("struct") || self.eat_word("union");
        let mut base = self.word()?;
        if base == "unsigned" {
            base = format!("unsigned {}", self.word()?);
        }
        let mut pointers = Vec::new();
        while self.eat('*') {
            pointers.push(pointee);
            pointee = Pointee::Mut;
        }
        Ok(Type { base, pointers })
    }
}
