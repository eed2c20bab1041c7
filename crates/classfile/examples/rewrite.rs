//! Rewrites every class below a directory: `rewrite counter|full|edges IN OUT`.

#[allow(dead_code)]
#[path = "../tests/support/shapes.rs"]
mod shapes;

use std::path::{Path, PathBuf};

use quipu_classfile::ClassFile;
use shapes::{Rewriter, Shape};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [shape, input, output] = arguments.as_slice() else {
        return Err("usage: rewrite counter|full|edges IN OUT".into());
    };
    let shape = match shape.as_str() {
        "counter" => Shape::Counter,
        "full" => Shape::Full,
        "edges" => Shape::Edges,
        other => return Err(format!("no such shape: {other}").into()),
    };
    let mut rewriter = Rewriter::default();
    let mut directories = vec![PathBuf::from(input)];
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(directory)? {
            let path = entry?.path();
            if path.is_dir() {
                directories.push(path);
            } else if path.extension().is_some_and(|e| e == "class") {
                let bytes = std::fs::read(&path)?;
                let class = ClassFile::parse(&bytes)?;
                let to = Path::new(output).join(path.strip_prefix(input)?);
                std::fs::create_dir_all(to.parent().unwrap_or(Path::new(".")))?;
                std::fs::write(to, rewriter.rewrite(&class, shape))?;
            }
        }
    }
    for (method, reason) in &rewriter.refused {
        println!("{method}: {reason}");
    }
    println!("{} methods edited, {} left alone", rewriter.edited, rewriter.refused.len());
    Ok(())
}
