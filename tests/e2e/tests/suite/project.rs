//! A copy of the sample project, for one JDK.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use quipu_e2e::{Jdk, scratch, tools};

/// The project.
pub struct Project {
    folder: PathBuf,
    jdk: Jdk,
}

/// What came of `quipu test`.
pub struct Outcome {
    pub status: Option<i32>,
    /// Standard output.
    pub out: String,
    /// All that was printed, for messages.
    pub said: String,
}

impl Project {
    pub fn new(jdk: &Jdk) -> Project {
        let folder = scratch("project");
        copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suite/project"), &folder);
        Project { folder, jdk: jdk.clone() }
    }

    pub fn read(&self, file: &str) -> String {
        fs::read_to_string(self.folder.join(file)).expect(file)
    }

    pub fn write(&self, file: &str, text: &str) {
        fs::write(self.folder.join(file), text).expect(file);
    }

    /// Replaces texts in a file, each there once; the line of the first one.
    pub fn edit(&self, file: &str, changes: &[(&str, &str)]) -> usize {
        let mut text = self.read(file);
        let line =
            changes.first().and_then(|(from, _)| text.find(from)).map_or(0, |at| text[..at].lines().count());
        for (from, to) in changes {
            assert_eq!(text.matches(from).count(), 1, "{from} in {file}");
            text = text.replace(from, to);
        }
        self.write(file, &text);
        line
    }

    /// `quipu test … -- mvn test`.
    pub fn test(&self, options: &[&str]) -> Outcome {
        self.test_with(options, &[])
    }

    /// `quipu test … -- mvn test …`.
    pub fn test_with(&self, options: &[&str], maven: &[&str]) -> Outcome {
        let mut arguments = vec!["test"];
        arguments.extend(options);
        arguments.extend(["--", "mvn", "-q", "-B", "test"]);
        arguments.extend(maven);
        self.quipu(&arguments)
    }

    /// Any command, in the project's folder.
    pub fn quipu(&self, arguments: &[&str]) -> Outcome {
        let mut quipu = Command::new(&tools().quipu);
        quipu.args(arguments).current_dir(&self.folder).env("JAVA_HOME", &self.jdk.home);
        quipu.env_remove("JAVA_TOOL_OPTIONS").env_remove("JDK_JAVA_OPTIONS");
        // Maven's own JVM need not be as steady as those that run tests.
        quipu.env("MAVEN_OPTS", "-Xshare:auto -XX:TieredStopAtLevel=1 -XX:+UseSerialGC");
        let output = quipu.output().expect("quipu runs");
        let out = String::from_utf8_lossy(&output.stdout).into_owned();
        let err = String::from_utf8_lossy(&output.stderr).into_owned();
        let said = format!("JDK {}\n{out}\n{err}", self.jdk.feature);
        Outcome { status: output.status.code(), out, said }
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a directory below target");
    for entry in fs::read_dir(from).expect("the project").flatten() {
        let (path, into) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() {
            copy(&path, &into);
        } else {
            fs::copy(&path, &into).expect("a file can be copied");
        }
    }
}
