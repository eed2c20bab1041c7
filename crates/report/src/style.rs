//! How text may look.

/// What the place a report goes to can show. The default is a pipe: plain ASCII in 100 columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// ANSI colours.
    pub colour: bool,
    /// Bars, tree lines and other characters beyond ASCII.
    pub unicode: bool,
    /// Columns of the terminal; names are shortened to fit. Lines are as long as they are when absent.
    pub width: Option<usize>,
}

impl Default for Style {
    fn default() -> Style {
        Style { colour: false, unicode: false, width: Some(100) }
    }
}

/// Colours by meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Paint {
    Plain,
    Heading,
    Dim,
    Hot,
    Warm,
    Good,
}

impl Style {
    pub(crate) fn paint(&self, paint: Paint, text: &str) -> String {
        let code = match paint {
            Paint::Plain => "",
            Paint::Heading => "1",
            Paint::Dim => "2",
            Paint::Hot => "31",
            Paint::Warm => "33",
            Paint::Good => "32",
        };
        if self.colour && !code.is_empty() && !text.is_empty() {
            format!("\x1b[{code}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }

    /// The colour of a share of the whole.
    pub(crate) fn heat(share: f64) -> Paint {
        match share {
            share if share >= 0.20 => Paint::Hot,
            share if share >= 0.05 => Paint::Warm,
            share if share < 0.005 => Paint::Dim,
            _ => Paint::Plain,
        }
    }

    pub(crate) fn dots(&self) -> &'static str {
        if self.unicode { "…" } else { "..." }
    }

    /// A bar of `cells` cells filled to `share`, in eighths of a cell; nothing without Unicode.
    pub fn bar(&self, share: f64, cells: usize) -> String {
        if !self.unicode {
            return String::new();
        }
        const EIGHTHS: [char; 8] = [' ', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];
        let filled = ((share.clamp(0.0, 1.0) * cells as f64 * 8.0).round() as usize).min(cells * 8);
        let mut bar: String = "█".repeat(filled / 8);
        if !filled.is_multiple_of(8) {
            bar.push(EIGHTHS[filled % 8]);
        }
        let drawn = filled.div_ceil(8);
        bar.extend(std::iter::repeat_n(' ', cells - drawn));
        bar
    }
}
