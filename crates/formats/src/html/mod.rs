//! One self-contained page: flame graph (callees or callers), method table, search. Nothing is loaded from anywhere.
//!
//! The page's content security policy allows its own script and style, by hash, and nothing else: no request can be
//! made, whatever a class is called. Names reach the page as JSON in a block that is not executed, with every `<`
//! escaped, and are only ever assigned as text.

mod data;

use crate::{ExportError, Options, names};
use base64::{Engine, prelude::BASE64_STANDARD};
use quipu_profile::Profile;
use sha2::{Digest, Sha256};
use std::io::{self, Write};

const STYLE: &str = include_str!("../../page/page.css");
const BODY: &str = include_str!("../../page/body.html");
/// The files share one scope; `app.js` starts everything, so it is last.
const SCRIPT: &str = concat!(
    "'use strict';(() => {\n",
    include_str!("../../page/format.js"),
    include_str!("../../page/data.js"),
    include_str!("../../page/graph.js"),
    include_str!("../../page/search.js"),
    include_str!("../../page/flame.js"),
    include_str!("../../page/table.js"),
    include_str!("../../page/app.js"),
    "})();\n"
);
/// The mark of the page in a browser's tab.
const ICON: &str = "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32'%3E%3Cg fill='%23b5651d' stroke='%23b5651d' stroke-width='2.5'%3E%3Cpath d='M3 5h26M8 5v22M16 5v16M24 5v24'/%3E%3Ccircle cx='8' cy='16' r='3'/%3E%3Ccircle cx='16' cy='12' r='3'/%3E%3Ccircle cx='24' cy='20' r='3'/%3E%3C/g%3E%3C/svg%3E";

/// Writes the page with every metric that adds up; the chosen one is shown first.
pub fn write(profile: &Profile, options: &Options, out: &mut dyn Write) -> Result<(), ExportError> {
    let main = options.metric_id(profile)?;
    // A flame graph shows who called whom, not from which line.
    let contexts = profile.tree().len() - profile.threads().len();
    let merged = profile.has_sites().then(|| profile.without_sites());
    let profile = merged.as_ref().unwrap_or(profile);
    let title = escaped(&names::clean(&options.title(profile)));
    let (style, script) = (source_hash(STYLE), source_hash(SCRIPT));
    writeln!(
        out,
        r#"<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src {script}; style-src {style}; img-src data:; base-uri 'none'; form-action 'none'">
<meta name="referrer" content="no-referrer">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="quipu {}">
<link rel="icon" href="{ICON}">
<title>{title} · Quipu</title>
<style>{STYLE}</style>
</head>
{BODY}<script type="application/json" id="data">"#,
        env!("CARGO_PKG_VERSION")
    )?;
    data::write(profile, options, main, contexts, &mut NoTags { out })?;
    write!(out, "</script>\n<script>{SCRIPT}</script>\n</body>\n</html>\n")?;
    Ok(())
}

/// What a policy names an inline script or style by.
fn source_hash(text: &str) -> String {
    format!("'sha256-{}'", BASE64_STANDARD.encode(Sha256::digest(text)))
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Passes JSON on with `<` written as `\u003c`. In JSON a `<` can only be inside a string.
struct NoTags<'w> {
    out: &'w mut dyn Write,
}

impl Write for NoTags<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut first = true;
        for part in bytes.split(|&byte| byte == b'<') {
            if !std::mem::replace(&mut first, false) {
                self.out.write_all(b"\\u003c")?;
            }
            self.out.write_all(part)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_itself_is_small_and_asks_for_nothing() {
        let page = [STYLE, BODY, SCRIPT].concat();
        assert!(page.len() < 100_000, "{} bytes", page.len());
        for word in ["http:", "https:", "url(", "@import", "fetch(", "XMLHttpRequest", "innerHTML", "eval("] {
            assert!(!page.contains(word), "the page contains {word}");
        }
        assert!(!SCRIPT.contains("</"), "would end the script block");
    }

    #[test]
    fn tags_cannot_appear_in_the_data() {
        let mut out = Vec::new();
        NoTags { out: &mut out }.write_all(br#"["</script><!--","<"]"#).unwrap();
        assert_eq!(out, br#"["\u003c/script>\u003c!--","\u003c"]"#);
    }
}
