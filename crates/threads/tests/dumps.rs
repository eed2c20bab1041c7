//! Dumps made by hand, in the words of several versions of HotSpot; and random ones.

use proptest::prelude::*;
use quipu_threads::{Dump, How, Lock, Thread, Wait, deadlock};

const MIXED: &str = r#"2026-11-18 01:56:39
Full thread dump OpenJDK 64-Bit Server VM (17.0.15+6-Debian-1deb12u1 mixed mode, sharing):

Threads class SMR info:
_java_thread_list=0x00007f340c002360, length=14, elements={
0x00007f349c017ed0, 0x00007f349c0f83c0
}

"main" #1 prio=5 os_prio=0 cpu=28.39ms elapsed=2.34s tid=0x00007f349c017ed0 nid=0x13fc waiting on condition  [0x00007f34a2b1e000]
   java.lang.Thread.State: TIMED_WAITING (sleeping)
	at java.lang.Thread.sleep(java.base@17.0.15/Native Method)
	at Dead.main(Dead.java:5)

   Locked ownable synchronizers:
	- None

"a "quoted" name" #12 [5134] daemon prio=5 os_prio=0 cpu=0.48ms elapsed=2.29s tid=0x00007f349c118b40 nid=5134 waiting on condition  [0x00007f3478392000]
   java.lang.Thread.State: WAITING (parking)
	at jdk.internal.misc.Unsafe.park(java.base@17.0.15/Native Method)
	- parking to wait for  <0x000000069ec19518> (a java.util.concurrent.locks.ReentrantLock$NonfairSync)
	at Dead.lambda$main$0(Dead.java:5)
	- locked <0x000000069ec193b0> (a java.lang.Object)
	- locked <0x000000069ec193b0> (a java.lang.Object)

   Locked ownable synchronizers:
	- None

"two" #13 daemon prio=5 os_prio=0 tid=0x00007f349c1199c0 nid=0x140f waiting for monitor entry  [0x00007f3478292000]
   java.lang.Thread.State: BLOCKED (on object monitor)
	at Dead.lambda$main$1(Dead.java:5)
	- waiting to lock <0x000000069ec193b0> (a java.lang.Object)

   Locked ownable synchronizers:
	- <0x000000069ec19518> (a java.util.concurrent.locks.ReentrantLock$NonfairSync)

"waits" #14 prio=8 os_prio=0 tid=0x00007f349c0f97a0 nid=0x1404 in Object.wait()  [0x00007f3478dea000]
   java.lang.Thread.State: WAITING (on object monitor)
	at java.lang.Object.wait(java.base@17.0.15/Native Method)
	- waiting on <0x000000069ec02f40> (a java.lang.ref.ReferenceQueue$Lock)
	at java.lang.ref.ReferenceQueue.remove(java.base@17.0.15/ReferenceQueue.java:155)
	- locked <0x000000069ec02f40> (a java.lang.ref.ReferenceQueue$Lock)

"VM Thread" os_prio=0 cpu=6.99ms elapsed=2.33s tid=0x00007f349c0f4460 nid=0x1402 runnable  

JNI global refs: 15, weak refs: 0


Found one Java-level deadlock:
=============================
"a "quoted" name":
  waiting for ownable synchronizer 0x000000069ec19518, (a java.util.concurrent.locks.ReentrantLock$NonfairSync),
  which is held by "two"
"#;

fn lock(address: u64, class: &str) -> Lock {
    Lock { address, class: class.to_owned() }
}

#[test]
fn hotspots_text_is_read() {
    let dump = Dump::parse(MIXED);
    let names: Vec<&str> = dump.threads.iter().map(|thread| thread.name.as_str()).collect();
    assert_eq!(names, ["main", "a \"quoted\" name", "two", "waits", "VM Thread"]);
    let [main, one, two, waits, vm] = &dump.threads[..] else { panic!("five") };
    assert_eq!((main.id, main.native_id, main.daemon), (Some(1), Some(0x13fc), false));
    assert_eq!((main.state.as_str(), main.frames.len()), ("TIMED_WAITING", 2));
    assert!((main.cpu_seconds.unwrap() - 0.02839).abs() < 1e-9);
    assert_eq!(one.native_id, Some(5134));
    assert_eq!(one.holds, [lock(0x6_9ec1_93b0, "java.lang.Object")], "once, though it was entered twice");
    let sync = lock(0x6_9ec1_9518, "java.util.concurrent.locks.ReentrantLock$NonfairSync");
    assert_eq!(one.waits_for, Some(Wait { how: How::Parked, lock: sync.clone(), owner: None }));
    assert_eq!((two.state.as_str(), &two.holds), ("BLOCKED", &vec![sync]));
    assert_eq!(waits.holds, [], "it let the monitor go to wait");
    assert_eq!((vm.id, vm.state.as_str()), (None, "runnable"));
}

#[test]
fn a_circle_of_a_monitor_and_a_lock_is_found() {
    let dump = Dump::parse(MIXED);
    let found = deadlock::find(&dump);
    assert_eq!(found.len(), 1);
    let names: Vec<&str> = found[0].circle.iter().map(|(thread, _)| thread.name.as_str()).collect();
    assert_eq!(names, ["a \"quoted\" name", "two"]);
    assert_eq!(deadlock::orphaned(&dump), []);
}

#[test]
fn a_lock_that_nobody_can_give_is_told() {
    let held_by_the_dead = MIXED.replace("	- <0x000000069ec19518>", "	- <0x0000000000000010>");
    let dump = Dump::parse(&held_by_the_dead);
    assert!(deadlock::find(&dump).is_empty());
    let orphaned = deadlock::orphaned(&dump);
    assert_eq!(orphaned.len(), 1);
    assert_eq!(orphaned[0].thread.id, Some(12));
}

#[test]
fn who_waits_for_some_time_only_is_in_no_circle() {
    let dump = Dump::parse(&MIXED.replace("WAITING (parking)", "TIMED_WAITING (parking)"));
    assert_eq!(dump.threads[1].state, "TIMED_WAITING");
    assert!(deadlock::find(&dump).is_empty() && deadlock::orphaned(&dump).is_empty());
}

#[test]
fn a_monitor_is_not_told_to_have_lost_its_holder() {
    // Native code and the VM can have entered it: no dump says so.
    let dump = Dump::parse(&MIXED.replace("	- locked <0x000000069ec193b0>", "	- eliminated <owner>"));
    assert!(deadlock::find(&dump).is_empty() && deadlock::orphaned(&dump).is_empty());
}

#[test]
fn older_versions_tell_by_the_state_that_a_monitor_is_wanted_again() {
    let dump = Dump::parse(&MIXED.replace("WAITING (on object monitor)", "BLOCKED (on object monitor)"));
    assert_eq!(dump.threads[3].waits_for.as_ref().map(|wait| wait.how), Some(How::Monitor));
}

/// As JDK 27 writes it: "v" waits for a lock of "w", which waits for a monitor of "v"; "p" waits for what a thread has that is gone.
const WRITTEN: &str = r#"{"threadDump":{"formatVersion":2,"threadContainers":[{"container":"<root>","threads":[
    {"tid":24,"name":"p","state":"WAITING","parkBlocker":{"object":"java.util.concurrent.locks.ReentrantLock$NonfairSync@6f","owner":99},"stack":[]},
    {"tid":25,"virtual":true,"name":"v","state":"WAITING","parkBlocker":{"object":"java.util.concurrent.locks.ReentrantLock$NonfairSync@2a","owner":26},
     "stack":["A.b(A.java:1)"],"monitorsOwned":[{"depth":0,"locks":["java.lang.Object@2a",null]}]},
    {"tid":26,"virtual":true,"name":"w","state":"BLOCKED","blockedOn":"java.lang.Object@2a","stack":["A.b(A.java:2)"]}]}]}}"#;

#[test]
fn circles_of_virtual_threads_are_found_where_their_locks_are_told() {
    let dump = Dump::written(WRITTEN).unwrap();
    let found = deadlock::find(&dump);
    let names: Vec<Vec<&str>> = found
        .iter()
        .map(|found| found.circle.iter().map(|(thread, _)| thread.name.as_str()).collect())
        .collect();
    assert_eq!(names, [["v", "w"]]);
    assert_eq!(dump.threads.iter().map(|thread| thread.is_virtual).collect::<Vec<_>>(), [false, true, true]);
}

#[test]
fn a_holder_that_may_be_virtual_is_not_told_to_have_ended() {
    let text = MIXED.replace("	- <0x000000069ec19518>", "	- <0x0000000000000010>").replace("#12", "#24");
    let dump = Dump::parse(&text);
    let orphaned = deadlock::orphaned(&dump);
    let owner = |json: &str| deadlock::owner(&orphaned[0], &dump, &Dump::written(json).unwrap());
    assert_eq!(owner(WRITTEN), deadlock::Owner::Ended);
    assert_eq!(owner(&WRITTEN.replace("99", "26")), deadlock::Owner::Lives);
    assert_eq!(owner(&WRITTEN.replace(",\"owner\":99", "")), deadlock::Owner::MayBeVirtual);
    assert_eq!(
        owner(&WRITTEN.replace("\"virtual\":true,", "")),
        deadlock::Owner::Ended,
        "there is no virtual thread"
    );
}

#[test]
fn virtual_threads_are_added() {
    let mut dump = Dump::parse(MIXED);
    // As JDK 21 writes it, and as JDK 25 does.
    let json = r#"{"threadDump":{"processId":"7","threadContainers":[{"container":"<root>","threads":[
        {"tid":"1","name":"main","stack":["a.B.c(B.java:1)"]},
        {"tid":"31","name":"","stack":["java.base/java.lang.VirtualThread.park(VirtualThread.java:582)","A.b(A.java:1)",
            "java.base/java.lang.VirtualThread.run(VirtualThread.java:309)"]},
        {"tid":33,"name":"later","stack":["A.b(A.java:1)","java.base/java.lang.Thread.run(Thread.java:1583)"]},
        {"tid":32,"name":"v","state":"WAITING","virtual":true,"stack":[]}]}]}}"#;
    assert_eq!(dump.add_virtual(json).unwrap(), 3, "with a platform thread that began since");
    let added: Vec<_> = dump.threads.iter().filter(|thread| thread.is_virtual).collect();
    assert_eq!(added.iter().map(|thread| thread.id).collect::<Vec<_>>(), [Some(31), Some(32)]);
    assert!(added.iter().all(|thread| thread.state == "WAITING"));
    assert!(dump.add_virtual("{").is_err());
}

#[test]
fn equal_stacks_are_one_group() {
    let thread = |name: &str, frame: &str| Thread {
        name: name.to_owned(),
        frames: vec![frame.to_owned()],
        ..Thread::default()
    };
    let dump =
        Dump { threads: vec![thread("a", "x"), thread("b", "y"), thread("c", "x"), Thread::default()] };
    let groups: Vec<Vec<&str>> =
        dump.groups().iter().map(|group| group.iter().map(|thread| thread.name.as_str()).collect()).collect();
    assert_eq!(groups, [vec!["a", "c"], vec!["b"]]);
}

/// Circles by the plainest means: from each thread, so many steps as there are threads.
fn in_circles(dump: &Dump) -> Vec<usize> {
    let owner = |address: u64| {
        dump.threads.iter().position(|thread| thread.holds.iter().any(|lock| lock.address == address))
    };
    let next = |at: usize| owner(dump.threads[at].waits_for.as_ref()?.lock.address);
    let comes_back = |&first: &usize| {
        let mut at = first;
        (0..dump.threads.len()).any(|_| match next(at) {
            Some(then) => {
                at = then;
                at == first
            }
            None => {
                at = first;
                false
            }
        })
    };
    (0..dump.threads.len()).filter(comes_back).collect()
}

proptest! {
    #[test]
    fn circles_are_those_that_a_plain_search_finds(wants in prop::collection::vec(prop::option::of(0u64..12), 1..12)) {
        // Thread i holds lock i + 1, and waits for another or none.
        let threads = wants.iter().enumerate().map(|(at, want)| Thread {
            name: at.to_string(),
            holds: vec![lock(at as u64 + 1, "java.lang.Object")],
            waits_for: want.map(|want| Wait { how: How::Monitor, lock: lock(want + 1, "java.lang.Object"), owner: None }),
            ..Thread::default()
        });
        let dump = Dump { threads: threads.collect() };
        let mut found: Vec<usize> = deadlock::find(&dump).iter()
            .flat_map(|deadlock| deadlock.circle.iter().map(|(thread, _)| thread.name.parse().unwrap()).collect::<Vec<usize>>())
            .collect();
        found.sort_unstable();
        prop_assert_eq!(found, in_circles(&dump));
    }

    #[test]
    fn any_text_is_survived(cut in 0usize..4000, at in 0usize..4000, put in "\\PC{0,20}") {
        let mut text: Vec<char> = MIXED.chars().collect();
        text.truncate(cut.max(1));
        let at = at % text.len();
        let changed: String = text[..at].iter().copied().chain(put.chars()).chain(text[at..].iter().copied()).collect();
        let dump = Dump::parse(&changed);
        let _ = (deadlock::find(&dump), deadlock::orphaned(&dump), dump.groups().len());
        let _ = Dump::default().add_virtual(&changed);
    }
}
