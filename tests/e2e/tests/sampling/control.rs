//! Steering a profile while the program runs.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use quipu_e2e::{Command, Shares, Working, on_every_jdk, on_every_jdk_since, percent, scratch, tools};
use quipu_profile::Profile;

use crate::attached::finish;

fn ctl(pid: &str, words: &[&str]) -> (bool, String) {
    let output =
        Command::new(&tools().quipu).args(["ctl", "--json", pid]).args(words).output().expect("it runs");
    let said = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8_lossy(&said).into_owned())
}

fn fact(said: &str, key: &str) -> String {
    let facts: serde_json::Value = serde_json::from_str(said).unwrap_or_else(|e| panic!("{e} in:\n{said}"));
    facts[key].as_str().unwrap_or_else(|| panic!("no {key} in:\n{said}")).to_owned()
}

fn steer(pid: &str, words: &[&str]) -> String {
    let (good, said) = ctl(pid, words);
    assert!(good, "{words:?}: {said}");
    said
}

/// Says something on the socket, and returns what comes back until the connection is closed.
fn talk(socket: &str, bytes: &[u8]) -> String {
    let mut stream = UnixStream::connect(socket).expect("it listens");
    stream.set_read_timeout(Some(Duration::from_secs(30))).expect("a timeout");
    // Closed in the face of what is too long.
    let _ = stream.write_all(bytes);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

/// Whatever is on is told, in words, with what it was set to. JVMs tell of objects that are made since Java 11.
#[test]
fn people_are_told_of_every_kind() {
    on_every_jdk_since(11, |jdk| {
        let working = Working::start(jdk);
        let pid = working.id();
        let ctl = |words: &[&str]| {
            let mut quipu = Command::new(&tools().quipu);
            let output = quipu.args(["ctl", &pid]).args(words).output().expect("it runs");
            assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
            String::from_utf8_lossy(&output.stdout).into_owned()
        };
        let measures = |said: &str| {
            let line = said.lines().find_map(|line| line.strip_prefix("measures "));
            line.unwrap_or_else(|| panic!("{said}")).trim().to_owned()
        };
        let said = ctl(&["start", "alloc=64K", "locks", "timeline"]);
        let all = "objects that are made, one for every 64.00 KiB; waits for locks of at least 10.00 us; \
                   what takes place when";
        assert_eq!(measures(&said), all, "{said}");
        assert!(!said.lines().any(|line| line.starts_with("alloc ") || line.starts_with("cpu ")), "{said}");
        let said = ctl(&["set", "alloc=1M", "locks=1ms"]);
        assert!(measures(&said).contains("1.00 MiB") && measures(&said).contains("1.00 ms"), "{said}");
        assert_eq!(measures(&ctl(&["stop"])), "nothing");
        finish(working);
    });
}

#[test]
fn kinds_are_switched_on_and_off_while_the_program_runs() {
    on_every_jdk(|jdk| {
        let working = Working::start(jdk);
        let pid = working.id();
        let (good, said) = ctl(&pid, &["status"]);
        assert!(!good && said.contains("no agent"), "{said}");
        let said = steer(&pid, &["start", "cpu=500"]);
        assert_eq!((fact(&said, "cpu"), fact(&said, "wall")), ("500".into(), "off".into()));
        std::thread::sleep(Duration::from_millis(600));
        let said = steer(&pid, &["start", "wall"]);
        assert_eq!((fact(&said, "cpu"), fact(&said, "wall")), ("500".into(), "100".into()));
        let said = steer(&pid, &["set", "cpu=1000"]);
        assert_eq!(fact(&said, "cpu"), "1000");
        // The exact kind, on top of what there is.
        assert_eq!(fact(&steer(&pid, &["start", "exact"]), "exact"), "on");
        std::thread::sleep(Duration::from_millis(300));
        assert_eq!(fact(&steer(&pid, &["stop", "exact"]), "exact"), "off");
        let said = steer(&pid, &["stop"]);
        assert_eq!((fact(&said, "cpu"), fact(&said, "wall")), ("off".into(), "off".into()));
        // Nothing is on: nothing is added.
        let samples = fact(&said, "samples");
        std::thread::sleep(Duration::from_millis(200));
        assert_eq!(fact(&steer(&pid, &["status"]), "samples"), samples);
        let file = scratch("control").join("out.quipu");
        steer(&pid, &["dump", "-o", file.to_str().expect("a name")]);
        let profile = Profile::load(&file).expect("a profile");
        let cpu = Shares::of(&profile, "cpu");
        // What was on the stack when counting began is in no counted context: main is not above all of it.
        let round = cpu.total("Working", "round");
        // The rest of it asks the system whether there is input, which takes as long as the system likes.
        let main = cpu.thread("main");
        assert!(percent(round, main) > 10.0, "{round} of {main}");
        assert!(Shares::of(&profile, "wall").thread("main") > 0);
        assert!(profile.metric("calls").is_some_and(|calls| calls.total() > 0));
        // What begins while nothing is measured is a profile of its own, with options of its own.
        let said = steer(&pid, &["start", "exact", "contexts=none"]);
        assert_eq!((fact(&said, "exact"), fact(&said, "samples")), ("on".into(), "0".into()));
        let (good, said) = ctl(&pid, &["start", "cpu", "merge-threads=never"]);
        assert!(!good && said.contains("--merge-threads cannot be changed"), "{said}");
        std::thread::sleep(Duration::from_millis(100));
        steer(&pid, &["stop"]);
        steer(&pid, &["dump", "-o", file.to_str().expect("a name")]);
        let profile = Profile::load(&file).expect("a profile");
        assert!(profile.metric("calls").is_some() && profile.metric("cpu").is_none());
        let (good, said) = ctl(&pid, &["start", "foo"]);
        assert!(
            !good && said.contains("unknown kind 'foo': exact, bytecodes, root, calls, cpu, wall, event, "),
            "{said}"
        );
        finish(working);
    });
}

/// The thread that looks at all others sleeps most of the time, and may do so while it is switched off and on again.
#[test]
fn time_is_counted_once_however_often_the_clock_is_switched_on() {
    on_every_jdk(|jdk| {
        let working = Working::start(jdk);
        let pid = working.id();
        steer(&pid, &["start", "wall=5"]);
        std::thread::sleep(Duration::from_millis(300));
        steer(&pid, &["set", "threads=main"]);
        let began = Instant::now();
        steer(&pid, &["reset"]);
        std::thread::sleep(Duration::from_secs(2));
        let file = scratch("control").join("once.quipu");
        steer(&pid, &["dump", "-o", file.to_str().expect("a name")]);
        let elapsed = began.elapsed().as_nanos() as u64;
        let wall = Shares::of(&Profile::load(&file).expect("a profile"), "wall").thread("main");
        assert!(wall > 0 && percent(wall, elapsed) <= 110.0, "{wall} ns of {elapsed}");
        finish(working);
    });
}

#[test]
fn garbage_closes_its_connection_and_nothing_else() {
    on_every_jdk(|jdk| {
        let working = Working::start(jdk);
        let pid = working.id();
        let said = steer(&pid, &["start", "cpu"]);
        let socket = fact(&said, "arena").replace(".arena", ".socket");
        let long = [b'x'; 100_000];
        let mut noise = Vec::new();
        for i in 0..50_000u32 {
            noise.push((i.wrapping_mul(2_654_435_761) >> 13) as u8);
        }
        for garbage in
            [&b"GET / HTTP/1.1\r\n\r\n"[..], b"\n", b"quipu/9 status\n", &long, &noise, b"\0\0\0\0\n"]
        {
            assert_eq!(talk(&socket, garbage), "");
        }
        let answer =
            talk(&socket, b"quipu/1 explode\nquipu/1 set cpu=0\nquipu/1 set x\nquipu/1 status\nbye\n");
        let errors = answer.lines().filter(|line| line.starts_with("error ")).count();
        assert_eq!((errors, answer.contains("cpu=100\n")), (3, true), "{answer}");
        // Somebody who connects and says nothing keeps nobody out for long.
        let silent = UnixStream::connect(&socket).expect("it listens");
        assert_eq!(fact(&steer(&pid, &["status"]), "cpu"), "100");
        drop(silent);
        finish(working);
    });
}

/// Starts and stops every 100 ms.
fn soak(time: Duration) {
    on_every_jdk(|jdk| {
        let working = Working::start(jdk);
        let pid = working.id();
        let said = steer(&pid, &["start", "cpu=1000"]);
        let socket = fact(&said, "arena").replace(".arena", ".socket");
        let end = Instant::now() + time;
        let mut rounds = 0;
        while Instant::now() < end {
            for request in ["start cpu=1000 wall=100", "stop"] {
                let answer = talk(&socket, format!("quipu/1 {request}\nend\n").as_bytes());
                assert!(answer.starts_with("ok\n"), "{answer}");
                std::thread::sleep(Duration::from_millis(50));
            }
            rounds += 1;
        }
        assert!(rounds > 3, "{rounds} rounds");
        steer(&pid, &["start", "cpu=1000"]);
        while fact(&steer(&pid, &["status"]), "samples") == "0" {
            std::thread::sleep(Duration::from_millis(50));
        }
        finish(working);
    });
}

/// For five minutes in the full run (`QUIPU_FULL=1`).
#[test]
fn started_and_stopped_again_and_again() {
    soak(Duration::from_secs(if std::env::var_os("QUIPU_FULL").is_some() { 300 } else { 2 }));
}
