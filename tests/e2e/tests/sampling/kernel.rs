//! What the kernel does for a thread.

use quipu_e2e::{Program, Shares, percent};
use quipu_profile::MethodFlags;

use crate::cpu::assert_nearly_whole;

#[test]
fn functions_of_the_kernel_stand_below_what_called_it_where_that_is_permitted() {
    Program::new("Reading").arguments(["1000"]).quipu(["--cpu", "1000"]).on_every_jdk(|run| {
        assert_nearly_whole(run);
        let profile = run.profile();
        let told = profile.run.extra.iter().find(|(key, _)| key == "cpu.kernel").expect("whether it is told");
        let cpu = Shares::of(profile, "cpu");
        let reading = cpu.total("Reading", "main");
        assert!(percent(reading, cpu.thread("main")) > 50.0, "{}", run.said());
        let methods = profile.methods().iter();
        let functions: Vec<&str> = methods
            .filter(|method| {
                method.flags.contains(MethodFlags::FOREIGN) && profile.str(method.module) == "kernel"
            })
            .map(|method| profile.str(method.name))
            .collect();
        if told.1 != "told" {
            assert!(told.1.starts_with("not told: "), "{}", told.1);
            assert!(functions.is_empty(), "{functions:?}");
            return;
        }
        let own: u64 = functions.iter().map(|name| cpu.own("", name)).sum();
        assert!(percent(own, reading) > 50.0, "{own} of {reading} in {functions:?}");
        // Somebody who may not know the names knows that it is the kernel.
        let list = std::fs::read_to_string("/proc/kallsyms").unwrap_or_default();
        let may_know =
            list.lines().any(|line| line.contains(" read_zero") && !line.starts_with("0000000000000000"));
        match may_know {
            true => assert!(percent(cpu.total("", "read_zero"), reading) > 50.0, "{functions:?}"),
            false => assert!(cpu.own("", "[kernel]") > 0, "{functions:?}"),
        }
    });
}
