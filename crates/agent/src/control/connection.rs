//! Requests and replies, as lines of text.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;

/// What every request begins with: the protocol and its version.
pub const PROTOCOL: &str = "quipu/1";
/// A request is no longer than this.
const LONGEST: u64 = 4096;

/// The words of a request, behind the protocol's name.
pub type Request = Vec<String>;

/// What is answered: facts, or why not.
pub type Reply = Result<Vec<(String, String)>, String>;

/// A connection to a process that steers the profile.
pub struct Connection {
    reader: BufReader<UnixStream>,
}

impl Connection {
    /// Over a stream.
    pub fn new(stream: UnixStream) -> Connection {
        Connection { reader: BufReader::new(stream) }
    }

    /// The next request; `None` at the end, and for everything that is none.
    pub fn request(&mut self) -> Option<Request> {
        let mut line = Vec::new();
        (&mut self.reader).take(LONGEST).read_until(b'\n', &mut line).ok()?;
        parse(&line)
    }

    /// What is left of it when all is said.
    pub fn into_stream(self) -> UnixStream {
        self.reader.into_inner()
    }

    /// Sends a reply: `ok` and facts, or `error` and the reason; then an empty line.
    pub fn reply(&mut self, reply: &Reply) -> io::Result<()> {
        self.reader.get_mut().write_all(format(reply).as_bytes())
    }
}

fn parse(line: &[u8]) -> Option<Request> {
    let line = std::str::from_utf8(line.strip_suffix(b"\n")?).ok()?;
    let mut words = line.split(' ').filter(|word| !word.is_empty());
    (words.next() == Some(PROTOCOL)).then(|| words.map(str::to_owned).collect())
}

fn format(reply: &Reply) -> String {
    // A value with a line break in it would be two lines.
    let clean = |text: &str| text.replace(['\n', '\r'], " ");
    match reply {
        Ok(facts) => {
            let facts: String =
                facts.iter().map(|(key, value)| format!("{}={}\n", clean(key), clean(value))).collect();
            format!("ok\n{facts}\n")
        }
        Err(why) => format!("error {}\n\n", clean(why)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_requests_are_requests() {
        assert_eq!(parse(b"quipu/1 set cpu=7\n"), Some(vec!["set".to_owned(), "cpu=7".to_owned()]));
        assert_eq!(parse(b"quipu/1\n"), Some(vec![]));
        for garbage in
            [&b""[..], b"\n", b"GET / HTTP/1.1\r\n", b"quipu/2 status\n", b"quipu/1 \xff\n", b"quipu/1"]
        {
            assert_eq!(parse(garbage), None, "{garbage:?}");
        }
    }

    #[test]
    fn replies_are_lines() {
        assert_eq!(format(&Ok(vec![("a".into(), "b\nc".into())])), "ok\na=b c\n\n");
        assert_eq!(format(&Err("no\nway".into())), "error no way\n\n");
    }
}
