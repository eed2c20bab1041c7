//! Text tables: numbers to the right, names to the left, nothing wider than the terminal.

use crate::number::{grouped, percent};
use crate::signature::Detail;
use crate::style::{Paint, Style};
use quipu_profile::{MethodFlags, MethodId, NO_METHOD, Profile, Unit, package_of};
use rustc_hash::{FxHashMap, FxHashSet};

/// Rows of cells and a name. Cells are right-aligned, the name comes last.
pub(crate) struct Table<'a> {
    style: &'a Style,
    headers: Vec<String>,
    title: String,
    rows: Vec<Row>,
    tells_opaque: bool,
}

struct Row {
    cells: Vec<String>,
    bar: String,
    name: Name,
    paint: Paint,
}

/// What a row is about: one label, or a caller and a callee, between texts of the report's own.
#[derive(Default)]
pub(crate) struct Name {
    pub(crate) lead: String,
    /// The other end of an edge, and what stands between it and `label`.
    caller: Option<(Label, String)>,
    label: Label,
    pub(crate) suffix: String,
    /// Said behind all of it if there is room.
    pub(crate) aside: String,
}

/// A name of the profile's.
#[derive(Clone, Default)]
struct Label {
    text: String,
    /// How many bytes at the start of `text` are packages.
    packages: usize,
    method: Option<MethodId>,
    opaque: bool,
}

impl Label {
    fn method(profile: &Profile, method: MethodId) -> Label {
        if method == NO_METHOD {
            return Label { text: "(thread)".to_owned(), ..Label::default() };
        }
        let found = profile.method(method);
        Label {
            text: printable(&profile.method_name(method)),
            packages: printable(package_of(profile.str(found.class))).len(),
            method: Some(method),
            opaque: found.opaque() && !found.flags.contains(MethodFlags::FOREIGN),
        }
    }

    /// In `room` columns: packages become initials first, then the middle is cut out.
    fn fit(&self, room: usize, dots: &str) -> String {
        let mut short = self.text.clone();
        let mut packages: Vec<&str> = self.text[..self.packages].split('.').collect();
        for at in 0..packages.len() {
            if width(&short) <= room {
                break;
            }
            let initial = packages[at].chars().next().map_or(0, char::len_utf8);
            packages[at] = &packages[at][..initial];
            short = format!("{}{}", packages.join("."), &self.text[self.packages..]);
        }
        shorten(&short, room, dots)
    }
}

impl Name {
    pub(crate) fn plain(text: String) -> Name {
        Name { label: Label { text, ..Label::default() }, ..Name::default() }
    }

    /// A method, or what stands for a thread's root.
    pub(crate) fn method(profile: &Profile, method: MethodId) -> Name {
        Name { label: Label::method(profile, method), ..Name::default() }
    }

    /// A caller and its callee, with `between` between them.
    pub(crate) fn edge(profile: &Profile, caller: MethodId, between: String, callee: MethodId) -> Name {
        Name { caller: Some((Label::method(profile, caller), between)), ..Name::method(profile, callee) }
    }

    fn labels(&mut self) -> impl Iterator<Item = &mut Label> {
        self.caller.iter_mut().map(|(caller, _)| caller).chain(std::iter::once(&mut self.label))
    }

    /// All of it in `room` columns. Names give way first, then what is drawn before them.
    fn fit(&self, room: usize, dots: &str) -> String {
        let lead = keep_end(&self.lead, room / 2, dots);
        let between = self.caller.as_ref().map_or(0, |(_, between)| width(between));
        let names = room.saturating_sub(width(&lead) + between + width(&self.suffix)).max(room / 4);
        let mut out = lead;
        let mut left = names;
        if let Some((caller, between)) = &self.caller {
            // What the callee does not need is the caller's.
            let caller = caller.fit((names / 2).max(names.saturating_sub(width(&self.label.text))), dots);
            left = names.saturating_sub(width(&caller));
            out.push_str(&caller);
            out.push_str(between);
        }
        out.push_str(&self.label.fit(left, dots));
        out.push_str(&self.suffix);
        if width(&out) + width(&self.aside) <= room {
            out.push_str(&self.aside);
        }
        shorten(&out, room, dots)
    }
}

impl<'a> Table<'a> {
    pub(crate) fn new(style: &'a Style, headers: Vec<String>, title: &str) -> Table<'a> {
        Table { style, headers, title: title.to_owned(), rows: Vec::new(), tells_opaque: false }
    }

    /// Says which methods are opaque if what is shown is counted in bytecodes: there, and only there, a zero does not
    /// mean that nothing was done.
    pub(crate) fn counting(mut self, unit: &Unit) -> Table<'a> {
        self.tells_opaque = *unit == Unit::Bytecodes;
        self
    }

    /// The text, with as much added to the names of methods as tells them apart: parameters, what is returned, the
    /// loader.
    pub(crate) fn render_methods(mut self, profile: &Profile) -> String {
        for detail in Detail::ALL {
            let mut known: FxHashMap<String, MethodId> = FxHashMap::default();
            let mut alike: FxHashSet<String> = FxHashSet::default();
            for label in self.rows.iter_mut().flat_map(|row| row.name.labels()) {
                let Some(method) = label.method else { continue };
                if *known.entry(label.text.clone()).or_insert(method) != method {
                    alike.insert(label.text.clone());
                }
            }
            for label in self.rows.iter_mut().flat_map(|row| row.name.labels()) {
                if let Some(method) = label.method.filter(|_| alike.contains(&label.text)) {
                    label.text.push_str(&printable(&detail.of(profile, method)));
                }
            }
        }
        self.render()
    }

    /// A row with a bar for its share of the whole.
    pub(crate) fn row(&mut self, cells: Vec<String>, share: f64, name: Name) {
        let bar = self.style.bar(share, 8);
        self.rows.push(Row { cells, bar, name, paint: Style::heat(share) });
    }

    /// Says how many rows are left out and what they amount to; nothing if there are none.
    pub(crate) fn rest(&mut self, rows: impl ExactSizeIterator<Item = u64>, sum: u64, metric: &str) {
        let more = rows.len() as u64;
        if more > 0 {
            let part = percent(rows.fold(0, u64::saturating_add), sum);
            self.note(format!("{} {} more with {part} of {metric}", self.style.dots(), grouped(more)));
        }
    }

    /// A row with nothing but a name: what was left out, or a gap.
    pub(crate) fn note(&mut self, name: String) {
        self.rows.push(Row {
            cells: Vec::new(),
            bar: String::new(),
            name: Name::plain(name),
            paint: Paint::Dim,
        });
    }

    pub(crate) fn render(mut self) -> String {
        for label in self.rows.iter_mut().flat_map(|row| row.name.labels()) {
            if self.tells_opaque && label.opaque {
                label.text.push_str(" (opaque)");
            }
        }
        let mut widths: Vec<usize> = self.headers.iter().map(|header| width(header)).collect();
        for row in &self.rows {
            for (slot, cell) in widths.iter_mut().zip(&row.cells) {
                *slot = (*slot).max(width(cell));
            }
        }
        let mut bar = self.rows.iter().map(|row| width(&row.bar)).max().unwrap_or(0);
        let mut numbers: usize = widths.iter().map(|width| width + 2).sum();
        // Where names have little room, they need that of the bars.
        if self.style.width.is_some_and(|width| width < numbers + bar + 2 + 32) {
            bar = 0;
        }
        numbers += if bar > 0 { bar + 2 } else { 0 };
        // A terminal too narrow for numbers and a name wraps: better than names of a few letters.
        let room = self.style.width.map_or(usize::MAX, |width| width.saturating_sub(numbers).max(16));
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

/// A name in so many columns: the middle of one that is too long is an ellipsis.
pub fn shortened(name: &str, columns: usize) -> String {
    shorten(name, columns, "…").chars().take(columns).collect()
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

/// The end of a text that is too long: of what is drawn before a name, the part next to it says most.
fn keep_end(text: &str, room: usize, dots: &str) -> String {
    let length = width(text);
    if length <= room {
        return text.to_owned();
    }
    let end: String = text.chars().skip(length - room.saturating_sub(width(dots))).collect();
    format!("{dots}{end}")
}

/// A list in lines of at most so many columns, indented below what it begins with.
pub(crate) fn filled(begin: &str, items: &[String], columns: usize) -> String {
    let mut lines: Vec<String> = Vec::new();
    for item in items {
        match lines.last_mut() {
            // Room for a comma on both sides.
            Some(line) if width(line) + 2 + width(item) < columns => {
                line.push_str(", ");
                line.push_str(item);
            }
            Some(_) => lines.push(format!("{}{item}", " ".repeat(width(begin)))),
            None => lines.push(format!("{begin}{item}")),
        }
    }
    lines.join(",\n")
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
