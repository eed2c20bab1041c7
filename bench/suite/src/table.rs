//! Tables: aligned text for a terminal, Markdown for documents.

/// A table: headings, and rows of as many cells.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// The first row.
    pub headings: Vec<String>,
    /// The others.
    pub rows: Vec<Vec<String>>,
}

impl Table {
    /// With these headings.
    pub fn new(headings: &[&str]) -> Table {
        Table { headings: headings.iter().map(|&heading| heading.to_owned()).collect(), rows: Vec::new() }
    }

    /// The first two columns to the left, the others to the right.
    pub fn text(&self) -> String {
        let widths = self.widths();
        let mut text = String::new();
        for row in std::iter::once(&self.headings).chain(&self.rows) {
            let mut line = String::new();
            for (column, cell) in row.iter().enumerate() {
                let pad = " ".repeat(widths[column].saturating_sub(cell.chars().count()));
                line += &if column < 2 { format!("{cell}{pad}  ") } else { format!("{pad}{cell}  ") };
            }
            text += line.trim_end();
            text.push('\n');
        }
        text
    }

    /// As Markdown.
    pub fn markdown(&self) -> String {
        let line = |cells: &[String]| {
            format!(
                "| {} |\n",
                cells.iter().map(|cell| cell.replace('|', "\\|")).collect::<Vec<_>>().join(" | ")
            )
        };
        let rule: Vec<String> = (0..self.headings.len())
            .map(|column| if column < 2 { "---" } else { "---:" }.to_owned())
            .collect();
        std::iter::once(&self.headings).chain([&rule]).chain(&self.rows).map(|row| line(row)).collect()
    }

    fn widths(&self) -> Vec<usize> {
        let mut widths = vec![0; self.headings.len()];
        for row in std::iter::once(&self.headings).chain(&self.rows) {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.chars().count());
            }
        }
        widths
    }
}

#[cfg(test)]
mod tests {
    use super::Table;

    #[test]
    fn numbers_are_aligned_to_the_right() {
        let mut table = Table::new(&["program", "kind", "wall"]);
        table.rows.push(["javac", "exact", "2.50"].map(str::to_owned).to_vec());
        table.rows.push(["h2|x", "e", "11.00"].map(str::to_owned).to_vec());
        assert_eq!(table.text(), "program  kind    wall\njavac    exact   2.50\nh2|x     e      11.00\n");
        assert_eq!(
            table.markdown(),
            "| program | kind | wall |\n| --- | --- | ---: |\n| javac | exact | 2.50 |\n| h2\\|x | e | 11.00 |\n"
        );
    }
}
