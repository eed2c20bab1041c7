//! What is no JVM that Quipu measures is refused, and named.
//!
//! None of them is on the machine: they are made here, of a few bytes of machine code or of a JDK whose `libjvm.so` has other
//! texts in it.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use quipu_e2e::{Command, Jdk, classes, jdks, scratch, tools};

/// Runs `quipu`; its status and what it said.
fn quipu(arguments: &[&str]) -> (Option<i32>, String) {
    let mut quipu = Command::new(&tools().quipu);
    let output = quipu.args(arguments).current_dir(scratch("strangers")).output().expect("it runs");
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

/// A program of 32 bits that waits.
fn of_32_bits() -> Vec<u8> {
    const BASE: u32 = 0x0804_8000;
    const CODE: u32 = 52 + 32;
    let mut file = b"\x7fELF\x01\x01\x01".to_vec();
    file.resize(16, 0);
    file.extend([2u16, 3].map(u16::to_le_bytes).concat());
    file.extend([1, BASE + CODE, 52, 0, 0].map(u32::to_le_bytes).concat());
    file.extend([52u16, 32, 1, 0, 0, 0].map(u16::to_le_bytes).concat());
    // All of it is loaded, to be read and executed.
    file.extend([1, 0, BASE, BASE, CODE + 9, CODE + 9, 5, 0x1000].map(u32::to_le_bytes).concat());
    // pause(), again and again.
    file.extend(b"\xb8\x1d\0\0\0\xcd\x80\xeb\xf7");
    file
}

/// A program of 64 bits that waits, with the section in which a native image keeps its objects.
fn native_image() -> Vec<u8> {
    const BASE: u64 = 0x40_0000;
    const CODE: u64 = 64 + 56;
    let names = b"\0.shstrtab\0.svm_heap\0";
    let named = CODE + 9;
    let sections = (named + names.len() as u64).next_multiple_of(8);
    let mut file = b"\x7fELF\x02\x01\x01".to_vec();
    file.resize(16, 0);
    file.extend([2u16, 62].map(u16::to_le_bytes).concat());
    file.extend(1u32.to_le_bytes());
    file.extend([BASE + CODE, 64, sections].map(u64::to_le_bytes).concat());
    file.extend(0u32.to_le_bytes());
    file.extend([64u16, 56, 1, 64, 3, 1].map(u16::to_le_bytes).concat());
    file.extend([1u32, 5].map(u32::to_le_bytes).concat());
    file.extend([0, BASE, BASE, named, named, 0x1000].map(u64::to_le_bytes).concat());
    file.extend(b"\xb8\x22\0\0\0\x0f\x05\xeb\xf7");
    file.extend(names);
    file.resize(sections as usize + 64, 0);
    for (name, kind, offset, size) in [(1u32, 3u32, named, names.len() as u64), (11, 1, 0, 0)] {
        file.extend([name, kind].map(u32::to_le_bytes).concat());
        file.extend([0, 0, offset, size].map(u64::to_le_bytes).concat());
        file.resize(file.len() + 24, 0);
    }
    file
}

fn program(name: &str, bytes: &[u8]) -> PathBuf {
    let path = scratch("stranger").join(name);
    fs::write(&path, bytes).expect("a file");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("its owner may");
    path
}

#[test]
fn a_native_image_is_named() {
    let path = program("service", &native_image());
    let (status, said) = quipu(&["run", "--", path.to_str().expect("a path in UTF-8")]);
    assert_eq!(status, Some(3), "{said}");
    assert!(said.contains("service is a GraalVM native image: there is no JVM in it"), "{said}");
    let waiting = Command::new(&path).spawn().expect("it runs");
    let (status, said) = quipu(&["attach", &waiting.id().to_string(), "-d", "1"]);
    assert_eq!(status, Some(3), "{said}");
    assert!(said.contains("(service) is a GraalVM native image"), "{said}");
}

#[test]
fn a_jvm_of_32_bits_is_named() {
    // The name of what it has mapped is what tells a JVM.
    let path = program("libjvm.so", &of_32_bits());
    let (status, said) = quipu(&["run", "--", path.to_str().expect("a path in UTF-8")]);
    assert_eq!(status, Some(3), "{said}");
    assert!(said.contains("is a 32-bit program, and Quipu is for 64-bit JVMs"), "{said}");
    match Command::new(&path).spawn() {
        Ok(waiting) => {
            let (status, said) = quipu(&["attach", &waiting.id().to_string(), "-d", "1"]);
            assert_eq!(status, Some(3), "{said}");
            assert!(said.contains("is a 32-bit JVM, and Quipu is for 64-bit ones"), "{said}");
        }
        Err(error) => println!("this kernel runs no 32-bit programs: {error}"),
    }
}

#[test]
fn openj9_is_named() {
    let jdk = newest();
    let library = scratch("stranger").join("libj9vm29.so");
    fs::copy(&tools().oracle, &library).expect("a library");
    let mut sleep = Command::new("sleep");
    let waiting = sleep.arg("300").env("LD_PRELOAD", &library).spawn().expect("it runs");
    while !fs::read_to_string(format!("/proc/{}/maps", waiting.id()))
        .is_ok_and(|maps| maps.contains("libj9vm29"))
    {
        std::thread::yield_now();
    }
    let (status, said) = quipu(&["attach", &waiting.id().to_string(), "-d", "1"]);
    assert_eq!(status, Some(3), "{said}");
    assert!(said.contains("runs OpenJ9, and Quipu measures HotSpot only"), "{said}");

    // Started with the agent, such a VM says what it is itself.
    let home = imitation(&jdk, &[("OpenJDK 64-Bit Server VM\0", "Eclipse OpenJ9 VM\0")]);
    let (status, said) = run_on(&home, &jdk, &[], &["Foo"]);
    assert_eq!(status, Some(3), "{said}");
    assert!(said.contains("this is Eclipse OpenJ9 VM, and Quipu measures HotSpot only"), "{said}");
}

/// Somebody has taken the function out of the library that walks stacks: what does not need it works, and the rest is refused
/// with the reason.
#[test]
fn a_jvm_without_symbols_is_counted_and_not_sampled() {
    let jdk = newest();
    let home = imitation(&jdk, &[("\0AsyncGetCallTrace\0", "\0xsyncGetCallTrace\0")]);
    let (status, said) = run_on(&home, &jdk, &["--exact"], &["Foo"]);
    assert_eq!(status, Some(0), "{said}");
    let (status, said) = run_on(&home, &jdk, &["--cpu"], &["Foo"]);
    assert_eq!(status, Some(3), "{said}");
    let why = "its libjvm.so does not export both AsyncGetCallTrace and gHotSpotVMStructs, like one whose symbols were";
    assert!(said.contains(why), "{said}");
}

/// Of a VM that describes nothing of itself, it is not known where its flags are.
#[test]
fn intrinsics_that_cannot_be_pinned_are_told() {
    let jdk = newest();
    // Before Quipu's agent.
    let forget = format!("-agentpath:{}=forget=*", tools().oracle.display());
    let mut quipu = Command::new(&tools().quipu);
    quipu.args(["run", "--deterministic", "--"]).arg(jdk.home.join("bin/java")).arg("-cp").arg(classes(&jdk));
    quipu.arg("Foo").env("JAVA_TOOL_OPTIONS", forget).current_dir(scratch("strangers"));
    let output = quipu.output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("quipu: not pinned: intrinsics with effects of their own"), "{said}");
}

/// `quipu run` with the `java` of this home; its status and what it said.
fn run_on(home: &Path, jdk: &Jdk, options: &[&str], program: &[&str]) -> (Option<i32>, String) {
    let (java, classes) = (home.join("bin/java"), classes(jdk));
    let [java, classes] = [&java, &classes].map(|path| path.to_str().expect("a path in UTF-8"));
    quipu(&[&["run"], options, &["--", java, "-cp", classes], program].concat())
}

fn newest() -> Jdk {
    jdks::find().into_iter().max_by_key(|jdk| jdk.feature).expect("a JDK")
}

/// A JDK with other texts in its `libjvm.so`, no longer than they were; all else is the same.
fn imitation(jdk: &Jdk, texts: &[(&str, &str)]) -> PathBuf {
    let home = scratch("imitation");
    let link = |from: &Path, to: &Path, own: &[&str]| {
        fs::create_dir_all(to).expect("a directory");
        for entry in fs::read_dir(from).expect("a JDK").flatten() {
            if !own.iter().any(|own| entry.file_name() == *own) {
                symlink(entry.path(), to.join(entry.file_name())).expect("a link");
            }
        }
    };
    let real = fs::canonicalize(&jdk.home).expect("a JDK");
    link(&real, &home, &["bin", "lib"]);
    // The launcher finds the rest by where it lies itself.
    link(&real.join("bin"), &home.join("bin"), &["java"]);
    fs::copy(real.join("bin/java"), home.join("bin/java")).expect("a launcher");
    link(&real.join("lib"), &home.join("lib"), &["server", "libjli.so"]);
    fs::copy(real.join("lib/libjli.so"), home.join("lib/libjli.so")).expect("its library");
    link(&real.join("lib/server"), &home.join("lib/server"), &["libjvm.so"]);
    let mut library = fs::read(real.join("lib/server/libjvm.so")).expect("a VM");
    for (from, to) in texts {
        let mut to = to.as_bytes().to_vec();
        to.resize(from.len(), 0);
        let found: Vec<usize> = positions(&library, from.as_bytes());
        assert!(!found.is_empty(), "{from:?} in libjvm.so");
        for at in found {
            library[at..at + to.len()].copy_from_slice(&to);
        }
    }
    fs::write(home.join("lib/server/libjvm.so"), library).expect("room for a VM");
    home
}

fn positions(bytes: &[u8], text: &[u8]) -> Vec<usize> {
    let first = text[0];
    let starts = bytes.iter().enumerate().filter(|(_, byte)| **byte == first).map(|(at, _)| at);
    starts.filter(|at| bytes[*at..].starts_with(text)).collect()
}
