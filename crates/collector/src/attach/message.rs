//! The attach protocol as bytes: what is asked, and what comes back.
//!
//! A request is five strings, each ended by a NUL: the protocol's version, a command, and always three arguments. The
//! reply is a number on a line, then output until the VM closes. See `docs/attach.md`.

use super::AttachError;

/// The VM copies a command's name and arguments into buffers of these sizes.
const NAME_LIMIT: usize = 16;
const ARGUMENT_LIMIT: usize = 1024;

/// Something to ask of a JVM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request<'a> {
    command: &'a str,
    arguments: [&'a [u8]; 3],
}

impl<'a> Request<'a> {
    /// Loads a native agent by its absolute path.
    pub fn load(agent: &'a [u8], options: &'a str) -> Self {
        Self { command: "load", arguments: [agent, b"true", options.as_bytes()] }
    }

    /// Runs a diagnostic command, with its own arguments in the same text.
    pub fn jcmd(command: &'a str) -> Self {
        Self { command: "jcmd", arguments: [command.as_bytes(), b"", b""] }
    }

    /// The system properties, as Java writes a properties file.
    pub fn properties() -> Self {
        Self { command: "properties", arguments: [b"", b"", b""] }
    }

    /// What the VM knows about its own command line and agents, likewise.
    pub fn agent_properties() -> Self {
        Self { command: "agentProperties", arguments: [b"", b"", b""] }
    }

    /// Every thread's stack, with the locks of `java.util.concurrent` and (since JDK 11) times.
    pub fn thread_dump() -> Self {
        Self { command: "threaddump", arguments: [b"-l -e", b"", b""] }
    }

    /// Writes the heap to a file, by the target's own view of paths.
    pub fn dump_heap(file: &'a [u8], live_only: bool) -> Self {
        Self { command: "dumpheap", arguments: [file, if live_only { b"-live" } else { b"-all" }, b""] }
    }

    /// Any other command.
    pub fn other(command: &'a str, arguments: [&'a [u8]; 3]) -> Self {
        Self { command, arguments }
    }

    /// The command's name.
    pub fn command(&self) -> &'a str {
        self.command
    }

    /// The bytes to send. The VM drops a request it finds too long without a word, so that is an error here.
    pub fn encode(&self) -> Result<Vec<u8>, AttachError> {
        let mut bytes = b"1\0".to_vec();
        let limits = [NAME_LIMIT, ARGUMENT_LIMIT, ARGUMENT_LIMIT, ARGUMENT_LIMIT];
        let parts = std::iter::once(self.command.as_bytes()).chain(self.arguments);
        for (part, limit) in parts.zip(limits) {
            if part.len() > limit || part.contains(&0) {
                return Err(AttachError::Request { command: self.command.to_owned(), limit });
            }
            bytes.extend_from_slice(part);
            bytes.push(0);
        }
        Ok(bytes)
    }
}

/// What a JVM answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// 0 when the command was carried out.
    pub status: i32,
    /// What it printed.
    pub output: Vec<u8>,
}

impl Reply {
    /// Reads a whole reply; `None` if it does not start with a number on a line of its own.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let end = bytes.iter().take(16).position(|byte| *byte == b'\n')?;
        let (status, output) = bytes.split_at_checked(end)?;
        let status = std::str::from_utf8(status).ok()?.trim().parse().ok()?;
        Some(Self { status, output: output.get(1..)?.to_vec() })
    }

    /// The output as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.output).into_owned()
    }
}

/// What became of an agent that was to be loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Loaded {
    Yes,
    /// Its `Agent_OnAttach` returned this.
    Refused(i32),
    /// The target was started with `-XX:-EnableDynamicAgentLoading`.
    Forbidden,
    /// The library could not be loaded, or is no agent; the VM's own words.
    Failed(String),
}

impl Loaded {
    /// Since JDK 9 the status is 0 even if the agent failed, and the text tells: `return code: N` once it ran. JDK 8
    /// prints the bare number.
    pub fn from_reply(reply: &Reply) -> Self {
        let text = reply.text();
        let text = text.trim();
        let code = text.strip_prefix("return code:").unwrap_or(text).trim();
        match code.parse() {
            Ok(0) if reply.status == 0 => Self::Yes,
            Ok(code) => Self::Refused(code),
            Err(_) if text.contains("-XX:+EnableDynamicAgentLoading") => Self::Forbidden,
            Err(_) if text.is_empty() && reply.status == 0 => Self::Yes,
            Err(_) if text.is_empty() => Self::Refused(reply.status),
            Err(_) => Self::Failed(text.split_whitespace().collect::<Vec<_>>().join(" ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn requests() {
        assert_eq!(Request::load(b"/a.so", "x=1").encode().unwrap(), b"1\0load\0/a.so\0true\0x=1\0");
        assert_eq!(Request::properties().encode().unwrap(), b"1\0properties\0\0\0\0");
        assert_eq!(Request::dump_heap(b"/h", true).encode().unwrap(), b"1\0dumpheap\0/h\0-live\0\0");
        assert!(Request::jcmd(&"x".repeat(1024)).encode().is_ok());
        assert!(Request::jcmd(&"x".repeat(1025)).encode().is_err());
        assert!(Request::jcmd("a\0b").encode().is_err());
        assert!(Request::other("seventeen letters", [b"", b"", b""]).encode().is_err());
    }

    #[test]
    fn replies() {
        let reply = Reply::decode(b"0\nhello\nworld").unwrap();
        assert_eq!((reply.status, reply.text().as_str()), (0, "hello\nworld"));
        assert_eq!(Reply::decode(b"101\n").unwrap(), Reply { status: 101, output: vec![] });
        assert_eq!(Reply::decode(b"-1\n").unwrap().status, -1);
        for bad in [&b""[..], b"\n", b"0", b"zero\n", b"99999999999\n", b"00000000000000000000\n"] {
            assert_eq!(Reply::decode(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn loads() {
        let loaded = |status, text: &str| Loaded::from_reply(&Reply { status, output: text.into() });
        assert_eq!(loaded(0, "return code: 0\n"), Loaded::Yes);
        assert_eq!(loaded(0, "0\n"), Loaded::Yes);
        assert_eq!(loaded(0, "return code: -3\n"), Loaded::Refused(-3));
        assert_eq!(loaded(0, "102\n"), Loaded::Refused(102));
        assert_eq!(loaded(-1, ""), Loaded::Refused(-1));
        let text =
            "Dynamic agent loading is not enabled. Use -XX:+EnableDynamicAgentLoading to launch target VM.";
        assert_eq!(loaded(-1, text), Loaded::Forbidden);
        let failed = Loaded::Failed("/x.so was not loaded. /x.so: cannot open".to_owned());
        assert_eq!(loaded(0, "/x.so was not loaded.\n/x.so: cannot open\n"), failed);
    }

    proptest! {
        #[test]
        fn any_bytes_decode_or_not(bytes: Vec<u8>) {
            if let Some(reply) = Reply::decode(&bytes) {
                _ = Loaded::from_reply(&reply);
                prop_assert!(bytes.ends_with(&reply.output));
            }
        }
    }
}
