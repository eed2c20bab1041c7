//! `quipu calibrate`: measures what opcodes cost in this machine's interpreter.
//!
//! A class is assembled with one method for each opcode, a loop over a long straight run of it, and run with `-Xint`.
//! What a loop without anything in it takes is subtracted, and of several runs the fastest counts: whatever disturbs
//! a measurement makes it longer.

mod assembler;
mod fit;
mod units;

use std::collections::HashMap;
use std::fmt::Write;
use std::path::PathBuf;
use std::process::Command;

use anyhow::Context;
use clap::Args;
use quipu_arena::place;
use quipu_classfile::opcode::*;

use crate::exit::{DONE, Failure};
use crate::progress;
use assembler::{Assembler, STATIC};
use units::{CLASS, Unit};

/// Measure the cost of every opcode in this machine's interpreter, for `--weights`.
///
/// A weight is a tenth of a nanosecond. See docs/weights.md for what that can and cannot tell.
#[derive(Args, Debug)]
#[command(after_help = "\
Example:
  quipu calibrate -o weights.txt
  quipu run --weights weights.txt -o app.quipu -- java -jar app.jar")]
pub struct Calibrate {
    /// Where to write the weights
    #[arg(short, long, value_name = "FILE", default_value = "weights.txt")]
    output: PathBuf,

    /// The JVM to measure
    #[arg(long, value_name = "JAVA", default_value = "java")]
    java: PathBuf,

    /// How often each opcode is measured; the fastest run counts
    #[arg(long, value_name = "N", default_value_t = 15, value_parser = clap::value_parser!(u16).range(1..=1000))]
    rounds: u16,
}

/// Units in one round of a measured loop, and rounds: long enough for the clock, short enough to fit a method.
const UNITS: usize = 100;
const LOOPS: i32 = 2_000;
/// Weights in one nanosecond.
const SCALE: f64 = 10.0;
/// What the text form allows.
const MOST: f64 = 10_000.0;

impl Calibrate {
    /// Measures and writes the file.
    pub fn run(self) -> anyhow::Result<u8> {
        let mut class = Assembler::default();
        let units = units::units(&mut class);
        let directory = place::directory()?.join(format!("calibrate-{}", std::process::id()));
        std::fs::create_dir_all(&directory)
            .with_context(|| format!("cannot make {}", directory.display()))?;
        let class = assemble(class, &units, self.rounds);
        let measured = progress::during("measuring", || self.measure(&directory, class));
        let _ = std::fs::remove_dir_all(&directory);
        let (times, jvm) = measured?;
        let fastest = fastest(&times, units.len() + 1)
            .ok_or_else(|| Failure::target(format!("{} printed no measurements", self.java.display())))?;
        let text = print(&costs(&units, &fastest), &jvm);
        std::fs::write(&self.output, text)
            .with_context(|| format!("cannot write {}", self.output.display()))?;
        eprintln!("quipu: wrote {}. Use it with: quipu run --weights {0}", self.output.display());
        Ok(DONE)
    }

    fn measure(&self, directory: &std::path::Path, class: Vec<u8>) -> anyhow::Result<(Vec<f64>, String)> {
        std::fs::write(directory.join(format!("{CLASS}.class")), class)?;
        let mut java = Command::new(&self.java);
        java.args(["-Xint", "-XX:+UseSerialGC", "-showversion", "-cp"]).arg(directory).arg(CLASS);
        let output = java.output().map_err(|e| {
            Failure::target(format!("cannot run {}: {e}; name a JVM with --java", self.java.display()))
        })?;
        let said = String::from_utf8_lossy(&output.stderr);
        if !output.status.success() {
            return Err(Failure::target(format!("{} failed: {said}", self.java.display())));
        }
        let jvm = said.lines().filter(|line| !line.is_empty()).take(3).collect::<Vec<_>>().join("; ");
        let times =
            String::from_utf8_lossy(&output.stdout).lines().filter_map(|line| line.parse().ok()).collect();
        Ok((times, jvm))
    }
}

/// The class: a method for each unit, one for the loop itself, and `main`, which times them all in turn.
fn assemble(mut class: Assembler, units: &[Unit], rounds: u16) -> Vec<u8> {
    class.field(STATIC, "shared", "I");
    class.field(0, "own", "I");
    // Not empty: Java 8 enters methods without any work in a way of their own.
    class.method(STATIC, "short", "()V", &[NOP, RETURN]);
    class.method(0, "run", "()V", &[NOP, RETURN]);
    let [high, low] = class.method_ref("java/lang/Object", "<init>", "()V").to_be_bytes();
    class.method(0, "<init>", "()V", &[ALOAD_0, INVOKESPECIAL, high, low, RETURN]);
    let prologue = units::prologue(&mut class);
    let nothing = Unit::default();
    let all: Vec<&Unit> = std::iter::once(&nothing).chain(units).collect();
    for (i, unit) in all.iter().enumerate() {
        class.method(STATIC, &format!("unit{i}"), "(I)V", &loop_over(unit, &prologue));
    }
    let main = main(&mut class, all.len(), rounds);
    class.method(STATIC, "main", "([Ljava/lang/String;)V", &main);
    class.finish(CLASS, "java/lang/Runnable")
}

fn loop_over(unit: &Unit, prologue: &[u8]) -> Vec<u8> {
    let mut code = [prologue, &unit.before].concat();
    let start = code.len();
    for _ in 0..UNITS {
        code.extend(&unit.code);
        match unit.code.last() {
            Some(&TABLESWITCH) => switch(&mut code, &[0, 1], &[(); 2].map(|()| None)),
            Some(&LOOKUPSWITCH) => switch(&mut code, &[2], &[Some(0), Some(1)]),
            _ => {}
        }
    }
    code.extend([IINC, 0, 0xFF, ILOAD_0, IFNE]);
    let back = start as i64 - (code.len() as i64 - 1);
    code.extend((back as i16).to_be_bytes());
    code.push(RETURN);
    code
}

/// Completes the switch whose opcode was just written; all its ways lead to the next instruction.
fn switch(code: &mut Vec<u8>, bounds: &[i32], cases: &[Option<i32>]) {
    let at = code.len() - 1;
    code.resize(code.len().next_multiple_of(4), 0);
    let words = 1 + bounds.len() + cases.iter().map(|case| 1 + usize::from(case.is_some())).sum::<usize>();
    let target = (code.len() + 4 * words - at) as i32;
    let cases = cases.iter().flat_map(|case| case.iter().copied().chain([target]));
    let all: Vec<i32> = std::iter::once(target).chain(bounds.iter().copied()).chain(cases).collect();
    code.extend(all.iter().flat_map(|word| word.to_be_bytes()));
}

fn main(class: &mut Assembler, methods: usize, rounds: u16) -> Vec<u8> {
    let time = class.method_ref("java/lang/System", "nanoTime", "()J").to_be_bytes();
    let out = class.field_ref("java/lang/System", "out", "Ljava/io/PrintStream;").to_be_bytes();
    let print = class.method_ref("java/io/PrintStream", "println", "(J)V").to_be_bytes();
    let loops = class.int(LOOPS).to_be_bytes();
    let mut code = vec![SIPUSH];
    code.extend(rounds.to_be_bytes());
    code.push(ISTORE_0);
    let start = code.len();
    for i in 0..methods {
        let method = class.method_ref(CLASS, &format!("unit{i}"), "(I)V").to_be_bytes();
        code.extend([GETSTATIC, out[0], out[1], INVOKESTATIC, time[0], time[1], LSTORE_1]);
        code.extend([LDC_W, loops[0], loops[1], INVOKESTATIC, method[0], method[1]]);
        code.extend([INVOKESTATIC, time[0], time[1], LLOAD_1, LSUB, INVOKEVIRTUAL, print[0], print[1]]);
    }
    code.extend([IINC, 0, 0xFF, ILOAD_0, IFNE]);
    let back = start as i64 - (code.len() as i64 - 1);
    code.extend((back as i16).to_be_bytes());
    code.push(RETURN);
    code
}

/// The shortest time of each method, in nanoseconds per unit, the loop's own subtracted.
fn fastest(times: &[f64], methods: usize) -> Option<Vec<f64>> {
    let mut least = vec![f64::INFINITY; methods];
    for round in times.chunks_exact(methods) {
        least.iter_mut().zip(round).for_each(|(least, time)| *least = least.min(*time));
    }
    let empty = *least.first().filter(|time| time.is_finite())?;
    let runs = UNITS as f64 * f64::from(LOOPS);
    Some(least.iter().skip(1).map(|time| (time - empty).max(0.0) / runs).collect())
}

/// The cost of each measured opcode, in nanoseconds.
fn costs(units: &[Unit], nanos: &[f64]) -> HashMap<u8, f64> {
    // Opcodes of one family have one number; those that only help have their own.
    let mut numbers: HashMap<u8, usize> = HashMap::new();
    for (number, unit) in units.iter().enumerate() {
        unit.family.iter().for_each(|op| _ = numbers.insert(*op, number));
    }
    let mut count = units.len();
    let mut number = |op: u8| {
        *numbers.entry(op).or_insert_with(|| {
            count += 1;
            count - 1
        })
    };
    let mut pieces: Vec<fit::Piece> = Vec::new();
    for (unit, nanos) in units.iter().zip(nanos) {
        let first = unit.family.first().copied();
        let ops = first.into_iter().chain(unit.others.iter().copied()).map(&mut number).collect();
        pieces.push((ops, *nanos));
    }
    // The first unit is `nop`: fetching an instruction and jumping to its code.
    let floor = nanos.first().copied().unwrap_or(0.0);
    let fitted = fit::fit(&pieces, count, floor);
    numbers.into_iter().filter_map(|(op, number)| Some((op, *fitted.get(number)?))).collect()
}

fn print(costs: &HashMap<u8, f64>, jvm: &str) -> String {
    let weight = |op: u8| costs.get(&op).map(|nanos| (nanos * SCALE).round().clamp(1.0, MOST));
    let mut text = format!(
        "# Weights of opcodes: tenths of nanoseconds in the interpreter of\n#   {jvm}\n\
         # Not measured, so by default: athrow. See docs/weights.md.\ndefault {}\n",
        weight(GOTO).unwrap_or(1.0)
    );
    for op in 0..=JSR_W {
        if let Some(weight) = weight(op) {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "{} {weight}", opcode(op).mnemonic);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use quipu_classfile::ClassFile;
    use quipu_rewrite::Weights;

    #[test]
    fn every_opcode_but_one_is_measured_and_the_file_is_read_back() {
        let mut class = Assembler::default();
        let units = units::units(&mut class);
        let lengths = units.iter().map(|unit| 2.0 * (1 + unit.others.len()) as f64);
        let given = costs(&units, &lengths.collect::<Vec<_>>());
        let missing: Vec<&str> =
            (0..=JSR_W).filter(|op| !given.contains_key(op)).map(|op| opcode(op).mnemonic).collect();
        assert_eq!(missing, ["athrow", "wide"]);
        let read = Weights::parse(&print(&given, "a JVM")).expect("our own file");
        assert_eq!((read.of(NOP), read.of(POP), read.of(INVOKESTATIC)), (20, 20, 20));
    }

    #[test]
    fn the_assembled_class_can_be_parsed() {
        let mut class = Assembler::default();
        let units = units::units(&mut class);
        let bytes = assemble(class, &units, 3);
        let class = ClassFile::parse(&bytes).expect("a class");
        for method in class.methods() {
            let code = method.code().expect("code").expect("code");
            assert!(code.instructions().all(|i| i.is_ok()), "{:?}", String::from_utf8_lossy(method.name()));
        }
    }

    #[test]
    fn the_shortest_time_counts() {
        let runs = UNITS as f64 * f64::from(LOOPS);
        let times = [5.0, 5.0 + 2.0 * runs, 4.0, 4.0 + 3.0 * runs];
        let nanos = fastest(&times, 2).expect("measured");
        assert!((nanos[0] - 2.0).abs() < 0.001, "{nanos:?}");
        assert_eq!(fastest(&[], 2), None);
    }
}
