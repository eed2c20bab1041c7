//! Line plots as SVG.

use std::fmt::Write as _;

/// A plot of lines over a logarithmic axis.
pub struct Plot<'a> {
    /// Above it.
    pub title: &'a str,
    /// Below it.
    pub x: &'a str,
    /// What is after the numbers of the other axis, such as ` %`.
    pub unit: &'a str,
    /// Whether the other axis is logarithmic too.
    pub logarithmic: bool,
    /// What is drawn: a name, and points from left to right.
    pub lines: Vec<(String, Vec<(f64, f64)>)>,
}

const COLOURS: [&str; 6] = ["#c03030", "#2060c0", "#208040", "#a06000", "#703090", "#404040"];
const LEFT: f64 = 70.0;
const RIGHT: f64 = 620.0;
const TOP: f64 = 34.0;
const BOTTOM: f64 = 294.0;

impl Plot<'_> {
    /// The picture.
    pub fn svg(&self) -> String {
        let mut svg = String::from(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"660\" height=\"350\" font-family=\"sans-serif\" \
             font-size=\"12\">\n<rect width=\"660\" height=\"350\" fill=\"white\"/>\n",
        );
        let points = || self.lines.iter().flat_map(|(_, points)| points.iter().copied());
        let across = Scale::logarithmic(points().map(|(x, _)| x), (LEFT, RIGHT));
        let up = if self.logarithmic {
            Scale::logarithmic(points().map(|(_, y)| y), (BOTTOM, TOP))
        } else {
            Scale::linear(points().map(|(_, y)| y), (BOTTOM, TOP))
        };
        for value in up.marks() {
            let at = up.at(value);
            let _ = writeln!(svg, "<path d=\"M{LEFT} {at:.1}H{RIGHT}\" stroke=\"#ddd\"/>");
            let (x, y) = (LEFT - 6.0, at + 4.0);
            let _ = writeln!(
                svg,
                "<text x=\"{x}\" y=\"{y:.1}\" text-anchor=\"end\">{}{}</text>",
                short(value),
                self.unit
            );
        }
        for value in across.marks() {
            let at = across.at(value);
            let _ = writeln!(svg, "<path d=\"M{at:.1} {BOTTOM}V{TOP}\" stroke=\"#eee\"/>");
            let _ =
                writeln!(svg, "<text x=\"{at:.1}\" y=\"312\" text-anchor=\"middle\">{}</text>", short(value));
        }
        let _ = writeln!(svg, "<text x=\"345\" y=\"336\" text-anchor=\"middle\">{}</text>", escaped(self.x));
        let _ = writeln!(svg, "<text x=\"{LEFT}\" y=\"20\">{}</text>", escaped(self.title));
        for (i, ((name, points), colour)) in self.lines.iter().zip(COLOURS.iter().cycle()).enumerate() {
            let path: Vec<String> =
                points.iter().map(|&(x, y)| format!("{:.1},{:.1}", across.at(x), up.at(y))).collect();
            let _ = writeln!(
                svg,
                "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>",
                path.join(" ")
            );
            let y = TOP + 14.0 + 15.0 * i as f64;
            let _ = writeln!(
                svg,
                "<text x=\"{RIGHT}\" y=\"{y}\" text-anchor=\"end\" fill=\"{colour}\">{}</text>",
                escaped(name)
            );
        }
        svg + "</svg>\n"
    }
}

/// The slope of a straight line through points on logarithmic axes: 1 is in proportion, 0 is not at all. `None` with
/// fewer than two points that are above zero.
pub fn slope(points: &[(f64, f64)]) -> Option<f64> {
    let logs: Vec<(f64, f64)> =
        points.iter().filter(|(x, y)| *x > 0.0 && *y > 0.0).map(|(x, y)| (x.ln(), y.ln())).collect();
    let n = logs.len() as f64;
    let (sum_x, sum_y) = logs.iter().fold((0.0, 0.0), |sum, (x, y)| (sum.0 + x, sum.1 + y));
    let (mean_x, mean_y) = (sum_x / n, sum_y / n);
    let above: f64 = logs.iter().map(|(x, y)| (x - mean_x) * (y - mean_y)).sum();
    let below: f64 = logs.iter().map(|(x, _)| (x - mean_x).powi(2)).sum();
    (logs.len() > 1 && below > 0.0).then(|| above / below)
}

/// Where values are in a picture.
struct Scale {
    low: f64,
    high: f64,
    place: (f64, f64),
    logarithmic: bool,
}

impl Scale {
    /// From one power of ten to another.
    fn logarithmic(values: impl Iterator<Item = f64>, place: (f64, f64)) -> Scale {
        let (low, high) = range(values.filter(|value| *value > 0.0));
        let (low, high) = (10f64.powf(low.log10().floor()), 10f64.powf(high.log10().ceil()));
        Scale { low, high: if high > low { high } else { low * 10.0 }, place, logarithmic: true }
    }

    /// A tenth of the range more on both sides, and round.
    fn linear(values: impl Iterator<Item = f64>, place: (f64, f64)) -> Scale {
        let (low, high) = range(values);
        let step = step(high - low);
        let (low, high) = ((low / step).floor() * step, (high / step).ceil() * step);
        Scale { low, high: if high > low { high } else { low + step }, place, logarithmic: false }
    }

    fn at(&self, value: f64) -> f64 {
        let share = if self.logarithmic {
            (value.max(self.low) / self.low).log10() / (self.high / self.low).log10()
        } else {
            (value - self.low) / (self.high - self.low)
        };
        self.place.0 + (self.place.1 - self.place.0) * share
    }

    fn marks(&self) -> Vec<f64> {
        let mut marks = Vec::new();
        let mut value = self.low;
        while value <= self.high * 1.000_001 {
            marks.push(value);
            value = if self.logarithmic { value * 10.0 } else { value + step(self.high - self.low) };
        }
        marks
    }
}

fn range(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let (low, high) = values
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)));
    if low.is_finite() { (low, high) } else { (1.0, 10.0) }
}

/// 1, 2 or 5 times a power of ten, so that there are about five marks.
fn step(range: f64) -> f64 {
    let rough = (range / 5.0).max(1e-9);
    let power = 10f64.powf(rough.log10().floor());
    [1.0, 2.0, 5.0, 10.0].iter().map(|by| by * power).find(|step| *step >= rough * 0.999).unwrap_or(power)
}

fn short(value: f64) -> String {
    match value {
        v if v >= 999_999.5 => format!("{}M", v / 1e6),
        v if v >= 999.5 => format!("{}k", (v / 1e3 * 1e3).round() / 1e3),
        v => format!("{}", (v * 1e4).round() / 1e4),
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slopes_are_exponents() {
        let square: Vec<(f64, f64)> = [1.0, 10.0, 100.0].map(|x| (x, 3.0 * x * x)).to_vec();
        assert!((slope(&square).unwrap() - 2.0).abs() < 1e-9);
        let flat: Vec<(f64, f64)> = [1.0, 10.0, 100.0].map(|x| (x, 7.0)).to_vec();
        assert!(slope(&flat).unwrap().abs() < 1e-9);
        assert_eq!(slope(&[(1.0, 1.0)]), None);
    }

    #[test]
    fn points_are_where_their_values_are() {
        let line = vec![(1.0, 0.0), (10.0, 5.0), (100.0, 10.0)];
        let plot = Plot {
            title: "a < b",
            x: "n",
            unit: " %",
            logarithmic: false,
            lines: vec![("one".into(), line)],
        };
        let svg = plot.svg();
        assert!(svg.contains("points=\"70.0,294.0 345.0,164.0 620.0,34.0\""), "{svg}");
        assert!(svg.contains("a &lt; b") && svg.contains(">10 %<") && svg.contains(">100<"));
    }
}
