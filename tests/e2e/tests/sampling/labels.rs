//! Programs that profile themselves, and say on whose behalf they work.

use quipu_e2e::{Command, Shares, Working, on_every_jdk, percent, scratch, tools};
use quipu_profile::Profile;

use crate::own_program::OwnProgram;

#[test]
fn a_program_switches_its_profile_on_and_off_and_labels_what_it_does() {
    on_every_jdk(|jdk| {
        let program = OwnProgram::compile(jdk, "Labelled");
        let file = scratch("labels").join("out.quipu");
        let mut quipu = Command::new(&tools().quipu);
        quipu.args(["run", "--idle", "-o"]).arg(&file).arg("--").arg(jdk.home.join("bin/java"));
        let output =
            quipu.arg("-cp").arg(&program.class_path).args(["Labelled", "200"]).output().expect("it runs");
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
        assert!(said.contains("refused: unknown") && said.ends_with("profiled\n"), "{said}");
        let profile = Profile::load(&file).expect("a profile");
        let cpu = Shares::of(&profile, "cpu");
        // It was not switched on before, nor after.
        assert_eq!(cpu.total("Labelled", "unseen"), 0);
        let under = |key: &str, value: &str| {
            let part = profile.select_label(key, value);
            Shares::of(&part, "cpu").total("Labelled", "work")
        };
        let (all, ann, bob) =
            (under("label", "checkout"), under("customer", "ann"), under("customer", "bob"));
        assert_eq!(ann + bob, all, "both were for the checkout");
        let share = percent(ann, all);
        assert!((share - 75.0).abs() <= 5.0, "{share} %");
        // What came after the labels were closed has none.
        let idle = cpu.total("Labelled", "idle");
        assert!((percent(idle, all) - 25.0).abs() <= 5.0, "{idle} of {all}");
        assert_eq!(
            Shares::of(&profile.select_label("label", "checkout"), "cpu").total("Labelled", "idle"),
            0
        );

        let mut report = Command::new(&tools().quipu);
        let output = report.arg("report").arg(&file).args(["--by", "label", "--metric", "cpu"]).output();
        let text = String::from_utf8(output.expect("it runs").stdout).expect("text");
        for row in ["label=checkout", "customer=ann", "customer=bob", "(no label)"] {
            assert!(text.contains(row), "no {row} in:\n{text}");
        }
    });
}

#[test]
fn without_an_agent_labels_do_nothing_and_starting_says_why() {
    on_every_jdk(|jdk| {
        let program = OwnProgram::compile(jdk, "Labelled");
        let mut java = Command::new(jdk.home.join("bin/java"));
        let output =
            java.arg("-cp").arg(&program.class_path).args(["Labelled", "1"]).output().expect("it runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && said.contains("Quipu's agent is not in this JVM"), "{said}");
    });
}

#[test]
fn a_report_can_be_cut_by_time() {
    on_every_jdk(|jdk| {
        let working = Working::start(jdk);
        let file = scratch("cut").join("out.quipu");
        let mut quipu = Command::new(&tools().quipu);
        quipu.args(["attach", &working.id(), "--cpu", "1000", "-d", "1", "-o"]).arg(&file);
        assert!(quipu.output().expect("it runs").status.success());
        crate::attached::finish(working);
        let sum = |more: &[&str]| {
            let mut report = Command::new(&tools().quipu);
            let report =
                report.arg("report").arg(&file).args(["--by", "thread", "--metric", "cpu", "--json"]);
            let output = report.args(more).output().expect("it runs");
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
            let rows = json["rows"].as_array().expect("rows").iter();
            rows.map(|row| row["cpu"]["self"].as_u64().expect("a number")).sum::<u64>()
        };
        let (first, second) = (sum(&["--to", "400ms"]), sum(&["--from", "0.4s"]));
        assert_eq!(first + second, sum(&[]));
        assert!(first > 0 && second > 0, "{first} {second}");
        assert_eq!(sum(&["--from", "100s"]), 0);
    });
}

#[test]
fn a_run_writes_a_file_every_so_often() {
    on_every_jdk(|jdk| {
        let directory = scratch("parts");
        let mut quipu = Command::new(&tools().quipu);
        quipu.args(["run", "--cpu", "1000", "--loop", "0.5", "-o"]).arg(directory.join("out.quipu"));
        quipu.arg("--").arg(jdk.home.join("bin/java")).arg("-cp").arg(quipu_e2e::classes(jdk));
        let output = quipu.args(["Burning", "400"]).output().expect("it runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let mut parts = Vec::new();
        while let Ok(part) = Profile::load(directory.join(format!("out-{:04}.quipu", parts.len() + 1))) {
            // The last may have nothing left to tell.
            let cpu = part.metric("cpu").map(|_| Shares::of(&part, "cpu"));
            parts.push(cpu.map_or(0, |cpu| cpu.total("Burning", "spin")));
        }
        // 1,600 ms on at most two processors; each file has its own part of it.
        assert!(parts.len() >= 2, "{parts:?}");
        let sum = parts.iter().sum::<u64>() as f64 / 1e6;
        assert!((sum - 1600.0).abs() <= 160.0, "{parts:?}");
    });
}
