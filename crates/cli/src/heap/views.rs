//! The questions that can be asked of a dump, each as text for people and as JSON for programs.

use std::collections::BTreeMap;
use std::path::Path;

use quipu_heap::{
    Analysis, Condition, Contents, Damage, Dump, Group, GroupBy, Holder, Objects, Paths, Suspect, Value,
};
use serde_json::{Value as Json, json};

use super::open::{Bar, Opened, Reading, failed, tell};
use super::table::{Table, bytes, count, more, name, percent};
use super::{Limit, print, print_json};
use crate::exit::Failure;

/// An id as commands print it: `0x7f0012a8`.
pub fn id(text: &str) -> Result<u64, String> {
    let digits = text.trim_start_matches('@');
    let parsed = match digits.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => digits.parse(),
    };
    parsed.map_err(|_| "must be an object's id, like 0x7f0012a8".to_owned())
}

/// What is wrong with a dump, as JSON.
pub fn damage_json(damage: &[Damage]) -> Json {
    damage.iter().map(|damage| json!({ "offset": damage.offset, "what": damage.what })).collect()
}

/// All that is wrong with a file and the dump in it.
pub fn all_damage(opened: &Opened, damage: &[Damage]) -> Vec<Damage> {
    opened.cut.iter().chain(damage).cloned().collect()
}

/// `quipu heap histo FILE`.
pub fn histogram(reading: &Reading, path: &Path, limit: Limit) -> anyhow::Result<u8> {
    let opened = reading.open(path)?;
    let bar = Bar::new();
    let counted = Dump::count(&opened.source, &bar).map_err(failed(path))?;
    drop(bar);
    let damage = all_damage(&opened, &counted.damage);
    print_histogram(reading, &counted.histogram, limit, Some(&damage))?;
    Ok(tell(path, &damage, counted.histogram.objects()))
}

/// A histogram, wherever it comes from.
pub fn print_histogram(
    reading: &Reading,
    histogram: &quipu_heap::Histogram,
    limit: Limit,
    damage: Option<&[Damage]>,
) -> anyhow::Result<()> {
    if reading.json {
        let rows: Vec<Json> = histogram
            .rows
            .iter()
            .take(limit.rows())
            .map(|row| json!({ "class": row.class, "objects": row.objects, "bytes": row.bytes }))
            .collect();
        return print_json(&json!({
            "by": "class", "metrics": ["objects", "bytes"], "rows": rows,
            "total": { "objects": histogram.objects(), "bytes": histogram.bytes() },
            "damage": damage_json(damage.unwrap_or_default()),
        }));
    }
    let mut table = Table::new(&["objects", "bytes", "share", "class"]);
    for row in histogram.rows.iter().take(limit.rows()) {
        let share = percent(row.bytes, histogram.bytes());
        table.row(vec![count(row.objects), count(row.bytes), share, name(&row.class)]);
    }
    let rest = more(histogram.rows.len(), limit.rows());
    let total = format!("{} objects, {}\n", count(histogram.objects()), bytes(histogram.bytes()));
    print(&format!("{}{rest}{total}", table.text("")))
}

/// A dump, analysed; `body` prints.
fn analysed(
    reading: &Reading,
    path: &Path,
    body: impl FnOnce(&Analysis<'_>, &Bar, &[Damage]) -> anyhow::Result<()>,
) -> anyhow::Result<u8> {
    opened(reading, path, |dump, opened, bar, damage| {
        let analysis = Analysis::new(dump, opened.scratch.as_ref(), bar).map_err(failed(path))?;
        body(&analysis, bar, damage)
    })
}

/// A dump, read; `body` prints.
pub fn opened(
    reading: &Reading,
    path: &Path,
    body: impl FnOnce(&Dump<'_>, &Opened, &Bar, &[Damage]) -> anyhow::Result<()>,
) -> anyhow::Result<u8> {
    let opened = reading.open(path)?;
    let bar = Bar::new();
    let dump = Dump::open(&opened.source, &bar).map_err(failed(path))?;
    let damage = all_damage(&opened, dump.damage());
    body(&dump, &opened, &bar, &damage)?;
    drop(bar);
    Ok(tell(path, &damage, dump.objects()))
}

/// Numbers of the classes that a name means.
fn classes(dump: &Dump<'_>, pattern: &str) -> anyhow::Result<Vec<u32>> {
    let found = dump.classes().matching(pattern);
    if !found.is_empty() {
        return Ok(found);
    }
    // People often leave the package out.
    let near = dump.classes().matching(&format!("*{pattern}*"));
    let mut names: Vec<&str> = near.iter().map(|&class| dump.classes().get(class).name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    names.truncate(5);
    let hint = if names.is_empty() {
        "`quipu heap histo` lists them".to_owned()
    } else {
        format!("is it {}?", names.join(" or "))
    };
    Err(Failure::usage(format!("there is no class '{pattern}' in this dump; {hint}")))
}

fn holder_json(holder: &Holder) -> Json {
    json!({
        "id": format!("{:#x}", holder.id), "class": holder.class, "summary": holder.summary,
        "bytes": holder.size, "retained": holder.retained,
    })
}

/// `class Foo`, `java.lang.String "text"`, with the id.
pub fn holder_text(holder: &Holder) -> String {
    let what = match (&holder.summary, holder.class.as_str()) {
        (Some(class), "java.lang.Class") => format!("class {class}"),
        (Some(summary), class) => format!("{class} {summary}"),
        (None, class) => class.to_owned(),
    };
    format!("{} {:#x}", name(&what), holder.id)
}

/// `quipu heap dominators FILE`.
pub fn dominators(
    reading: &Reading,
    path: &Path,
    by: Option<GroupBy>,
    of: Option<u64>,
    limit: Limit,
) -> anyhow::Result<u8> {
    analysed(reading, path, |analysis, bar, damage| {
        let total = analysis.reachable().strongly.1;
        if let Some(by) = by {
            let groups = analysis.groups(by, bar).map_err(failed(path))?;
            return print_groups(reading, by, &groups, total, limit, damage);
        }
        let rows = limit.rows().min(1 << 20);
        let holders = match of {
            Some(id) if analysis.retained_by(id).is_none() => {
                return Err(Failure::usage(format!(
                    "there is no object {id:#x} in this dump that can be reached"
                )));
            }
            Some(id) => analysis.held_by(id, rows),
            None => analysis.biggest(rows),
        };
        let holders = holders.map_err(failed(path))?;
        if reading.json {
            let rows: Vec<Json> = holders.iter().map(holder_json).collect();
            return print_json(&json!({
                "by": "object", "metrics": ["bytes", "retained"], "rows": rows,
                "total": { "retained": total }, "damage": damage_json(damage),
            }));
        }
        let mut table = Table::new(&["retained", "share", "own", "object"]);
        for holder in &holders {
            let share = percent(holder.retained, total);
            table.row(vec![bytes(holder.retained), share, bytes(holder.size), holder_text(holder)]);
        }
        print(&table.text(""))
    })
}

fn by_name(by: GroupBy) -> &'static str {
    match by {
        GroupBy::Class => "class",
        GroupBy::Loader => "loader",
        GroupBy::Package => "package",
    }
}

fn print_groups(
    reading: &Reading,
    by: GroupBy,
    groups: &[Group],
    total: u64,
    limit: Limit,
    damage: &[Damage],
) -> anyhow::Result<()> {
    let by = by_name(by);
    if reading.json {
        let rows: Vec<Json> = groups
            .iter()
            .take(limit.rows())
            .map(|group| json!({ by: group.name, "objects": group.objects, "bytes": group.bytes, "retained": group.retained }))
            .collect();
        return print_json(&json!({
            "by": by, "metrics": ["objects", "bytes", "retained"], "rows": rows,
            "total": { "retained": total }, "damage": damage_json(damage),
        }));
    }
    print(&(group_table(by, groups, total, limit.rows()).text("") + &more(groups.len(), limit.rows())))
}

/// Groups as a table.
pub fn group_table(by: &'static str, groups: &[Group], total: u64, limit: usize) -> Table {
    let mut table = Table::new(&["retained", "share", "own", "objects", by]);
    for group in groups.iter().take(limit) {
        let share = percent(group.retained, total);
        table.row(vec![
            bytes(group.retained),
            share,
            bytes(group.bytes),
            count(group.objects),
            name(&group.name),
        ]);
    }
    table
}

/// So many instances of a class are looked at; their paths are told by their shape.
const LOOKED_AT: usize = 1_000;

/// `quipu heap paths FILE CLASS|ID`.
pub fn paths(reading: &Reading, path: &Path, what: &str, limit: Limit) -> anyhow::Result<u8> {
    opened(reading, path, |dump, opened, bar, damage| {
        let paths = Paths::new(dump, opened.scratch.as_ref(), bar).map_err(failed(path))?;
        let by_id = what.starts_with("0x").then(|| id(what)).transpose().map_err(Failure::usage)?;
        let (all, wanted) = match by_id {
            Some(id) => (
                1,
                vec![
                    dump.number_of(id)
                        .ok_or_else(|| Failure::usage(format!("there is no object {id:#x} in this dump")))?,
                ],
            ),
            None => {
                let all = paths.instances(&classes(dump, what)?, usize::MAX);
                let step = all.len().div_ceil(LOOKED_AT).max(1);
                (all.len(), all.iter().step_by(step).copied().collect())
            }
        };
        let found = paths.to(&wanted, bar).map_err(failed(path))?;
        let mut found: Vec<(u64, quipu_heap::Path)> = found.into_iter().collect();
        found.sort_by_key(|(number, _)| *number);
        let reached = found.len();
        let shapes = shapes(found.into_iter().map(|(_, path)| path));
        if reading.json {
            let rows: Vec<Json> =
                shapes.iter().take(limit.rows()).map(|(objects, path)| path_json(*objects, path)).collect();
            return print_json(&json!({
                "by": "path", "metrics": ["objects"], "rows": rows, "instances": all,
                "looked_at": wanted.len(), "reached": reached, "damage": damage_json(damage),
            }));
        }
        let mut text = format!(
            "{} of {} looked at; {} can be reached\n",
            count(wanted.len() as u64),
            count(all as u64),
            count(reached as u64)
        );
        for (objects, path) in shapes.iter().take(limit.rows()) {
            text.push_str(&format!(
                "\n{} by a path like this, from a root ({}):\n",
                objects_text(*objects),
                name(&path.root)
            ));
            text.push_str(&steps_text(path));
        }
        text.push_str(&more(shapes.len(), limit.rows()));
        print(&text)
    })
}

/// Paths that differ in places of arrays only are the same to a person: how many there are of each, the most first.
pub fn shapes(paths: impl Iterator<Item = quipu_heap::Path>) -> Vec<(u64, quipu_heap::Path)> {
    let mut shapes: BTreeMap<String, (u64, quipu_heap::Path)> = BTreeMap::new();
    for path in paths {
        shapes.entry(path.shape()).or_insert((0, path)).0 += 1;
    }
    let mut shapes: Vec<(u64, quipu_heap::Path)> = shapes.into_values().collect();
    shapes.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.steps.len().cmp(&b.1.steps.len())));
    shapes
}

fn objects_text(objects: u64) -> String {
    if objects == 1 { "1 object".to_owned() } else { format!("{} objects", count(objects)) }
}

/// A path for programs.
pub fn path_json(objects: u64, path: &quipu_heap::Path) -> Json {
    let steps: Vec<Json> = path
        .steps
        .iter()
        .map(|step| json!({ "id": (step.id != 0).then(|| format!("{:#x}", step.id)), "class": step.class, "is_class": step.is_class, "by": step.by }))
        .collect();
    json!({ "objects": objects, "root": path.root, "steps": steps })
}

/// One step a line; ids where they are known.
pub fn steps_text(path: &quipu_heap::Path) -> String {
    let mut text = String::new();
    for (depth, step) in path.steps.iter().enumerate() {
        let class = if step.is_class { format!("class {}", step.class) } else { step.class.clone() };
        let by = step.by.as_deref().map_or(String::new(), |by| {
            if by.starts_with('[') { format!(" {by}") } else { format!(".{by}") }
        });
        let id = if step.id == 0 { String::new() } else { format!("  {:#x}", step.id) };
        text.push_str(&format!("  {}{}{}{id}\n", "  ".repeat(depth.min(20)), name(&class), name(&by)));
    }
    text
}

/// `quipu heap strings FILE`.
pub fn strings(reading: &Reading, path: &Path, limit: Limit) -> anyhow::Result<u8> {
    opened(reading, path, |dump, _, bar, damage| {
        let strings = quipu_heap::strings(dump, limit.rows(), bar).map_err(failed(path))?;
        if reading.json {
            let rows: Vec<Json> = strings
                .duplicates
                .iter()
                .map(|one| json!({ "text": one.text, "copies": one.copies, "wasted": one.wasted }))
                .collect();
            return print_json(&json!({
                "by": "text", "metrics": ["copies", "wasted"], "rows": rows,
                "total": { "strings": strings.strings, "arrays": strings.arrays, "distinct": strings.distinct, "wasted": strings.wasted },
                "damage": damage_json(damage),
            }));
        }
        let mut table = Table::new(&["wasted", "copies", "text"]);
        for one in &strings.duplicates {
            table.row(vec![bytes(one.wasted), count(one.copies), format!("\"{}\"", one.text.escape_debug())]);
        }
        print(&format!(
            "{} strings with {} arrays, {} different texts; {} wasted\n{}",
            count(strings.strings),
            count(strings.arrays),
            count(strings.distinct),
            bytes(strings.wasted),
            table.text("")
        ))
    })
}

/// `quipu heap collections FILE`.
pub fn collections(reading: &Reading, path: &Path, limit: Limit) -> anyhow::Result<u8> {
    opened(reading, path, |dump, _, bar, damage| {
        let rows = quipu_heap::collections(dump, bar).map_err(failed(path))?;
        let wasted: u64 = rows.iter().map(|row| row.wasted).sum();
        if reading.json {
            let rows: Vec<Json> = rows
                .iter()
                .take(limit.rows())
                .map(|row| {
                    json!({
                        "class": row.class, "collections": row.collections, "empty": row.empty, "single": row.single,
                        "elements": row.elements, "capacity": row.capacity, "wasted": row.wasted,
                    })
                })
                .collect();
            let metrics = ["collections", "empty", "single", "elements", "capacity", "wasted"];
            return print_json(&json!({
                "by": "class", "metrics": metrics, "rows": rows, "total": { "wasted": wasted }, "damage": damage_json(damage),
            }));
        }
        let rest = more(rows.len(), limit.rows());
        print(&format!("{}{rest}{} wasted\n", collection_table(&rows, limit.rows()).text(""), bytes(wasted)))
    })
}

/// Collections as a table.
pub fn collection_table(rows: &[quipu_heap::CollectionRow], limit: usize) -> Table {
    let mut table = Table::new(&["wasted", "collections", "empty", "single", "full", "class"]);
    for row in rows.iter().take(limit) {
        table.row(vec![
            bytes(row.wasted),
            count(row.collections),
            count(row.empty),
            count(row.single),
            percent(row.elements, row.capacity),
            name(&row.class),
        ]);
    }
    table
}

/// `quipu heap unreachable FILE`.
pub fn unreachable(reading: &Reading, path: &Path, limit: Limit) -> anyhow::Result<u8> {
    analysed(reading, path, |analysis, _, damage| {
        let (groups, reachable) = (analysis.unreachable(), analysis.reachable());
        if reading.json {
            let rows: Vec<Json> = groups
                .iter()
                .take(limit.rows())
                .map(|group| json!({ "class": group.name, "objects": group.objects, "bytes": group.bytes }))
                .collect();
            return print_json(&json!({
                "by": "class", "metrics": ["objects", "bytes"], "rows": rows,
                "total": { "objects": reachable.not.0, "bytes": reachable.not.1 },
                "weakly": { "objects": reachable.weakly.0, "bytes": reachable.weakly.1 },
                "damage": damage_json(damage),
            }));
        }
        let mut table = Table::new(&["objects", "bytes", "class"]);
        for group in groups.iter().take(limit.rows()) {
            table.row(vec![count(group.objects), count(group.bytes), name(&group.name)]);
        }
        print(&format!(
            "{}{}{} objects, {}, can be reached from no root; {} more, {}, through weak, soft or phantom references only\n",
            table.text(""),
            more(groups.len(), limit.rows()),
            count(reachable.not.0),
            bytes(reachable.not.1),
            count(reachable.weakly.0),
            bytes(reachable.weakly.1),
        ))
    })
}

/// Suspects that are told.
pub const SUSPECTS: usize = 3;

/// `quipu heap leaks FILE`.
pub fn leaks(reading: &Reading, path: &Path) -> anyhow::Result<u8> {
    analysed(reading, path, |analysis, bar, damage| {
        let suspects = quipu_heap::suspects(analysis, SUSPECTS, bar).map_err(failed(path))?;
        if reading.json {
            let rows: Vec<Json> = suspects.iter().map(suspect_json).collect();
            return print_json(&json!({
                "by": "suspect", "metrics": ["retained"], "rows": rows, "damage": damage_json(damage),
            }));
        }
        print(&suspects_text(&suspects))
    })
}

/// A suspect for programs.
pub fn suspect_json(suspect: &Suspect) -> Json {
    let held: Vec<Json> = suspect
        .held
        .iter()
        .map(|group| json!({ "class": group.name, "objects": group.objects, "retained": group.retained }))
        .collect();
    json!({
        "place": suspect.place(), "objects": suspect.objects, "retained": suspect.retained,
        "share": suspect.share,
        "holder": holder_json(&suspect.holder), "gathers": holder_json(&suspect.gathers), "held": held,
        "path": suspect.path.as_ref().map(|path| path_json(1, path)),
    })
}

/// Suspects for people.
pub fn suspects_text(suspects: &[Suspect]) -> String {
    if suspects.is_empty() {
        return "No object holds a tenth of the heap, nor do those of one class that no other holds: there is no leak that one place is to blame for.\n".to_owned();
    }
    let mut text = String::new();
    for (i, suspect) in suspects.iter().enumerate() {
        let place = name(&suspect.place());
        let who = match suspect.objects {
            1 => format!("{place} holds"),
            objects => {
                let class = name(&suspect.holder.class);
                format!("{} {class}, that of {place} first, together hold", count(objects))
            }
        };
        text.push_str(&format!(
            "{}. {who} {}, {:.1} % of the heap",
            i + 1,
            bytes(suspect.retained),
            suspect.share
        ));
        if let Some(most) = suspect.held.first() {
            text.push_str(&format!(", most of it in {} {}", count(most.objects), name(&most.name)));
        }
        text.push('\n');
        if let Some(path) = &suspect.path {
            text.push_str(&format!("   from a root ({}): {}\n", name(&path.root), name(&path.to_string())));
        }
        text.push_str(&format!(
            "   it comes together in {}, which directly holds:\n",
            holder_text(&suspect.gathers)
        ));
        for group in &suspect.held {
            text.push_str(&format!(
                "     {:>10}  {} {}\n",
                bytes(group.retained),
                count(group.objects),
                name(&group.name)
            ));
        }
        text.push_str(&format!(
            "   If that is more than it should be, look for what is put into {place} and never taken out.\n"
        ));
    }
    text
}

/// `quipu heap list FILE CLASS`.
pub fn list(
    reading: &Reading,
    path: &Path,
    class: &str,
    condition: Option<&str>,
    limit: Limit,
) -> anyhow::Result<u8> {
    let condition = condition.map(Condition::parse).transpose().map_err(Failure::usage)?;
    opened(reading, path, |dump, _, bar, damage| {
        let classes = classes(dump, class)?;
        let listing =
            quipu_heap::list(dump, &classes, condition.as_ref(), limit.rows(), bar).map_err(failed(path))?;
        let mut objects = Objects::new(dump);
        let mut rows = Vec::new();
        let mut text = String::new();
        for object in &listing.objects {
            let class = objects.class(object).name.clone();
            let summary = objects.summary(object);
            let fields: Vec<(String, Value)> =
                objects.fields(object).map(|(_, field, value)| (field.name.clone(), value)).collect();
            if reading.json {
                let fields: serde_json::Map<String, Json> =
                    fields.into_iter().rev().map(|(name, value)| (name, value_json(value))).collect();
                rows.push(json!({
                    "id": format!("{:#x}", object.id), "class": class, "bytes": object.size, "summary": summary, "fields": fields,
                }));
                continue;
            }
            text.push_str(&format!("{:#x} {}", object.id, name(&class)));
            match summary {
                Some(summary) => text.push_str(&format!(" {}", name(&summary))),
                None => {
                    let fields: Vec<String> = fields
                        .into_iter()
                        .map(|(field, value)| format!("{field} = {}", name(&value_text(&mut objects, value))))
                        .collect();
                    text.push_str(&format!(" {{ {} }}", fields.join(", ")));
                }
            }
            text.push('\n');
        }
        if reading.json {
            return print_json(&json!({
                "by": "object", "metrics": ["bytes"], "rows": rows,
                "total": { "objects": listing.matching }, "damage": damage_json(damage),
            }));
        }
        print(&format!("{text}{} objects\n", count(listing.matching)))
    })
}

fn value_json(value: Value) -> Json {
    match value {
        Value::Reference(0) => Json::Null,
        Value::Reference(id) => json!(format!("{id:#x}")),
        Value::Boolean(value) => json!(value),
        Value::Char(unit) => json!(String::from_utf16_lossy(&[unit])),
        Value::Integer(value) => json!(value),
        Value::Real(value) => json!(value),
    }
}

/// A value; for references what they refer to.
fn value_text(objects: &mut Objects<'_>, value: Value) -> String {
    let Value::Reference(id) = value else { return value.to_string() };
    match objects.with_id(id) {
        Ok(object) => {
            let class = objects.class(&object).name.clone();
            match objects.summary(&object) {
                Some(summary) if summary.starts_with('"') => summary,
                Some(summary) => format!("{class} {summary} {id:#x}"),
                None => format!("{class} {id:#x}"),
            }
        }
        Err(_) => value.to_string(),
    }
}

/// `quipu heap object FILE ID`.
pub fn object(reading: &Reading, path: &Path, id: u64, quick: bool, limit: Limit) -> anyhow::Result<u8> {
    opened(reading, path, |dump, opened, bar, damage| {
        let mut objects = Objects::new(dump);
        let object = objects.with_id(id).map_err(failed(path))?;
        let class = objects.class(&object).name.clone();
        let summary = objects.summary(&object);
        let mut inside: Vec<(String, Value)> = match object.contents {
            Contents::Class(class) => dump
                .classes()
                .get(class)
                .statics
                .iter()
                .map(|field| (format!("static {}", field.name), Value::of(field.kind, field.value)))
                .collect(),
            Contents::Instance(_) => objects
                .fields(&object)
                .map(|(owner, field, value)| match owner == object.class {
                    true => (field.name.clone(), value),
                    false => (format!("{} ({})", field.name, dump.classes().get(owner).name), value),
                })
                .collect(),
            Contents::Array { .. } => {
                let elements = objects.elements(&object, limit.rows() as u64);
                elements.into_iter().enumerate().map(|(i, value)| (format!("[{i}]"), value)).collect()
            }
        };
        inside.truncate(limit.rows().max(1));
        let mut holds = None;
        if !quick {
            let analysis = Analysis::new(dump, opened.scratch.as_ref(), bar).map_err(failed(path))?;
            let way = Paths::of(&analysis).to_ids(&[id], bar).map_err(failed(path))?.pop().flatten();
            let above = analysis.dominator_of(id).transpose().map_err(failed(path))?;
            holds = Some((analysis.retained_by(id), above, way));
        }
        if reading.json {
            let inside: Vec<Json> = inside
                .iter()
                .map(|(name, value)| json!({ "name": name, "value": value_json(*value) }))
                .collect();
            let mut answer = json!({
                "id": format!("{id:#x}"), "class": class, "bytes": object.size, "summary": summary, "fields": inside,
                "damage": damage_json(damage),
            });
            if let Some((retained, above, way)) = holds {
                answer["retained"] = json!(retained);
                answer["dominator"] = above.as_ref().map_or(Json::Null, holder_json);
                answer["path"] = way.as_ref().map_or(Json::Null, |path| path_json(1, path));
            }
            return print_json(&answer);
        }
        let mut text = format!("{} {id:#x}", name(&class));
        if let Some(summary) = summary {
            text.push_str(&format!(" {}", name(&summary)));
        }
        text.push_str(&format!("\n  {} itself", bytes(object.size)));
        if let Some((Some(retained), _, _)) = &holds {
            text.push_str(&format!(", {} with what it holds", bytes(*retained)));
        }
        text.push('\n');
        for (field, value) in inside {
            text.push_str(&format!("  {} = {}\n", name(&field), name(&value_text(&mut objects, value))));
        }
        if let Some((retained, above, way)) = &holds {
            match (retained, way) {
                (None, _) => text.push_str("It cannot be reached from a root: it is garbage, or held by weak or soft references only.\n"),
                (_, Some(path)) => {
                    text.push_str(&format!("It is alive through a root ({}):\n{}", name(&path.root), steps_text(path)));
                }
                _ => {}
            }
            if let Some(above) = above {
                text.push_str(&format!("It would be gone without {}\n", holder_text(above)));
            }
        }
        print(&text)
    })
}
