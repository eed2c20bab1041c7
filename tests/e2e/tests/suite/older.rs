//! `quipu test` on JDKs that the sample project is too new for.

use quipu_e2e::on_all_jdks;

use crate::OF_THE_PROJECT;
use crate::project::Project;

const SUMS: &str = "package com.acme;
final class Sums {
    static int of(int n) {
        int sum = 0;
        for (int i = 0; i < n; i++) {
            sum += i;
        }
        return sum;
    }
}
";

const TESTS: &str = "package com.acme;
import static org.junit.jupiter.api.Assertions.assertEquals;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;
class OlderTest {
    @Test
    void adds() {
        assertEquals(499500, Sums.of(1000));
    }
    @Test
    void shufflesAndHashes() {
        List<Object> list = new ArrayList<>();
        for (int i = 0; i < 300; i++) {
            list.add(new Object());
        }
        Collections.shuffle(list);
        Set<Object> set = new HashSet<>(list);
        assertEquals(300, set.size());
    }
}
";

#[test]
fn older_jdks_count_the_same_each_time_and_a_changed_line_is_named() {
    on_all_jdks(|jdk| {
        if jdk.feature >= OF_THE_PROJECT {
            return;
        }
        let project = Project::empty(jdk);
        project.write("src/main/java/com/acme/Sums.java", SUMS);
        project.write("src/test/java/com/acme/OlderTest.java", TESTS);
        let made = project.test_without_maven(&["--update"]);
        assert_eq!(made.status, Some(0), "{}", made.said);
        let baseline = project.read("quipu-tests.txt");
        assert_eq!(baseline.matches("com.acme.OlderTest.").count(), 2, "{baseline}");
        assert!(!baseline.contains("unstable"), "{baseline}");
        let again = project.test_without_maven(&["--update", "--once", "--baseline", "again.txt"]);
        assert_eq!(again.status, Some(0), "{}", again.said);
        assert_eq!(project.read("again.txt"), baseline, "JDK {}", jdk.feature);
        let line = project.edit("src/main/java/com/acme/Sums.java", &[("sum += i;", "sum += -(-i);")]);
        let failed = project.test_without_maven(&[]);
        assert_eq!(failed.status, Some(1), "{}", failed.said);
        let place = format!("com.acme.Sums.of (Sums.java:{line})");
        assert!(failed.out.contains(&place), "{}", failed.said);
    });
}
