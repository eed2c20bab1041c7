//! What killed processes leave behind.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use quipu_e2e::{Command, Jdk, classes, on_every_jdk, scratch, tools};
use quipu_profile::Profile;

use crate::signals::{java, send, start};

/// A directory for arenas of this test alone.
struct Place(PathBuf);

impl Place {
    fn new() -> Place {
        Place(scratch("runtime"))
    }

    fn quipu(&self, arguments: &[&str]) -> String {
        let mut quipu = Command::new(&tools().quipu);
        quipu.args(arguments).env("XDG_RUNTIME_DIR", &self.0).current_dir(scratch("cwd"));
        let output = quipu.output().expect("it runs");
        let said =
            format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{arguments:?}: {said}");
        said
    }

    /// What `quipu ps` says was left behind.
    fn orphans(&self) -> Vec<PathBuf> {
        let listed: serde_json::Value = serde_json::from_str(&self.quipu(&["ps", "--json"])).expect("JSON");
        let orphans = listed["orphans"].as_array().expect("a list").iter();
        orphans.map(|path| PathBuf::from(path.as_str().expect("a path"))).collect()
    }

    /// Both `quipu run` and its target are killed; while the target runs, its arena is not left behind.
    fn kill_a_run(&self, jdk: &Jdk) {
        let mut quipu = Command::new(&tools().quipu);
        quipu.args(["run", "-o"]).arg(scratch("killed").join("out.quipu")).arg("--").args(java(jdk));
        let (mut child, _out) = start(quipu.env("XDG_RUNTIME_DIR", &self.0));
        let children =
            fs::read_to_string(format!("/proc/{0}/task/{0}/children", child.id())).expect("it is there");
        let target: u32 = children.trim().parse().expect("one child");
        let before = self.orphans().len();
        send("KILL", child.id());
        child.wait().expect("it ends");
        assert_eq!(self.orphans().len(), before, "it is still used");
        self.quipu(&["clean"]);
        assert_eq!(self.arenas(), 1, "it is still used");
        send("KILL", target);
        while Path::new(&format!("/proc/{target}")).exists() {
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    fn arenas(&self) -> usize {
        let runs = fs::read_dir(self.0.join("quipu")).expect("it is there").flatten();
        let inside = runs.flat_map(|run| fs::read_dir(run.path()).into_iter().flatten().flatten());
        inside.filter(|file| file.path().extension().is_some_and(|extension| extension == "arena")).count()
    }
}

#[test]
fn arenas_of_killed_runs_are_listed_read_and_removed() {
    on_every_jdk(|jdk| {
        let place = Place::new();
        place.kill_a_run(jdk);
        let [orphan] = &place.orphans()[..] else { panic!("{:?}", place.orphans()) };
        assert!(place.quipu(&["report", &orphan.display().to_string()]).contains("Told.work"));
        assert!(place.quipu(&["clean", "--dry-run"]).contains(&orphan.display().to_string()));
        assert!(orphan.exists());
        assert!(place.quipu(&["clean"]).contains(&orphan.display().to_string()));
        assert!(!orphan.exists() && place.orphans().is_empty());
        assert_eq!(fs::read_dir(place.0.join("quipu")).expect("it is there").count(), 0, "nothing is left");
    });
}

#[test]
fn old_ones_go_by_themselves() {
    on_every_jdk(|jdk| {
        let place = Place::new();
        place.kill_a_run(jdk);
        let orphans = place.orphans();
        let orphan = orphans.first().expect("one");
        let file = scratch("fresh").join("out.quipu").display().to_string();
        let (java, path) =
            (jdk.home.join("bin/java").display().to_string(), classes(jdk).display().to_string());
        let run = || place.quipu(&["run", "-o", &file, "--", &java, "-cp", &path, "Foo"]);
        run();
        assert!(orphan.exists(), "it is new");
        let long_ago = SystemTime::now() - Duration::from_secs(8 * 24 * 3600);
        File::open(orphan).and_then(|file| file.set_modified(long_ago)).expect("its time is set");
        let said = run();
        assert!(!orphan.exists() && said.contains("more than 7 days ago (1 "), "{said}");
        Profile::load(&file).expect("a profile");
    });
}
