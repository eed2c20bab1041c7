//! Attaching to real JVMs, of every JDK on this machine.

mod support;

use quipu_collector::attach::{Attach, AttachError, Request, Target};
use rustix::process::Signal;
use std::path::Path;
use std::time::Duration;
use support::{Program, Running, assert_nothing_left, each_jdk, is_root, jdks};

fn attach(target: &Target) -> Attach<'_> {
    Attach::new(target).with_timeout(Duration::from_secs(30))
}

#[test]
fn commands() {
    each_jdk(|jdk, program| {
        let jvm = program.start(&[]);
        let target = Target::find(jvm.pid()).unwrap();
        assert!(target.shares_our_files());
        let attach = attach(&target);
        let version = attach.jcmd("VM.version").unwrap();
        assert!(version.contains(&format!("JDK {}", jdk.feature)), "{version}");
        assert_nothing_left(jvm.pid());
        let properties = attach.run(&Request::properties()).unwrap();
        assert!(properties.contains(&format!("java.specification.version={}", jdk.feature)));
        assert!(attach.run(&Request::agent_properties()).unwrap().contains("sun.java.command=Idle"));
        assert!(attach.run(&Request::thread_dump()).unwrap().contains("Idle.main"));
        let dump = program.folder.path().join("heap.hprof");
        attach.run(&Request::dump_heap(dump.as_os_str().as_encoded_bytes(), true)).unwrap();
        assert!(std::fs::read(dump).unwrap().starts_with(b"JAVA PROFILE 1.0.2\0"));

        let error = attach.jcmd("No.such_command").unwrap_err();
        assert!(matches!(&error, AttachError::Command { status: 1.. | ..=-1, .. }), "{error}");
        let error = attach.run(&Request::other("nonsense", [b"", b"", b""])).unwrap_err();
        assert!(error.to_string().contains("nonsense"), "{error}");
        assert_eq!(jvm.end(), "", "no thread dump");
    });
}

#[test]
fn agents() {
    each_jdk(|jdk, program| {
        let jvm = program.start(&[]);
        let target = Target::find(jvm.pid()).unwrap();
        let missing = attach(&target).load_agent(Path::new("/no/such/agent.so"), "").unwrap_err();
        println!("{missing}");
        assert!(
            matches!(&missing, AttachError::AgentNotLoaded { reason, .. } if reason.contains("/no/such/agent.so"))
        );
        let no_agent = jdk.home.join("lib/libzip.so");
        if no_agent.exists() {
            let error = attach(&target).load_agent(&no_agent, "").unwrap_err();
            println!("{error}");
            assert!(matches!(&error, AttachError::AgentNotLoaded { .. }), "{error:?}");
        }
        let agent = program.agent();
        attach(&target).load_agent(&agent, "").unwrap();
        attach(&target).load_agent(&agent, "return=0").unwrap();
        for code in [1, -7, 102] {
            let error = attach(&target).load_agent(&agent, &format!("return={code}")).unwrap_err();
            assert!(
                matches!(error, AttachError::AgentRefused { code: found, .. } if found == code),
                "{error:?}"
            );
        }
        let slow = Attach::new(&target).with_timeout(Duration::from_millis(200));
        let error = slow.load_agent(&agent, "sleep").unwrap_err();
        assert!(matches!(error, AttachError::NoAnswer { .. }), "{error:?}");
        // The listener finds nobody to answer to, and goes on.
        attach(&target).jcmd("VM.version").unwrap();
        let long = "x".repeat(2000);
        assert!(matches!(attach(&target).load_agent(&agent, &long), Err(AttachError::Request { .. })));
    });
}

#[test]
fn agents_forbidden() {
    each_jdk(|_, program| {
        let jvm = program.start(&["-XX:-EnableDynamicAgentLoading"]);
        let target = Target::find(jvm.pid()).unwrap();
        let error = attach(&target).load_agent(Path::new("/no/such/agent.so"), "").unwrap_err();
        assert!(matches!(error, AttachError::AgentsForbidden { .. }), "{error:?}");
    });
}

#[test]
fn attaching_disabled() {
    each_jdk(|_, program| {
        for more in [&[][..], &["-XX:-UsePerfData"]] {
            let jvm = program.start(&[&["-XX:+DisableAttachMechanism"], more].concat());
            let target = Target::find(jvm.pid()).unwrap();
            let error = attach(&target).jcmd("VM.version").unwrap_err();
            assert!(matches!(error, AttachError::Disabled { .. }), "{error:?}");
            assert_eq!(jvm.end(), "", "no thread dump");
        }
    });
}

/// With `-Xrs` SIGQUIT would end the JVM; its listener runs from the start instead.
#[test]
fn reduced_signals() {
    each_jdk(|_, program| {
        let mut jvm = program.start(&["-Xrs"]);
        let target = Target::find(jvm.pid()).unwrap();
        attach(&target).jcmd("VM.version").unwrap();
        assert!(jvm.is_alive());
    });
}

/// From the moment its VM is mapped, a JVM survives being attached to: no signal before it can take one.
#[test]
fn while_it_starts() {
    each_jdk(|_, program| {
        for _ in 0..5 {
            let mut jvm = Running::start(&program.command_line(&[]));
            let target = loop {
                match Target::find(jvm.pid()) {
                    Ok(target) => break target,
                    Err(AttachError::NotAJvm { .. }) => {}
                    Err(error) => panic!("{error}"),
                }
            };
            attach(&target).jcmd("VM.version").unwrap();
            assert!(jvm.is_alive());
            assert_nothing_left(jvm.pid());
        }
    });
}

/// A VM that starts takes the socket that it has just made for one of an earlier process, and removes it.
#[test]
fn without_the_socket_that_it_made() {
    each_jdk(|_, program| {
        let jvm = program.start(&[]);
        let target = Target::find(jvm.pid()).unwrap();
        let socket = std::path::PathBuf::from(format!("/tmp/.java_pid{}", jvm.pid()));
        std::thread::scope(|scope| {
            let removed = scope.spawn(|| {
                let until = std::time::Instant::now() + Duration::from_secs(20);
                while std::fs::remove_file(&socket).is_err() && std::time::Instant::now() < until {}
            });
            attach(&target).jcmd("VM.version").unwrap();
            removed.join().unwrap();
        });
        attach(&target).jcmd("VM.version").unwrap();
        assert_eq!(jvm.end(), "", "no thread dump");
    });
}

#[test]
fn stopped() {
    each_jdk(|_, program| {
        let jvm = program.start(&[]);
        let target = Target::find(jvm.pid()).unwrap();
        let hasty = Attach::new(&target).with_timeout(Duration::from_millis(300));
        // First without a listener, then with one that cannot answer, more often than its queue is long.
        for round in 0..10 {
            jvm.stop();
            let error = hasty.jcmd("VM.version").unwrap_err();
            assert!(matches!(error, AttachError::Stopped { .. }), "round {round}: {error:?}");
            assert_nothing_left(jvm.pid());
            if round == 0 || round == 9 {
                jvm.signal(Signal::CONT);
                attach(&target).jcmd("VM.version").unwrap();
            }
        }
        assert_eq!(jvm.end(), "", "no thread dump");
    });
}

#[test]
fn not_a_jvm() {
    let mut sleep = Running::start(&["sleep".into(), "60".into()]);
    // A new process goes by its parent's name until it has become another program.
    while std::fs::read_to_string(format!("/proc/{}/comm", sleep.pid())).unwrap() != "sleep\n" {
        std::thread::yield_now();
    }
    let error = Target::find(sleep.pid()).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("process {} (sleep) is not a JVM; `quipu ps` lists the JVMs", sleep.pid())
    );
    std::thread::sleep(Duration::from_millis(100));
    assert!(sleep.is_alive());
    assert_nothing_left(sleep.pid());
}

#[test]
fn nobody_there() {
    let pid = {
        let mut ended = Running::start(&["true".into()]);
        ended.child.wait().unwrap();
        ended.pid()
    };
    for pid in [pid, 0, u32::MAX] {
        let error = Target::find(pid).unwrap_err();
        assert!(matches!(error, AttachError::NoSuchProcess { .. }), "{error:?}");
    }
}

#[test]
fn ended_meanwhile() {
    each_jdk(|_, program| {
        let jvm = program.start(&[]);
        let target = Target::find(jvm.pid()).unwrap();
        drop(jvm);
        let error = attach(&target).jcmd("VM.version").unwrap_err();
        assert!(matches!(error, AttachError::Ended { .. }), "{error:?}");
    });
}

const NOBODY: &str = "65534";

fn as_nobody(line: Vec<String>) -> Vec<String> {
    let mut all: Vec<String> =
        ["setpriv", "--reuid", NOBODY, "--regid", NOBODY, "--clear-groups"].map(str::to_owned).into();
    all.extend(line);
    all
}

#[test]
fn another_users_jvm_as_root() {
    if !is_root() {
        println!("skipped: needs root to start a JVM as another user");
        return;
    }
    each_jdk(|_, program| {
        let jvm = Running::start(&as_nobody(program.command_line(&[]))).ready();
        let target = Target::find(jvm.pid()).unwrap();
        assert_eq!(target.uid().to_string(), NOBODY);
        attach(&target).jcmd("VM.version").unwrap();
        attach(&target).load_agent(&program.agent(), "").unwrap();
        assert_nothing_left(jvm.pid());
        assert!(is_root(), "we are ourselves again");
        assert_eq!(jvm.end(), "", "no thread dump");
    });
}

const VICTIM: &str = "QUIPU_TEST_VICTIM";

#[test]
fn roots_jvm_as_another_user() {
    if !is_root() {
        println!("skipped: needs root to become another user");
        return;
    }
    each_jdk(|_, program| {
        let mut jvm = program.start(&[]);
        // This test's own program, where the other user can reach it.
        let copy = program.folder.path().join("attacker");
        std::fs::copy(std::env::current_exe().unwrap(), &copy).unwrap();
        let line = [copy.to_str().unwrap(), "--exact", "attacker", "--ignored", "--nocapture"];
        let line = as_nobody(line.map(str::to_owned).into());
        let mut attacker = quipu_e2e::Command::new(&line[0]);
        let output =
            attacker.args(&line[1..]).env(VICTIM, jvm.pid().to_string()).current_dir("/").output().unwrap();
        println!("{}", String::from_utf8_lossy(&output.stdout));
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert!(jvm.is_alive());
        assert_nothing_left(jvm.pid());
    });
}

#[test]
#[ignore = "run by roots_jvm_as_another_user, as that user"]
fn attacker() {
    let pid = std::env::var(VICTIM).unwrap().parse().unwrap();
    let error = Target::find(pid).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("process {pid} belongs to user 0; run quipu as that user or as root")
    );
    let listed = quipu_collector::jvms::list();
    let listed = listed.iter().find(|jvm| jvm.pid == pid).expect("listed all the same");
    assert!(!listed.accessible);
    assert_eq!(listed.main.as_deref(), Some("Idle"));
}

/// As in a container: its own process ids and its own `/tmp`.
#[test]
fn in_other_namespaces() {
    let unshare = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"];
    let works = quipu_e2e::Command::new(unshare[0]).args(&unshare[1..]).arg("true").status();
    if !works.is_ok_and(|status| status.success()) {
        println!("skipped: unshare --pid --mount does not work here");
        return;
    }
    if Path::new(env!("CARGO_TARGET_TMPDIR")).starts_with("/tmp") {
        println!("skipped: the test hides /tmp, where the programs are built");
        return;
    }
    for jdk in jdks::find() {
        let program = Program::compile(&jdk, Path::new(env!("CARGO_TARGET_TMPDIR")));
        let java =
            program.command_line(&[]).iter().map(|part| format!("'{part}'")).collect::<Vec<_>>().join(" ");
        let mut line: Vec<String> = unshare.map(str::to_owned).into();
        line.extend(["sh".into(), "-c".into(), format!("mount -t tmpfs none /tmp && exec {java}")]);
        let outside = Running::start(&line).ready();
        let children = format!("/proc/{0}/task/{0}/children", outside.pid());
        let pid = std::fs::read_to_string(children).unwrap().trim().parse().unwrap();

        let target = Target::find(pid).unwrap();
        assert_eq!(target.namespace_pid(), 1);
        assert!(!target.shares_our_files());
        attach(&target).jcmd("VM.version").unwrap();
        attach(&target).load_agent(&program.agent(), "").unwrap();
        assert!(!target.root().join("tmp/.attach_pid1").exists());
        assert!(target.root().join("tmp/.java_pid1").exists() && !Path::new("/tmp/.java_pid1").exists());

        let listed = quipu_collector::jvms::list();
        let listed = listed.iter().find(|jvm| jvm.pid == pid).unwrap();
        assert_eq!((listed.namespace_pid, listed.main.as_deref()), (Some(1), Some("Idle")));
        assert!(listed.java_version.as_deref().unwrap().starts_with(&jdk.feature.to_string()));
    }
}
