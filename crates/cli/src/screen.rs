//! The screen of `quipu top`: what is shown of a profile, and what keys do to it. No terminal is needed to know either.

use std::cmp::Reverse;
use std::time::Duration;

use quipu_profile::Profile;
use quipu_report::{Narrowing, printable, shortened};
use ratatui::Frame;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::Line;
use ratatui::widgets::Paragraph;

/// Threads shown at most.
const THREADS: usize = 8;

/// How long methods took below a root: elapsed time, without what measuring took.
const TIME: &str = "time";

/// One look at the target.
pub struct Picture {
    /// What was sampled since the look before.
    pub profile: Profile,
    /// How long that was.
    pub elapsed: Duration,
    /// What was done to the heap meanwhile.
    pub heap: String,
}

/// What methods are sorted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    /// What they did themselves.
    Own,
    /// That and what they called.
    Total,
    /// How long they took, if that is measured.
    Time,
    /// Their names.
    Name,
}

/// What a key asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// To end.
    Quit,
    /// To show it again, in another way.
    Draw,
    /// Nothing.
    Nothing,
}

/// What is shown, and how.
pub struct Screen {
    pid: u32,
    picture: Option<Picture>,
    /// Functions that are not Java, and threads that run no Java, too.
    pub all: bool,
    /// The order of methods.
    pub sort: Sort,
    /// The picture stays.
    pub paused: bool,
}

impl Screen {
    /// Nothing is known yet.
    pub fn new(pid: u32, all: bool) -> Screen {
        Screen { pid, picture: None, all, sort: Sort::Own, paused: false }
    }

    /// Shows a new picture, unless the old one is to stay.
    pub fn show(&mut self, picture: Picture) {
        if !self.paused {
            self.picture = Some(picture);
        }
    }

    /// Does what a key says.
    pub fn key(&mut self, key: KeyEvent) -> Asked {
        if key.kind == KeyEventKind::Release {
            return Asked::Nothing;
        }
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('c') if control => return Asked::Quit,
            KeyCode::Char('q') | KeyCode::Esc => return Asked::Quit,
            KeyCode::Char('a') => self.all = !self.all,
            KeyCode::Char(' ') => self.paused = !self.paused,
            KeyCode::Char('s') | KeyCode::Right => self.sort = self.sort.next(self.has_times()),
            KeyCode::Left => self.sort = self.sort.before(self.has_times()),
            _ => return Asked::Nothing,
        }
        Asked::Draw
    }

    /// Whether calls are timed.
    fn has_times(&self) -> bool {
        self.picture.as_ref().is_some_and(|picture| picture.profile.metric(TIME).is_some())
    }

    /// What stands above methods; what they are sorted by is marked, if there is somebody who can choose.
    fn title(&self, marked: bool) -> String {
        let mark = |sort: Sort| if marked && self.sort == sort { "*" } else { " " };
        let times =
            if self.has_times() { format!("{}TIME %    CALLS/S  ", mark(Sort::Time)) } else { String::new() };
        format!("{}SELF %  {}TOTAL %  {times}{}METHOD", mark(Sort::Own), mark(Sort::Total), mark(Sort::Name))
    }

    /// Draws all of it into the window, however large that is.
    pub fn draw(&self, frame: &mut Frame<'_>) {
        let rows = Rows::of(self);
        let threads = rows.threads.len().min(THREADS) as u16;
        let [head, over, middle, keys] = Layout::vertical([
            Constraint::Length(1),
            Constraint::Length(threads + 3),
            Constraint::Fill(1),
            Constraint::Length(1),
        ])
        .areas(frame.area());
        let bold = Style::new().add_modifier(Modifier::BOLD);
        let dim = Style::new().add_modifier(Modifier::DIM);
        let line = |text: String, room: Rect| shortened(&text, room.width.into());
        frame.render_widget(Line::styled(line(rows.head.clone(), head), bold), head);

        let mut lines = vec![Line::raw(line(rows.heap.clone(), over)), Line::raw("")];
        lines.push(Line::styled("  CPU %  THREAD", bold));
        lines.extend(rows.threads.iter().take(THREADS).map(|row| Line::raw(row.text(over.width))));
        frame.render_widget(Paragraph::new(lines), over);

        let mut lines = vec![Line::raw(""), Line::styled(self.title(true), bold)];
        lines.extend(rows.methods.iter().map(|row| Line::raw(row.text(middle.width))));
        lines.truncate(middle.height.into());
        frame.render_widget(Paragraph::new(lines), middle);

        let others = if self.all { "a Java only" } else { "a all" };
        let pause = if self.paused { "space go on (paused)" } else { "space pause" };
        let help = format!("q quit  {others}  s sort  {pause}");
        frame.render_widget(Line::styled(line(help, keys), dim), keys);
    }

    /// The same as text, for where there is no terminal.
    pub fn text(&self, methods: usize) -> String {
        const COLUMNS: u16 = 100;
        let rows = Rows::of(self);
        let mut out = format!("{}\n{}\n\n  CPU %  THREAD\n", rows.head, rows.heap);
        for row in rows.threads.iter().take(THREADS) {
            out.push_str(&row.text(COLUMNS));
            out.push('\n');
        }
        out.push('\n');
        out.push_str(&self.title(false));
        out.push('\n');
        for row in rows.methods.iter().take(methods) {
            out.push_str(&row.text(COLUMNS));
            out.push('\n');
        }
        out.push('\n');
        out
    }
}

impl Sort {
    fn next(self, has_times: bool) -> Sort {
        match self {
            Sort::Own => Sort::Total,
            Sort::Total if has_times => Sort::Time,
            Sort::Total | Sort::Time => Sort::Name,
            Sort::Name => Sort::Own,
        }
    }

    fn before(self, has_times: bool) -> Sort {
        match self {
            Sort::Own => Sort::Name,
            Sort::Total => Sort::Own,
            Sort::Name if has_times => Sort::Time,
            Sort::Time | Sort::Name => Sort::Total,
        }
    }
}

/// Percentages of one processor, and whose they are.
struct Row {
    own: f64,
    total: Option<f64>,
    timed: Option<Timed>,
    name: String,
}

/// A method that is timed, with what it calls.
#[derive(Clone, Copy)]
struct Timed {
    percent: f64,
    calls: f64,
}

impl Row {
    /// One line; the middle of the name gives way.
    fn text(&self, columns: u16) -> String {
        let timed = self.timed.map(|Timed { percent, calls }| format!("{percent:>7.1} {calls:>10.0}   "));
        let numbers = match self.total {
            Some(total) => format!("{:>7.1}   {total:>7.1}   {}", self.own, timed.unwrap_or_default()),
            None => format!("{:>7.1}  ", self.own),
        };
        let room = usize::from(columns).saturating_sub(numbers.len());
        format!("{numbers}{}", shortened(&self.name, room))
    }
}

/// The numbers of a picture.
struct Rows {
    head: String,
    heap: String,
    threads: Vec<Row>,
    methods: Vec<Row>,
}

impl Rows {
    fn of(screen: &Screen) -> Rows {
        let pid = screen.pid;
        let empty = |head| Rows { head, heap: String::new(), threads: Vec::new(), methods: Vec::new() };
        let Some(picture) = &screen.picture else { return empty(format!("{pid}: waiting for samples")) };
        let seconds = picture.elapsed.as_secs_f64();
        // Of Java alone: patterns that could be unknown are not asked for, so nothing can be wrong.
        let narrowing = Narrowing { java: !screen.all, all_threads: true, ..Narrowing::default() };
        let narrowed = narrowing.apply(&picture.profile, "cpu");
        let (Some(whole), Ok(narrowed)) = (picture.profile.metric("cpu"), narrowed) else {
            let none = empty(format!("{pid} used no CPU time in {seconds:.1} s"));
            return Rows { heap: picture.heap.clone(), ..none };
        };
        let profile = &narrowed.profile;
        let percent = |nanos: u64| 100.0 * nanos as f64 / picture.elapsed.as_nanos().max(1) as f64;
        let head = format!(
            "{pid} {}: {:.1} % of a processor in {seconds:.1} s{}",
            printable(&profile.meta.target.main),
            percent(whole.total()),
            if screen.all { "" } else { ", Java below" }
        );
        let mut rows = Rows { heap: picture.heap.clone(), ..empty(head) };
        let Some(cpu) = profile.metric("cpu") else { return rows };
        let mut threads: Vec<(u64, &str)> = profile
            .threads()
            .iter()
            .zip(profile.totals_by_thread(cpu))
            .map(|(thread, nanos)| (nanos, profile.str(thread.name)))
            .filter(|(nanos, _)| *nanos > 0)
            .collect();
        threads.sort_by_key(|&(nanos, name)| (Reverse(nanos), name));
        rows.threads = threads
            .into_iter()
            .map(|(nanos, name)| Row { own: percent(nanos), total: None, timed: None, name: printable(name) })
            .collect();
        let totals = profile.totals_by_method(cpu);
        let timed = |name: &str| profile.metric(name).map(|metric| profile.totals_by_method(metric));
        let (times, calls) = (timed(TIME), timed("calls"));
        let mut methods: Vec<([u64; 4], String)> = (0..profile.methods().len())
            .map(|id| {
                let time = times.as_ref().map_or(0, |times| times.total[id]);
                let calls = calls.as_ref().map_or(0, |calls| calls.own[id]);
                ([totals.own[id], totals.total[id], time, calls], profile.method_name(id as u32))
            })
            .filter(|([_, total, time, calls], _)| *total > 0 || times.is_some() && time | calls > 0)
            .collect();
        methods.sort_by_key(|([own, total, time, calls], name)| {
            let key = match screen.sort {
                Sort::Own => [*own, *total, *time],
                Sort::Total => [*total, *own, *time],
                Sort::Time => [*time, *calls, *total],
                Sort::Name => [0; 3],
            };
            (Reverse(key), name.clone())
        });
        let is_timed = times.is_some();
        let row = |([own, total, time, calls], name): ([u64; 4], String)| Row {
            own: percent(own),
            total: Some(percent(total)),
            timed: is_timed
                .then(|| Timed { percent: percent(time), calls: calls as f64 / seconds.max(1e-9) }),
            name: printable(&name),
        };
        rows.methods = methods.into_iter().map(row).collect();
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quipu_profile::{Builder, MethodFlags, MethodSpec, MetricSpec, ThreadSpec, Unit};
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    /// `main` runs `app.Main.run`, which runs fifty others and `memcpy`; a compiler runs, too.
    fn picture() -> Picture {
        let mut b = Builder::new();
        let cpu = b.metric(MetricSpec::sampled("cpu", Unit::Nanoseconds, 1));
        b.meta.target.main = "app.Main".into();
        let (java, foreign) = (MethodFlags::NONE, MethodFlags::FOREIGN);
        let mut method =
            |class, name: &str, flags| b.method(MethodSpec { class, name, flags, ..Default::default() });
        let run = method("app.Main", "run", java);
        let (copy, compile) = (method("", "memcpy", foreign), method("", "Compile", foreign));
        let others: Vec<_> =
            (0..50).map(|n| method("app.a.rather.LongNameOfAClass", &format!("m{n:02}"), java)).collect();
        let main = b.thread(ThreadSpec { name: "main", ..Default::default() });
        let jit = b.thread(ThreadSpec { name: "C2 CompilerThread0", ..Default::default() });
        let at = b.push(b.root(main), run, -1);
        let below = b.push(at, copy, -1);
        b.add(below, cpu, 400_000_000);
        for (n, other) in others.into_iter().enumerate() {
            let node = b.push(at, other, -1);
            b.add(node, cpu, 1_000_000 * (n as u64 + 1));
        }
        let node = b.push(b.root(jit), compile, -1);
        b.add(node, cpu, 300_000_000);
        Picture { profile: b.finish(), elapsed: Duration::from_secs(1), heap: "allocated: 1.0 MB/s".into() }
    }

    fn screen() -> Screen {
        let mut screen = Screen::new(7, false);
        screen.show(picture());
        screen
    }

    fn drawn(screen: &Screen, columns: u16, lines: u16) -> Vec<String> {
        let mut terminal = Terminal::new(TestBackend::new(columns, lines)).unwrap();
        terminal.draw(|frame| screen.draw(frame)).unwrap();
        let cells = terminal.backend().buffer().content().chunks(columns.into());
        cells
            .map(|line| line.iter().map(|cell| cell.symbol()).collect::<String>().trim_end().to_owned())
            .collect()
    }

    fn press(screen: &mut Screen, code: KeyCode) -> Asked {
        screen.key(KeyEvent::new(code, KeyModifiers::NONE))
    }

    #[test]
    fn it_fits_the_window() {
        for (columns, lines) in [(100, 30), (60, 20), (40, 12), (200, 80), (10, 3), (1, 1)] {
            assert_eq!(drawn(&screen(), columns, lines).len(), usize::from(lines));
        }
        let small = drawn(&screen(), 40, 16);
        assert!(small[15].starts_with("q quit"), "{small:#?}");
        assert!(small.iter().any(|line| line.contains('…') && line.ends_with(".m49")), "{small:#?}");
        assert_eq!(drawn(&screen(), 100, 30)[0], "7 app.Main: 197.5 % of a processor in 1.0 s, Java below");
    }

    #[test]
    fn only_java_until_all_is_asked_for() {
        let mut screen = screen();
        let java = drawn(&screen, 100, 30).join("\n");
        assert!(!java.contains("memcpy") && !java.contains("CompilerThread"), "{java}");
        assert!(java.contains("   40.0     167.5   app.Main.run"), "what it had copied is its own:\n{java}");
        assert_eq!(press(&mut screen, KeyCode::Char('a')), Asked::Draw);
        let all = drawn(&screen, 100, 30).join("\n");
        assert!(all.contains("memcpy") && all.contains("C2 CompilerThread0"), "{all}");
    }

    #[test]
    fn times_are_shown_where_calls_are_timed() {
        let mut b = Builder::new();
        let cpu = b.metric(MetricSpec::sampled("cpu", Unit::Nanoseconds, 1));
        let (calls, time) =
            (b.metric(MetricSpec::calls()), b.metric(MetricSpec::exact("time", Unit::Nanoseconds)));
        let mut method = |name: &str| b.method(MethodSpec { class: "app.Main", name, ..Default::default() });
        let (run, wait) = (method("run"), method("wait"));
        let main = b.thread(ThreadSpec { name: "main", ..Default::default() });
        let at = b.push(b.root(main), run, -1);
        let below = b.push(at, wait, -1);
        for (node, metric, value) in [
            (at, cpu, 500_000_000),
            (at, time, 600_000_000),
            (at, calls, 4),
            (below, time, 1_200_000_000),
            (below, calls, 8000),
        ] {
            b.add(node, metric, value);
        }
        let mut screen = Screen::new(7, false);
        screen.show(Picture { profile: b.finish(), elapsed: Duration::from_secs(2), heap: String::new() });
        let text = screen.text(10);
        assert!(text.contains(" SELF %   TOTAL %   TIME %    CALLS/S   METHOD"), "{text}");
        assert!(text.contains("   25.0      25.0      90.0          2   app.Main.run"), "{text}");
        assert!(
            text.contains("    0.0       0.0      60.0       4000   app.Main.wait"),
            "it does nothing:\n{text}"
        );
        assert_eq!(press(&mut screen, KeyCode::Left), Asked::Draw);
        press(&mut screen, KeyCode::Left);
        assert_eq!(screen.sort, Sort::Time);
        press(&mut screen, KeyCode::Right);
        assert_eq!(screen.sort, Sort::Name);
    }

    #[test]
    fn keys_sort_pause_and_quit() {
        let mut screen = screen();
        for (code, sort) in [
            (KeyCode::Char('s'), Sort::Total),
            (KeyCode::Right, Sort::Name),
            (KeyCode::Char('s'), Sort::Own),
            (KeyCode::Left, Sort::Name),
        ] {
            assert_eq!((press(&mut screen, code), screen.sort), (Asked::Draw, sort));
        }
        let by_name = drawn(&screen, 100, 40);
        let first = by_name.iter().position(|line| line.contains("METHOD")).unwrap() + 1;
        assert!(
            by_name[first].ends_with("app.Main.run") && by_name[first + 1].ends_with(".m00"),
            "{by_name:#?}"
        );
        press(&mut screen, KeyCode::Char(' '));
        let before = drawn(&screen, 100, 30);
        screen.show(Picture { elapsed: Duration::from_secs(9), ..picture() });
        assert_eq!(drawn(&screen, 100, 30), before, "it is paused");
        assert_eq!(press(&mut screen, KeyCode::Char('x')), Asked::Nothing);
        assert_eq!(press(&mut screen, KeyCode::Char('q')), Asked::Quit);
        assert_eq!(screen.key(KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL)), Asked::Quit);
    }
}
