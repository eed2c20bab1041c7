//! Hash codes and random numbers are the same in each run of a test, whatever was hashed and drawn before it.

use quipu_e2e::on_every_jdk_since;

use crate::OF_THE_PROJECT;
use crate::project::Project;

const TESTS: usize = 14;

#[test]
fn chance_is_the_same_each_time() {
    on_every_jdk_since(OF_THE_PROJECT, |jdk| {
        let project = Project::new(jdk);
        project.write("src/test/java/com/acme/ChanceTest.java", include_str!("ChanceTest.java"));
        project.write("src/test/java/com/acme/EarlierTest.java", include_str!("EarlierTest.java"));
        project.compile();
        let numbers = |file: &str, selected: &[&str]| {
            let made = project.test_selected(&["--update", "--once", "--baseline", file], selected);
            assert_eq!(made.status, Some(0), "{}", made.said);
            project.read(file)
        };
        let all = numbers("all.txt", &["-c", "com.acme.ChanceTest"]);
        assert_eq!(all.matches("com.acme.ChanceTest.").count(), TESTS, "{all}");
        assert_eq!(numbers("again.txt", &["-c", "com.acme.ChanceTest"]), all);
        let after = numbers("after.txt", &["-c", "com.acme.EarlierTest", "-c", "com.acme.ChanceTest"]);
        assert!(after.contains("com.acme.EarlierTest."), "{after}");
        let of_chance = |text: &str| {
            let lines = text.lines().filter(|line| line.starts_with("com.acme.ChanceTest."));
            lines.map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(of_chance(&after), of_chance(&all), "whatever ran before");
    });
}
