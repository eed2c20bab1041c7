//! `quipu heap FILE`: what a person wants to know first.

use std::path::Path;

use quipu_heap::{Analysis, GroupBy, Paths};
use serde_json::{Value as Json, json};

use super::made::Made;
use super::open::{Reading, failed};
use super::table::{Table, bytes, count, name, percent};
use super::views::{
    SUSPECTS, collection_table, damage_json, group_table, holder_text, opened, suspect_json, suspects_text,
};
use super::{print, print_json};

/// Rows of each table.
const ROWS: usize = 10;
const BIGGEST: usize = 3;

/// Prints it.
pub fn print_summary(reading: &Reading, path: &Path, profile: Option<&Path>) -> anyhow::Result<u8> {
    let made = profile.map(Made::read).transpose()?;
    opened(reading, path, |dump, opened, bar, damage| {
        let analysis = Analysis::new(dump, opened.scratch.as_ref(), bar).map_err(failed(path))?;
        let classes = analysis.groups(GroupBy::Class, bar).map_err(failed(path))?;
        // Those that hold most, and those that take most.
        let mut named: Vec<String> = classes.iter().take(ROWS).map(|group| group.name.clone()).collect();
        for row in dump
            .histogram()
            .rows
            .iter()
            .take(ROWS)
            .filter(|row| !named.contains(&row.class))
            .collect::<Vec<_>>()
        {
            named.push(row.class.clone());
        }
        let suspects = quipu_heap::suspects(&analysis, SUSPECTS, bar).map_err(failed(path))?;
        let biggest = analysis.biggest(BIGGEST).map_err(failed(path))?;
        let ids: Vec<u64> = biggest.iter().map(|holder| holder.id).collect();
        let ways = Paths::of(&analysis).to_ids(&ids, bar).map_err(failed(path))?;
        let reachable = analysis.reachable();
        // The tables of the graph are not needed any more, and the next steps need room.
        drop(analysis);
        let strings = quipu_heap::strings(dump, ROWS, bar).map_err(failed(path))?;
        let collections = quipu_heap::collections(dump, bar).map_err(failed(path))?;
        let total = dump.histogram().bytes();
        let wasted: u64 = collections.iter().map(|row| row.wasted).sum();
        if reading.json {
            let group = |group: &quipu_heap::Group| json!({ "class": group.name, "objects": group.objects, "bytes": group.bytes, "retained": group.retained });
            let biggest: Vec<Json> = biggest
                .iter()
                .zip(&ways)
                .map(|(holder, way)| {
                    json!({
                        "id": format!("{:#x}", holder.id), "class": holder.class, "summary": holder.summary,
                        "retained": holder.retained, "path": way.as_ref().map(ToString::to_string),
                    })
                })
                .collect();
            let made = made.as_ref().map(|made| made.json(&named));
            return print_json(&json!({
                "made": made,
                "objects": dump.objects(), "bytes": total, "time": dump.time(),
                "reachable": { "objects": reachable.strongly.0, "bytes": reachable.strongly.1 },
                "weakly": { "objects": reachable.weakly.0, "bytes": reachable.weakly.1 },
                "unreachable": { "objects": reachable.not.0, "bytes": reachable.not.1 },
                "suspects": suspects.iter().map(suspect_json).collect::<Vec<_>>(),
                "classes": classes.iter().take(ROWS).map(group).collect::<Vec<_>>(),
                "biggest": biggest,
                "strings": {
                    "strings": strings.strings, "distinct": strings.distinct, "wasted": strings.wasted,
                    "duplicates": strings.duplicates.iter()
                        .map(|one| json!({ "text": one.text, "copies": one.copies, "wasted": one.wasted }))
                        .collect::<Vec<_>>(),
                },
                "collections": { "wasted": wasted, "rows": collections.iter().take(ROWS)
                    .map(|row| json!({ "class": row.class, "collections": row.collections, "empty": row.empty, "wasted": row.wasted }))
                    .collect::<Vec<_>>() },
                "damage": damage_json(damage),
            }));
        }
        let layout = dump.layout();
        let mut text = format!(
            "{}: {} objects, {} ({}-byte references, headers of {} bytes)\n",
            path.display(),
            count(dump.objects()),
            bytes(total),
            layout.reference,
            layout.header,
        );
        text.push_str(&format!(
            "  {} held from roots; {} through weak, soft or phantom references only; {} garbage\n\n",
            bytes(reachable.strongly.1),
            bytes(reachable.weakly.1),
            bytes(reachable.not.1)
        ));
        text.push_str(&format!("Leak suspects\n{}\n", suspects_text(&suspects)));
        text.push_str(&format!(
            "Classes by what they hold\n{}\n",
            group_table("class", &classes, reachable.strongly.1, ROWS).text("  ")
        ));
        if let Some(made) = &made {
            text.push_str(&format!("Where they are made\n{}\n", made.text(&named)));
        }
        text.push_str("The biggest objects\n");
        for (holder, way) in biggest.iter().zip(&ways) {
            let share = percent(holder.retained, reachable.strongly.1);
            text.push_str(&format!("  {} ({share})  {}\n", bytes(holder.retained), holder_text(holder)));
            if let Some(way) = way {
                text.push_str(&format!(
                    "    from a root ({}): {}\n",
                    name(&way.root),
                    name(&way.to_string())
                ));
            }
        }
        let mut table = Table::new(&["wasted", "copies", "text"]);
        for one in strings.duplicates.iter().take(ROWS / 2) {
            table.row(vec![bytes(one.wasted), count(one.copies), format!("\"{}\"", one.text.escape_debug())]);
        }
        text.push_str(&format!(
            "\nDuplicate strings: {} of {} strings have a text that another has, too; {} wasted\n{}",
            count(strings.arrays.saturating_sub(strings.distinct)),
            count(strings.strings),
            bytes(strings.wasted),
            table.text("  ")
        ));
        text.push_str(&format!(
            "\nCollections: {} of room that nothing is in\n{}",
            bytes(wasted),
            collection_table(&collections, ROWS / 2).text("  ")
        ));
        text.push_str("\nMore: quipu heap dominators|paths|strings|collections|list|object FILE\n");
        print(&text)
    })
}
