//! Overlap as text and JSON.

use crate::ReportError;
use quipu_profile::{Matching, On, Profile, overlap};

/// The metric two profiles are compared by unless told otherwise: the first's main one.
pub(crate) fn metric_for(a: &Profile, b: &Profile, wanted: Option<&str>) -> Result<String, ReportError> {
    let common = || a.metrics().iter().filter(|metric| b.metric(metric.name()).is_some());
    match wanted {
        Some(name) if common().any(|metric| metric.name() == name) => Ok(name.to_owned()),
        Some(name) => Err(ReportError::unknown("metric", name, common().map(|metric| metric.name()))),
        None => {
            let main = common().find(|metric| metric.has_totals()).or_else(|| common().next());
            main.map(|metric| metric.name().to_owned()).ok_or(ReportError::NoMetrics)
        }
    }
}

/// Four decimals; what is not equal is never rounded to 100.
fn rounded(overlap: f64) -> f64 {
    let rounded = (overlap * 1e4).round() / 1e4;
    if overlap < 100.0 { rounded.min(99.9999) } else { rounded }
}

/// `{"on":"context","metric":"bytecodes","overlap":97.31}`.
pub fn overlap_json(
    a: &Profile,
    b: &Profile,
    on: On,
    metric: Option<&str>,
    matching: Matching,
) -> Result<String, ReportError> {
    let metric = metric_for(a, b, metric)?;
    let value = rounded(overlap(a, b, &metric, on, matching)?);
    let name = serde_json::to_string(&metric).expect("a string");
    Ok(format!("{{\"on\":\"{}\",\"metric\":{name},\"overlap\":{}}}\n", on.as_str(), serde_json::json!(value)))
}

/// One line: `97.31 % of bytecodes by context`.
pub fn overlap_text(
    a: &Profile,
    b: &Profile,
    on: On,
    metric: Option<&str>,
    matching: Matching,
) -> Result<String, ReportError> {
    let metric = metric_for(a, b, metric)?;
    let value = overlap(a, b, &metric, on, matching)?;
    let shown = if value < 100.0 { (value * 100.0).floor() / 100.0 } else { value };
    Ok(format!("{shown:.2} % of {metric} by {}\n", on.as_str()))
}
