//! What an attach measures if nobody says what, and what is said of the cost.

use std::process::Output;

use quipu_e2e::{Command, Working, on_every_jdk, scratch, tools};
use quipu_profile::Profile;

fn attach(working: &Working, options: &[&str]) -> (Output, Result<Profile, String>) {
    let file = scratch("default").join("out.quipu");
    let mut quipu = Command::new(&tools().quipu);
    quipu.args(["attach", &working.id(), "-d", "1"]).args(options).arg("-o").arg(&file);
    (quipu.output().expect("it runs"), Profile::load(file).map_err(|error| error.to_string()))
}

fn metrics(profile: &Profile) -> Vec<&str> {
    profile.metrics().iter().map(|metric| metric.name()).collect()
}

#[test]
fn an_attach_without_a_kind_samples() {
    on_every_jdk(|jdk| {
        let working = Working::start(jdk);
        let (output, profile) = attach(&working, &[]);
        let said = String::from_utf8_lossy(&output.stderr);
        let profile = profile.unwrap_or_else(|error| panic!("{error}: {said}"));
        assert!(metrics(&profile).contains(&"cpu") && !metrics(&profile).contains(&"calls"), "{said}");
        assert!(!said.contains("slower"), "{said}");
        working.finish();
    });
}

#[test]
fn what_is_dear_is_said_to_be_before_it_begins() {
    on_every_jdk(|jdk| {
        let working = Working::start(jdk);
        for kind in
            [&["--exact"][..], &["--exact", "--contexts", "none"], &["--bytecodes"], &["--exact", "--cpu"]]
        {
            let (output, profile) = attach(&working, kind);
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(profile.is_ok(), "{said}");
            let (cost, begun) = (said.find("slower"), said.find("quipu: profiling "));
            assert!(cost.is_some() && cost < begun, "{said}");
        }
        working.finish();
    });
}

#[test]
fn options_of_exact_counts_do_not_make_an_attach_exact() {
    on_every_jdk(|jdk| {
        let working = Working::start(jdk);
        let (output, _) = attach(&working, &["--include", "com.acme"]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("--include") && said.contains("--exact"), "{said}");
        working.finish();
    });
}
