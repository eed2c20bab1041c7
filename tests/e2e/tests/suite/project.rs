//! A copy of the sample project, for one JDK.

use std::fs;
use std::path::{Path, PathBuf};

use quipu_e2e::{Command, Jdk, library, scratch, tools};

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

    /// One without any sources.
    pub fn empty(jdk: &Jdk) -> Project {
        let folder = scratch("project");
        for sources in ["src/main/java/com/acme", "src/test/java/com/acme"] {
            fs::create_dir_all(folder.join(sources)).expect("a directory below target");
        }
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

    /// `quipu test … -- java …` with JUnit's console launcher, as Gradle's workers and IDEs start JUnit: in a JVM that
    /// has it on its class path. Compiles what is there first.
    pub fn test_without_maven(&self, options: &[&str]) -> Outcome {
        self.test_in_console(options, &[])
    }

    /// The same, with settings of JUnit.
    pub fn test_in_console(&self, options: &[&str], settings: &[&str]) -> Outcome {
        self.compile();
        let mut arguments = vec!["--scan-class-path"];
        settings.iter().for_each(|setting| arguments.extend(["--config", setting]));
        self.test_selected(options, &arguments)
    }

    /// The same for what was compiled already, and for chosen tests.
    pub fn test_selected(&self, options: &[&str], selected: &[&str]) -> Outcome {
        let (console, java) = (console(), self.jdk.home.join("bin/java"));
        let mut arguments = vec!["test"];
        arguments.extend(options);
        arguments.extend(["--", java.to_str().expect("a path in UTF-8"), "-jar", &console, "execute"]);
        arguments.extend(["-cp", "classes", "--details=none", "--disable-banner"]);
        arguments.extend(selected);
        self.quipu(&arguments)
    }

    /// Compiles what is there for the console launcher.
    pub fn compile(&self) {
        let classes = self.folder.join("classes");
        let _ = fs::remove_dir_all(&classes);
        // JDK 8 does not make it.
        fs::create_dir_all(&classes).expect("a directory below target");
        let mut javac = Command::new(self.jdk.home.join("bin/javac"));
        javac.args(["-g", "-parameters", "-cp", &console(), "-d"]).arg(&classes).current_dir(&self.folder);
        for folder in ["src/main/java/com/acme", "src/test/java/com/acme"] {
            let files = fs::read_dir(self.folder.join(folder)).expect("sources").flatten().map(|e| e.path());
            javac.args(files.filter(|file| file.extension().is_some_and(|extension| extension == "java")));
        }
        let output = javac.output().expect("javac runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    /// Any command, in the project's folder.
    pub fn quipu(&self, arguments: &[&str]) -> Outcome {
        let mut quipu = Command::new(&tools().quipu);
        quipu.args(arguments);
        self.outcome(quipu)
    }

    /// Runs a program in the project's folder, with its JDK.
    pub fn outcome(&self, mut quipu: Command) -> Outcome {
        quipu.current_dir(&self.folder).env("JAVA_HOME", &self.jdk.home);
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

/// JUnit's console launcher.
pub fn console() -> String {
    let jar = library("org.junit.platform:junit-platform-console-standalone:1.13.4");
    jar.to_str().expect("a path in UTF-8").to_owned()
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
