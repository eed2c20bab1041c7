//! Text tables: numbers to the right, names to the left, nothing wider than the terminal.

use crate::style::{Paint, Style};
use quipu_profile::{MethodId, NO_METHOD, Profile, package_of};

/// Rows of cells and a name. Cells are right-aligned, the name comes last.
pub(crate) struct Table<'a> {
    style: &'a Style,
    headers: Vec<String>,
    title: String,
    rows: Vec<Row>,
}

struct Row {
    cells: Vec<String>,
    bar: String,
    name: Name,
    paint: Paint,
}

/// What a row is about: a name that may be shortened between two texts that may not.
#[derive(Default)]
pub(crate) struct Name {
    pub(crate) lead: String,
    pub(crate) name: String,
    /// How many bytes at the start of `name` are packages.
    packages: usize,
    pub(crate) suffix: String,
}

impl Name {
    pub(crate) fn plain(name: String) -> Name {
        Name { name, ..Name::default() }
    }

    /// A method, or what stands for a thread's root.
    pub(crate) fn method(profile: &Profile, method: MethodId) -> Name {
        if method == NO_METHOD {
            return Name::plain("(thread)".to_owned());
        }
        let found = profile.method(method);
        let packages = printable(package_of(profile.str(found.class))).len();
        let suffix = if found.opaque() { " (opaque)".to_owned() } else { String::new() };
        Name { lead: String::new(), name: printable(&profile.method_name(method)), packages, suffix }
    }

    /// The texts together in `room` columns: packages become initials first, then the middle is cut out.
    fn fit(&self, room: usize, dots: &str) -> String {
        let Name { lead, name, suffix, .. } = self;
        let room = room.saturating_sub(width(lead) + width(suffix)).max(20);
        let mut short = name.clone();
        let mut packages: Vec<&str> = name[..self.packages].split('.').collect();
        for at in 0..packages.len() {
            if width(&short) <= room {
                break;
            }
            let initial = packages[at].chars().next().map_or(0, char::len_utf8);
            packages[at] = &packages[at][..initial];
            short = format!("{}{}", packages.join("."), &name[self.packages..]);
        }
        format!("{lead}{}{suffix}", shorten(&short, room, dots))
    }
}

impl<'a> Table<'a> {
    pub(crate) fn new(style: &'a Style, headers: Vec<String>, title: &str) -> Table<'a> {
        Table { style, headers, title: title.to_owned(), rows: Vec::new() }
    }

    /// A row with a bar for its share of the whole.
    pub(crate) fn row(&mut self, cells: Vec<String>, share: f64, name: Name) {
        let bar = self.style.bar(share, 8);
        self.rows.push(Row { cells, bar, name, paint: Style::heat(share) });
    }

    /// A row with nothing but a name: what was left out, or a gap.
    pub(crate) fn note(&mut self, name: String) {
        self.rows.push(Row {
            cells: Vec::new(),
            bar: String::new(),
            name: Name { lead: name, ..Name::default() },
            paint: Paint::Dim,
        });
    }

    pub(crate) fn render(self) -> String {
        let mut widths: Vec<usize> = self.headers.iter().map(|header| width(header)).collect();
        for row in &self.rows {
            for (slot, cell) in widths.iter_mut().zip(&row.cells) {
                *slot = (*slot).max(width(cell));
            }
        }
        let bar = self.rows.iter().map(|row| width(&row.bar)).max().unwrap_or(0);
        let numbers: usize =
            widths.iter().map(|width| width + 2).sum::<usize>() + if bar > 0 { bar + 2 } else { 0 };
        // A terminal too narrow for numbers and a name wraps: better than names of a few letters.
        let room = self.style.width.map_or(usize::MAX, |width| width.saturating_sub(numbers).max(20));
        let mut out = String::new();
        let mut head = String::new();
        for (header, &width) in self.headers.iter().zip(&widths) {
            push_right(&mut head, header, width);
        }
        if bar > 0 {
            head.extend(std::iter::repeat_n(' ', bar + 2));
        }
        head.push_str(&self.title);
        out.push_str(&self.style.paint(Paint::Heading, head.trim_end()));
        out.push('\n');
        for row in &self.rows {
            let mut line = String::new();
            for (at, &width) in widths.iter().enumerate() {
                push_right(&mut line, row.cells.get(at).map_or("", String::as_str), width);
            }
            if bar > 0 {
                let gap = bar - width(&row.bar) + 2;
                line.push_str(&row.bar);
                line.extend(std::iter::repeat_n(' ', gap));
            }
            let blank = line.trim().is_empty();
            let painted = if blank { line } else { self.style.paint(row.paint, &line) };
            let name = row.name.fit(room, self.style.dots());
            let name = if row.paint == Paint::Dim { self.style.paint(Paint::Dim, &name) } else { name };
            out.push_str(format!("{painted}{name}").trim_end());
            out.push('\n');
        }
        out
    }
}

fn push_right(line: &mut String, text: &str, columns: usize) {
    line.extend(std::iter::repeat_n(' ', columns.saturating_sub(width(text))));
    line.push_str(text);
    line.push_str("  ");
}

/// Columns a text takes; every character is taken to be one wide, which holds for all that reports write themselves.
fn width(text: &str) -> usize {
    text.chars().count()
}

/// Cuts the middle out of a name that is too long: package and method are at its ends.
pub(crate) fn shorten(name: &str, room: usize, dots: &str) -> String {
    let length = width(name);
    if length <= room {
        return name.to_owned();
    }
    let keep = room.saturating_sub(width(dots));
    let tail = keep * 2 / 3;
    let head: String = name.chars().take(keep - tail).collect();
    let tail: String = name.chars().skip(length - tail).collect();
    format!("{head}{dots}{tail}")
}

/// Names come from class files and may hold anything: control characters must not reach a terminal.
pub fn printable(name: &str) -> String {
    // Direction overrides and other invisible format characters could make one name look like another.
    let bad = |c: char| {
        c.is_control()
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
    };
    if !name.contains(bad) {
        return name.to_owned();
    }
    name.chars().map(|c| if bad(c) { c.escape_unicode().to_string() } else { c.to_string() }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_cut_in_the_middle() {
        assert_eq!(shorten("com.example.deep.Service.operation", 20, "..."), "com.ex...e.operation");
        assert_eq!(shorten("short", 20, "..."), "short");
    }

    #[test]
    fn escape_sequences_do_not_reach_the_terminal() {
        assert_eq!(printable("a\x1b[31mb"), "a\\u{1b}[31mb");
        assert_eq!(printable("plain.Name$1"), "plain.Name$1");
    }

    #[test]
    fn bars_fill_by_eighths() {
        let style = Style { unicode: true, ..Style::default() };
        assert_eq!(style.bar(0.5, 4), "██  ");
        assert_eq!(style.bar(0.28125, 4), "█▏  ");
        assert_eq!(style.bar(2.0, 4), "████");
        assert_eq!(Style::default().bar(0.5, 4), "");
    }
}
