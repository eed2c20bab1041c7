//! Which metrics a report shows, and their numbers by row.

use crate::number;
use crate::{Options, ReportError};
use quipu_profile::{Metric, MetricSpec, Profile, Totals, share_error, standard_error, weighted_share_error};

/// The metrics of a report.
#[derive(Clone, Debug)]
pub(crate) struct Selection {
    /// Indices into the profile's metrics, in the order shown.
    pub(crate) metrics: Vec<usize>,
    /// Which of `metrics` rows are ranked by.
    pub(crate) rank: usize,
    /// True when the first two are shown with their ratio.
    pub(crate) ratio: bool,
    /// True when the caller named metrics.
    pub(crate) chosen: bool,
    /// Rows with a smaller share than this are left out.
    pub(crate) min: f64,
}

impl Selection {
    pub(crate) fn new(profile: &Profile, options: &Options) -> Result<Selection, ReportError> {
        let all = profile.metrics();
        if all.is_empty() {
            return Err(ReportError::NoMetrics);
        }
        let min = f64::from(options.min.unwrap_or(0)) / 100_000.0;
        let Some(wanted) = &options.metric else {
            // Variances are in the errors of what they are of.
            let shown: Vec<usize> = (0..all.len()).filter(|&at| !all[at].spec().is_variance()).collect();
            let rank = shown.iter().position(|&at| all[at].has_totals()).unwrap_or(0);
            return Ok(Selection { metrics: shown, rank, ratio: false, chosen: false, min });
        };
        let find = |name: &str| {
            let known = || all.iter().map(Metric::name);
            let found = profile.metric_id(name).map(|id| id as usize);
            found.ok_or_else(|| ReportError::unknown("metric", name, known()))
        };
        if let Ok(metric) = find(wanted) {
            return Ok(Selection { metrics: vec![metric], rank: 0, ratio: false, chosen: true, min });
        }
        // Names of events may have a / of their own.
        let halves = || wanted.match_indices('/').map(|(at, _)| (&wanted[..at], &wanted[at + 1..]));
        let both = |(numerator, denominator): (&str, &str)| -> Result<Vec<usize>, ReportError> {
            Ok(vec![find(numerator.trim())?, find(denominator.trim())?])
        };
        if let Some(first) = halves().next() {
            // If there is no such pair, the half that is right tells which one is meant.
            let meant = || halves().find(|&(a, b)| [a, b].iter().any(|name| find(name.trim()).is_ok()));
            let found = halves().find_map(|halves| both(halves).ok());
            let metrics = found.map_or_else(|| both(meant().unwrap_or(first)), Ok)?;
            return Ok(Selection { metrics, rank: 0, ratio: true, chosen: true, min });
        }
        let metrics = wanted.split(',').map(|name| find(name.trim())).collect::<Result<Vec<_>, _>>()?;
        Ok(Selection { metrics, rank: 0, ratio: false, chosen: true, min })
    }

    /// Keeps the metrics that `wanted` wants, if there are any.
    pub(crate) fn keep(&mut self, profile: &Profile, wanted: impl Fn(&Metric) -> bool) {
        let kept: Vec<usize> =
            self.metrics.iter().copied().filter(|&metric| wanted(&profile.metrics()[metric])).collect();
        if !kept.is_empty() && !self.ratio {
            let main = self.metrics[self.rank];
            self.rank = kept.iter().position(|&metric| metric == main).unwrap_or(0);
            self.metrics = kept;
        }
    }

    /// What text shows: unless the caller named metrics, the one that rows are ranked by.
    pub(crate) fn ranking(mut self) -> Selection {
        if !self.chosen {
            self.metrics = vec![self.metrics[self.rank]];
            self.rank = 0;
        }
        self
    }

    /// The metrics, in order.
    pub(crate) fn metrics<'a>(&'a self, profile: &'a Profile) -> impl Iterator<Item = &'a Metric> + Clone {
        self.metrics.iter().map(|&metric| &profile.metrics()[metric])
    }

    /// Names of the metrics that are not shown, nor nothing but zeros.
    pub(crate) fn others(&self, profile: &Profile) -> Vec<String> {
        let hidden = profile.metrics().iter().enumerate().filter(|(at, _)| !self.metrics.contains(at));
        let told = hidden.filter(|(_, metric)| metric.total() > 0 && !metric.spec().is_variance());
        told.map(|(_, metric)| metric.name().to_owned()).collect()
    }

    /// The metric ranked by.
    pub(crate) fn main<'a>(&self, profile: &'a Profile) -> &'a Metric {
        &profile.metrics()[self.metrics[self.rank]]
    }

    /// The two metrics that are shown with their ratio.
    pub(crate) fn ratio<'a>(&'a self, profile: &'a Profile) -> Option<(&'a Metric, &'a Metric)> {
        let mut metrics = self.metrics(profile);
        self.ratio.then(|| Some((metrics.next()?, metrics.next()?)))?
    }

    /// The names JSON lists under `metrics`.
    pub(crate) fn names(&self, profile: &Profile) -> Vec<String> {
        let mut names: Vec<String> = self.metrics(profile).map(|metric| metric.name().to_owned()).collect();
        names.extend(self.ratio.then(|| format!("{}/{}", names[0], names[1])));
        names
    }

    /// Every metric's values by row, as `add_up` computes them.
    pub(crate) fn columns(&self, profile: &Profile, add_up: impl Fn(&Metric) -> Totals) -> Columns {
        let column = |metric: &Metric| Column {
            spec: metric.spec().clone(),
            sum: metric.total(),
            values: add_up(metric),
            variance: profile.variance(metric).map(|variance| (add_up(variance), variance.total())),
        };
        Columns {
            columns: self.metrics(profile).map(column).collect(),
            rank: self.rank,
            ratio: self.ratio,
            min: self.min,
        }
    }
}

/// One metric by row.
pub(crate) struct Column {
    pub(crate) spec: MetricSpec,
    /// The whole, for percentages.
    pub(crate) sum: u64,
    pub(crate) values: Totals,
    /// Variances of the values, and of the whole; unless all samples stand for the same.
    variance: Option<(Totals, u64)>,
}

/// Which of a row's two values.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Of {
    Own,
    Total,
}

impl Of {
    pub(crate) fn value(self, totals: &Totals, row: usize) -> u64 {
        match self {
            Of::Own => totals.own[row],
            Of::Total => totals.total[row],
        }
    }
}

impl Column {
    /// The standard error of a value; none for what is exact.
    pub(crate) fn error(&self, of: Of, row: usize) -> Option<f64> {
        match &self.variance {
            Some((variances, _)) => Some((of.value(variances, row) as f64).sqrt()),
            None => standard_error(&self.spec, of.value(&self.values, row)),
        }
    }

    /// The share that a value has of the whole, with its standard error.
    fn percent(&self, of: Of, row: usize) -> String {
        let value = of.value(&self.values, row);
        let error = match &self.variance {
            Some((variances, whole)) => {
                weighted_share_error(value, self.sum, of.value(variances, row), *whole)
            }
            None => share_error(&self.spec, value, self.sum),
        };
        number::percent_with(value, self.sum, error)
    }

    pub(crate) fn has_totals(&self) -> bool {
        self.spec.aggregation != quipu_profile::Aggregation::Count
    }
}

/// All metrics of a report by row.
pub(crate) struct Columns {
    pub(crate) columns: Vec<Column>,
    rank: usize,
    ratio: bool,
    min: f64,
}

impl Columns {
    pub(crate) fn main(&self) -> &Column {
        &self.columns[self.rank]
    }

    /// What the ranking metric is counted in.
    pub(crate) fn unit(&self) -> &quipu_profile::Unit {
        &self.main().spec.unit
    }

    /// True when the row has a value, and enough of the ranking metric.
    pub(crate) fn worth(&self, row: usize) -> bool {
        let main = self.main();
        let most = main.values.own[row].max(main.values.total[row]);
        self.any(row) && number::share(most, main.sum) >= self.min
    }

    fn any(&self, row: usize) -> bool {
        self.columns.iter().any(|column| column.values.own[row] != 0 || column.values.total[row] != 0)
    }

    /// Rows in `rows`, largest self value of the ranking metric first, then largest total, then in the order given. With a
    /// ratio that comes first, of rows that have enough of either metric for it to say something.
    pub(crate) fn ranked(&self, rows: impl Iterator<Item = usize>) -> Vec<usize> {
        let values = &self.main().values;
        let mut rows: Vec<usize> = rows.collect();
        rows.sort_by_key(|&row| std::cmp::Reverse((values.own[row], values.total[row])));
        rows.sort_by(|&a, &b| self.telling_ratio(b).total_cmp(&self.telling_ratio(a)));
        rows
    }

    /// The ratio of a row; below all others if there is none, or too little to tell.
    fn telling_ratio(&self, row: usize) -> f64 {
        /// The share of a metric that is too little.
        const LITTLE: f64 = 0.002;
        const NONE: f64 = -1.0;
        let Some((numerator, denominator)) = self.ratio() else { return NONE };
        let telling = |column: &Column| number::share(column.values.own[row], column.sum) >= LITTLE;
        if !telling(numerator) && !telling(denominator) {
            return NONE;
        }
        number::quotient(numerator.values.own[row], denominator.values.own[row]).unwrap_or(NONE)
    }

    /// The two metrics a ratio is of.
    pub(crate) fn ratio(&self) -> Option<(&Column, &Column)> {
        self.ratio.then(|| (&self.columns[0], &self.columns[1]))
    }

    /// Cells of a text table, as [`Columns::headers`] names them.
    pub(crate) fn cells(&self, row: usize) -> Vec<String> {
        let mut cells = Vec::new();
        for column in &self.columns {
            let (own, total) = (column.values.own[row], column.values.total[row]);
            if column.has_totals() {
                for (of, value) in [(Of::Own, own), (Of::Total, total)] {
                    cells.push(number::in_unit(value, &column.spec.unit));
                    cells.push(column.percent(of, row));
                }
            } else {
                cells.push(number::in_unit(own, &column.spec.unit));
            }
        }
        if let Some((numerator, denominator)) = self.ratio() {
            cells.push(number::ratio(numerator.values.own[row], denominator.values.own[row]));
        }
        cells
    }

    /// Cells of rows that have no callees, as [`Columns::own_headers`] names them.
    pub(crate) fn own_cells(&self, row: usize) -> Vec<String> {
        let cell = |column: &Column| {
            [number::in_unit(column.values.own[row], &column.spec.unit), column.percent(Of::Own, row)]
        };
        self.columns.iter().flat_map(cell).collect()
    }

    /// Headers of these.
    pub(crate) fn own_headers(&self) -> Vec<String> {
        self.columns.iter().flat_map(|column| [column.spec.name.clone(), String::new()]).collect()
    }

    /// Headers of the cells.
    pub(crate) fn headers(&self) -> Vec<String> {
        let mut headers = Vec::new();
        for column in &self.columns {
            let name = &column.spec.name;
            if column.has_totals() {
                headers.extend([format!("{name} self"), String::new(), "total".into(), String::new()]);
            } else {
                headers.push(name.clone());
            }
        }
        if let Some((numerator, denominator)) = self.ratio() {
            headers.push(format!("{}/{}", numerator.spec.name, denominator.spec.name));
        }
        headers
    }
}
