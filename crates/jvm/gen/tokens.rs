//! Cuts a C header into words, numbers and marks.

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Token {
    Word(String),
    Number(i64),
    Mark(char),
    Dots,
    Comment(String),
}

/// Keeps what a C compiler would see; every other condition in the header is an include guard.
pub fn without_cplusplus(text: &str) -> Result<String, String> {
    let mut kept = String::new();
    let mut conditions: Vec<bool> = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let directive = line.trim();
        if directive.starts_with("#ifdef __cplusplus") {
            conditions.push(false);
        } else if directive.starts_with("#ifndef _JAVA_JVMTI_H_") {
            conditions.push(true);
        } else if directive.starts_with("#else") {
            let last = conditions.last_mut().ok_or(format!("line {}: stray #else", number + 1))?;
            *last = !*last;
        } else if directive.starts_with("#endif") {
            conditions.pop().ok_or(format!("line {}: stray #endif", number + 1))?;
        } else if directive.starts_with("#if") {
            return Err(format!("line {}: unknown condition {directive}", number + 1));
        } else if !directive.starts_with('#') && conditions.iter().all(|&on| on) {
            kept.push_str(line);
        }
        kept.push('\n');
    }
    Ok(kept)
}

/// The tokens with the line each stands on.
pub fn tokens(text: &str) -> Result<Vec<(Token, usize)>, String> {
    let bytes = text.as_bytes();
    let (mut at, mut line, mut found) = (0, 1, Vec::new());
    while at < bytes.len() {
        let rest = &text[at..];
        let c = bytes[at] as char;
        let length = if c.is_ascii_whitespace() {
            line += usize::from(c == '\n');
            1
        } else if rest.starts_with("/*") {
            let end = rest.find("*/").ok_or(format!("line {line}: comment without end"))? + 2;
            found.push((Token::Comment(rest[2..end - 2].trim().to_owned()), line));
            line += rest[..end].matches('\n').count();
            end
        } else if rest.starts_with("...") {
            found.push((Token::Dots, line));
            3
        } else if c.is_ascii_alphanumeric() || c == '_' {
            let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
            found.push((word_or_number(&rest[..end]).ok_or(format!("line {line}: bad number"))?, line));
            end
        } else if "{}()[];,*=:|+".contains(c) {
            found.push((Token::Mark(c), line));
            1
        } else {
            return Err(format!("line {line}: unknown character {c:?}"));
        };
        at += length;
    }
    Ok(found)
}

fn word_or_number(text: &str) -> Option<Token> {
    if !text.starts_with(|c: char| c.is_ascii_digit()) {
        return Some(Token::Word(text.to_owned()));
    }
    let value = match text.strip_prefix("0x") {
        Some(hex) => i64::from_str_radix(hex, 16),
        None => text.parse(),
    };
    value.ok().map(Token::Number)
}
