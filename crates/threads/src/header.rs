//! The first line of a thread: `"name" #12 [71] daemon prio=5 os_prio=0 cpu=1.5ms elapsed=2.3s tid=0x… nid=0x47 runnable […]`.
//! Which fields there are depends on the version; a name can have anything in it.

use crate::Thread;

/// Reads the line; `None` if it is none.
pub(crate) fn parse(line: &str) -> Option<Thread> {
    let rest = line.strip_prefix('"')?;
    // What is behind the name has no quotation marks in it; a name may.
    let (name, fields) = rest.rsplit_once('"')?;
    let fields = fields.trim_start();
    if !fields.contains("tid=0x") {
        return None;
    }
    let mut thread = Thread { name: name.to_owned(), ..Thread::default() };
    for field in fields.split_whitespace() {
        if let Some(id) = field.strip_prefix('#') {
            thread.id = id.parse().ok();
        } else if field == "daemon" {
            thread.daemon = true;
        } else if field == "virtual" {
            thread.is_virtual = true;
        } else if let Some(cpu) = field.strip_prefix("cpu=") {
            thread.cpu_seconds = seconds(cpu);
        } else if let Some(elapsed) = field.strip_prefix("elapsed=") {
            thread.elapsed_seconds = seconds(elapsed);
        } else if let Some(native) = field.strip_prefix("nid=") {
            thread.native_id = match native.strip_prefix("0x") {
                Some(hex) => u64::from_str_radix(hex, 16).ok(),
                None => native.parse().ok(),
            };
        }
    }
    // What is behind the last field is what the VM says of its state; for Java's threads there is a better line.
    let said =
        fields.split_once("nid=").and_then(|(_, behind)| behind.split_once(' ')).map_or("", |(_, said)| said);
    thread.state = said.split('[').next().unwrap_or_default().trim().to_owned();
    Some(thread)
}

/// `12.3ms`, `4.5s`.
fn seconds(text: &str) -> Option<f64> {
    let (number, unit) = match text.strip_suffix("ms") {
        Some(number) => (number, 1e-3),
        None => (text.strip_suffix('s')?, 1.0),
    };
    number.parse::<f64>().ok().map(|number| number * unit)
}
