//! Questions to a JVM that runs, without a dump.

use quipu_e2e::{Command, Working, on_every_jdk, scratch, tools};

use crate::support::{heap, json, text};

#[test]
fn a_jvm_tells_who_holds_objects() {
    on_every_jdk(|jdk| {
        let program = Working::start_program(jdk, "Leaking");
        let pid = program.id();
        let classes = |row: &serde_json::Value| -> Vec<String> {
            let steps = row["steps"].as_array().expect("steps").iter();
            steps.map(|step| step["class"].as_str().expect("a class").to_owned()).collect()
        };
        // Twice: what the first time left behind must not matter.
        for _ in 0..2 {
            let paths = json(&["paths", &pid, "Leaking$Session", "--pause", "100"]);
            assert_eq!(
                (&paths["instances"], &paths["looked_at"], &paths["reached"]),
                (&50_000.into(), &8.into(), &8.into())
            );
            let row = &paths["rows"][0];
            assert_eq!(row["root"], "static Leaking.SESSIONS", "{row}");
            assert_eq!(
                classes(row),
                [
                    "java.util.HashMap",
                    "java.util.HashMap$Node[]",
                    "java.util.HashMap$Node",
                    "Leaking$Session"
                ]
            );
            assert_eq!(row["steps"][0]["by"], "table");
            assert!(
                paths["cost"]["walks"].as_u64() >= Some(4)
                    && paths["cost"]["paused_seconds"].as_f64() > Some(0.0)
            );
        }
        let refs = json(&["refs", &pid, "Leaking$Session", "--pause", "100"]);
        let from = |class: &str, by: &str| {
            let rows = refs["rows"].as_array().expect("rows").iter();
            rows.filter(|row| row["class"] == class && row["by"] == by)
                .map(|row| row["references"].as_u64().unwrap())
                .sum::<u64>()
        };
        assert_eq!(from("java.util.HashMap$Node", "value"), 50_000, "{refs}");
        assert_eq!(from("java.lang.ref.WeakReference", "referent"), 500, "{refs}");

        // A profile is taken while questions are asked, and after them.
        let profile = scratch("with-heap").join("x.quipu");
        let mut attach = Command::new(&tools().quipu);
        let attached = attach.args(["attach", &pid, "--exact", "-d", "2", "-o", text(&profile)]).spawn();
        let refs_meanwhile = json(&["refs", &pid, "Leaking$Order", "--pause", "100"]);
        assert_eq!(refs_meanwhile["rows"][0]["references"], 1_000);
        assert!(attached.unwrap().wait().unwrap().success());

        let nothing = heap(&["paths", &pid, "com.acme.Nothing"]);
        assert_eq!(nothing.status.code(), Some(3));
        assert!(String::from_utf8_lossy(&nothing.stderr).contains("no class 'com.acme.Nothing' is loaded"));
        // No time is no answer, and the program goes on.
        let hasty = json(&["paths", &pid, "Leaking$Session", "--pause", "0"]);
        assert_eq!(hasty["cost"]["stopped"][0], "time is up");
        program.finish();
    });
}

/// A JVM tells where it makes what it keeps, by class, and so does a profile.
#[test]
fn a_jvm_tells_where_it_makes_what_it_keeps() {
    on_every_jdk(|jdk| {
        let program = Working::start_program(jdk, "Survives");
        let sites = |arguments: &[&str]| heap(&[&["sites"], arguments, &["--json", "--limit", "0"]].concat());
        let output = sites(&[&program.id(), "-d", "1.5"]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        if jdk.feature < 11 {
            assert_eq!(output.status.code(), Some(3), "{said}");
            assert!(said.contains("--live needs Java 11"), "{said}");
            program.finish();
            return;
        }
        assert!(output.status.success(), "{said}");
        let found: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let rows = found["rows"].as_array().expect("rows").iter();
        let kept: Vec<_> = rows.filter(|row| row["class"] == "Survives$Kept").collect();
        let [kept] = kept[..] else { panic!("{found}") };
        assert!(kept["live.bytes"].as_u64() > Some(0), "{kept}");
        let site = &kept["sites"][0];
        assert_eq!((&site["class"], &site["method"]), (&"Survives".into(), &"keep".into()), "{kept}");
        program.finish();
    });
}
