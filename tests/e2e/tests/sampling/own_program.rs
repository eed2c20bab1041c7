//! A program that is compiled against Quipu's API.

use std::ffi::OsString;
use std::path::Path;

use quipu_e2e::{Command, Jdk, scratch, tools};

/// The program, ready to run.
pub struct OwnProgram {
    /// Its classes and the API's jar.
    pub class_path: OsString,
}

impl OwnProgram {
    /// Compiles `tests/own/NAME.java`.
    pub fn compile(jdk: &Jdk, name: &str) -> OwnProgram {
        let directory = scratch("own");
        let (jar, classes) = (directory.join("api.jar"), directory.join("classes"));
        // Old compilers want it to be there.
        std::fs::create_dir_all(&classes).expect("a directory");
        let made =
            Command::new(&tools().quipu).args(["agent-api", "-o"]).arg(&jar).output().expect("it runs");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../own/{name}.java"));
        let mut javac = Command::new(jdk.home.join("bin/javac"));
        let output =
            javac.arg("-cp").arg(&jar).arg("-d").arg(&classes).arg(source).output().expect("javac runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let mut class_path = classes.into_os_string();
        class_path.push(":");
        class_path.push(jar);
        OwnProgram { class_path }
    }
}
