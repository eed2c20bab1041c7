//! Listing real JVMs, of every JDK on this machine.

#[allow(dead_code, reason = "made for the tests of attaching, too")]
mod support;

use quipu_collector::jvms::{self, RunningJvm};
use std::time::Duration;
use support::each_jdk;

fn find(pid: u32) -> RunningJvm {
    jvms::list().into_iter().find(|jvm| jvm.pid == pid).expect("listed")
}

#[test]
fn described() {
    each_jdk(|jdk, program| {
        let jvm = program.start(&["-Dsome.thing=1"]);
        let found = find(jvm.pid());
        println!("{found:?}");
        assert_eq!(found.main.as_deref(), Some("Idle"));
        assert_eq!(found.arguments.as_deref(), Some("one two"));
        assert!(found.java_version.unwrap().starts_with(&jdk.feature.to_string()));
        assert_eq!(found.java_home.as_deref(), Some(jdk.home.as_path()));
        assert!(found.vm_name.unwrap().contains("VM"));
        assert!(found.vm_arguments.unwrap().contains("-Dsome.thing=1"));
        assert_eq!(found.uid, rustix::process::geteuid().as_raw());
        assert!(found.uid != 0 || found.user.as_deref() == Some("root"));
        assert!(found.uptime.unwrap() < Duration::from_secs(60));
        assert_eq!((found.attachable, found.accessible, found.namespace_pid), (Some(true), true, None));
    });
}

#[test]
fn without_performance_data() {
    each_jdk(|jdk, program| {
        let jvm = program.start(&["-XX:-UsePerfData"]);
        let found = find(jvm.pid());
        assert_eq!(found.main.as_deref(), Some("Idle"));
        assert!(found.java_version.unwrap().starts_with(&jdk.feature.to_string()));
        assert_eq!(found.java_home.as_deref(), Some(jdk.home.as_path()));
        assert_eq!((found.arguments, found.attachable), (None, None));
    });
}

#[test]
fn others_are_not_listed() {
    let sleep = support::Running::start(&["sleep".into(), "60".into()]);
    let listed = jvms::list();
    assert!(!listed.iter().any(|jvm| jvm.pid == sleep.pid() || jvm.pid == std::process::id()));
}
