//! Overlap as text and JSON.

use crate::ReportError;
use quipu_profile::{Aligned, Matching, Metric, On, Profile, common_metrics, expected_overlap, overlap_of};

/// The metric two profiles are compared by unless told otherwise: the first's main one.
pub(crate) fn metric_for(a: &Profile, b: &Profile, wanted: Option<&str>) -> Result<String, ReportError> {
    let common = a.metrics().iter().map(Metric::name).filter(|name| b.metric(name).is_some());
    choose(a, b, common.collect(), wanted)
}

/// The same for shares of a whole, which samples have too.
fn shared_metric(a: &Profile, b: &Profile, wanted: Option<&str>) -> Result<String, ReportError> {
    let common = common_metrics(a, b);
    choose(a, b, common.iter().map(String::as_str).collect(), wanted)
}

fn choose(a: &Profile, b: &Profile, common: Vec<&str>, wanted: Option<&str>) -> Result<String, ReportError> {
    if common.is_empty() {
        let names = |profile: &Profile| match profile.metrics() {
            [] => "none".to_owned(),
            metrics => metrics.iter().map(Metric::name).collect::<Vec<_>>().join(", "),
        };
        return Err(ReportError::NothingInCommon { first: names(a), second: names(b) });
    }
    match wanted {
        Some(name) if common.contains(&name) => Ok(name.to_owned()),
        Some(name) => Err(ReportError::unknown("metric", name, common.into_iter())),
        None => {
            let metric = |name: &str| a.measure_of(name).and_then(|id| a.metrics().get(id as usize));
            let adds_up = |name: &&&str| metric(name).is_some_and(Metric::has_totals);
            let main = common.iter().find(adds_up).or(common.first());
            main.map(|&name| name.to_owned()).ok_or(ReportError::NoMetrics)
        }
    }
}

/// Four decimals; what is not equal is never rounded to 100.
fn rounded(overlap: f64) -> f64 {
    let rounded = (overlap * 1e4).round() / 1e4;
    if overlap < 100.0 { rounded.min(99.9999) } else { rounded }
}

/// The overlap, and the one to expect of so many samples if the profiles are of the same.
fn overlaps(
    a: &Profile,
    b: &Profile,
    on: On,
    metric: &str,
    matching: Matching,
) -> Result<(f64, Option<f64>), ReportError> {
    let aligned = Aligned::new(a, b, metric, matching)?;
    Ok((overlap_of(&aligned, on), expected_overlap(&aligned, on)))
}

/// `{"on":"context","metric":"bytecodes","overlap":97.31}`; sampled profiles have `"expected"`, too: the overlap that the
/// chance of sampling alone would leave.
pub fn overlap_json(
    a: &Profile,
    b: &Profile,
    on: On,
    metric: Option<&str>,
    matching: Matching,
) -> Result<String, ReportError> {
    let metric = shared_metric(a, b, metric)?;
    let (overlap, expected) = overlaps(a, b, on, &metric, matching)?;
    let number = |value: f64| serde_json::json!(rounded(value)).to_string();
    let expected = expected.map_or(String::new(), |expected| format!(",\"expected\":{}", number(expected)));
    let (name, overlap) = (serde_json::to_string(&metric).expect("a string"), number(overlap));
    Ok(format!("{{\"on\":\"{}\",\"metric\":{name},\"overlap\":{overlap}{expected}}}\n", on.as_str()))
}

/// One line: `97.31 % of bytecodes by context`.
pub fn overlap_text(
    a: &Profile,
    b: &Profile,
    on: On,
    metric: Option<&str>,
    matching: Matching,
) -> Result<String, ReportError> {
    let metric = shared_metric(a, b, metric)?;
    let (value, expected) = overlaps(a, b, on, &metric, matching)?;
    let shown = if value < 100.0 { (value * 100.0).floor() / 100.0 } else { value };
    let expected = expected.map(|expected| format!("; sampling alone would leave about {expected:.1} %"));
    Ok(format!("{shown:.2} % of {metric} by {}{}\n", on.as_str(), expected.unwrap_or_default()))
}
