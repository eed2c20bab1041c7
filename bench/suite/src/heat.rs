//! Heat maps as SVG: a number for each pair of settings, the better the darker.

use std::fmt::Write as _;

/// A table of numbers that is coloured.
pub struct Heat<'a> {
    /// Above it.
    pub title: &'a str,
    /// What the columns are, and each of them.
    pub across: (&'a str, Vec<String>),
    /// What the rows are, and each of them.
    pub down: (&'a str, Vec<String>),
    /// Row by row: how good it is, from 0 to 1, and what is written there. A cell that was not measured is empty.
    pub cells: Vec<Vec<Option<(f64, String)>>>,
}

const LEFT: usize = 90;
const TOP: usize = 60;
const WIDTH: usize = 110;
const HEIGHT: usize = 34;
/// From this on, a cell is dark, and what is written there is white.
const DARK: f64 = 0.55;

impl Heat<'_> {
    /// The picture.
    pub fn svg(&self) -> String {
        let width = LEFT + WIDTH * self.across.1.len() + 20;
        let height = TOP + HEIGHT * self.down.1.len() + 20;
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" font-family=\"sans-serif\" \
             font-size=\"12\">\n<rect width=\"{width}\" height=\"{height}\" fill=\"white\"/>\n"
        );
        let mut text = |x: usize, y: usize, colour: &str, text: &str| {
            let _ = writeln!(
                svg,
                "<text x=\"{x}\" y=\"{y}\" text-anchor=\"middle\" fill=\"{colour}\">{}</text>",
                text.replace('&', "&amp;").replace('<', "&lt;")
            );
        };
        let middle = (width + LEFT) / 2;
        text(middle, 18, "black", self.title);
        text(middle, 36, "black", self.across.0);
        text(LEFT / 2, TOP - 8, "black", self.down.0);
        for (i, name) in self.across.1.iter().enumerate() {
            text(LEFT + WIDTH * i + WIDTH / 2, TOP - 8, "black", name);
        }
        for (j, name) in self.down.1.iter().enumerate() {
            text(LEFT / 2, TOP + HEIGHT * j + HEIGHT / 2 + 4, "black", name);
        }
        for (j, row) in self.cells.iter().enumerate() {
            for (i, cell) in row.iter().enumerate() {
                let Some((good, written)) = cell else { continue };
                let good = good.clamp(0.0, 1.0);
                let part = |from: f64, to: f64| (from + (to - from) * good).round();
                let (x, y) = (LEFT + WIDTH * i, TOP + HEIGHT * j);
                let _ = writeln!(
                    svg,
                    "<rect x=\"{x}\" y=\"{y}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" stroke=\"white\" fill=\"rgb({},{},{})\"/>",
                    part(247.0, 8.0),
                    part(251.0, 48.0),
                    part(255.0, 107.0)
                );
                let colour = if good >= DARK { "white" } else { "black" };
                let _ = writeln!(
                    svg,
                    "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\" fill=\"{colour}\">{written}</text>",
                    x + WIDTH / 2,
                    y + HEIGHT / 2 + 4
                );
            }
        }
        svg + "</svg>\n"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cell_that_was_measured_is_drawn() {
        let heat = Heat {
            title: "a < b",
            across: ("samples", vec!["1".to_owned(), "8".to_owned()]),
            down: ("stride", vec!["3".to_owned()]),
            cells: vec![vec![Some((1.0, "90".to_owned())), None]],
        };
        let svg = heat.svg();
        assert!(svg.contains("a &lt; b") && svg.contains(">90<") && svg.contains("rgb(8,48,107)"), "{svg}");
        assert_eq!(svg.matches("<rect").count(), 2, "{svg}");
    }
}
