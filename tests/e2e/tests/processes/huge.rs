//! Methods that inserted code makes longer than HotSpot compiles: it is told to compile them as long as that code is there.

use quipu_e2e::{Command, Jdk, Working, on_every_jdk, scratch, tools};

use crate::abandoned::{attach, kill, wait_until_left};

/// Whether the VM compiles no long methods.
fn is_left_out(jdk: &Jdk, program: &Working) -> bool {
    let mut jcmd = Command::new(jdk.home.join("bin/jcmd"));
    let output = jcmd.args([&program.id(), "VM.flags", "-all"]).output().expect("jcmd runs");
    let flags = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = flags.lines().find(|line| line.contains(" DontCompileHugeMethods ")).expect("it has the flag");
    // Older releases write `:=` for what was changed.
    line.split('=').nth(1).expect("a value").trim_start().starts_with("true")
}

fn ctl(program: &Working, arguments: &[&str]) {
    let mut quipu = Command::new(&tools().quipu);
    let output = quipu.args(["ctl", &program.id()]).args(arguments).output().expect("it runs");
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn long_methods_are_compiled_as_long_as_code_is_inserted() {
    on_every_jdk(|jdk| {
        let program = Working::start_program(jdk, "Huge");
        assert!(is_left_out(jdk, &program));
        let attached = attach(&program, &["--exact", "--alloc", "all"]);
        assert!(!is_left_out(jdk, &program));
        ctl(&program, &["stop", "exact"]);
        assert!(!is_left_out(jdk, &program), "what makes objects is still counted");
        ctl(&program, &["stop", "alloc"]);
        assert!(is_left_out(jdk, &program));
        ctl(&program, &["start", "bytecodes"]);
        assert!(!is_left_out(jdk, &program));
        kill(attached);
        wait_until_left(&program);
        assert!(is_left_out(jdk, &program));
        program.finish();
    });
}

#[test]
fn a_vm_that_compiles_long_methods_anyhow_goes_on_to() {
    on_every_jdk(|jdk| {
        let program = Working::start_with(jdk, &["-XX:-DontCompileHugeMethods"], "Huge");
        kill(attach(&program, &["--exact"]));
        wait_until_left(&program);
        assert!(!is_left_out(jdk, &program));
        program.finish();
    });
}

/// An image has the agent, and none of the flags that `quipu run` adds.
#[test]
fn an_agent_in_an_image_has_long_methods_compiled() {
    on_every_jdk(|jdk| {
        let library = tools().quipu.with_file_name("libquipu_agent.so");
        let agent = format!("-agentpath:{}=exact,dir={}", library.display(), scratch("image").display());
        let program = Working::start_with(jdk, &[&agent], "Huge");
        assert!(!is_left_out(jdk, &program));
        program.finish();
    });
}
