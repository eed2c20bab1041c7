//! What is known about classes: those that pass the class-load hook, and those of the JDK's run-time image.

use std::path::Path;
use std::sync::{LazyLock, Mutex};

pub use quipu_rewrite::World;

use crate::jimage::RuntimeImage;
use crate::locks::lock;

/// A world that knows the JDK's classes.
pub fn of_jdk(java_home: &Path) -> World {
    let java_home = java_home.to_owned();
    // Opened when something is rewritten: sampling does not need it.
    let image = LazyLock::new(move || Mutex::new(RuntimeImage::open(&java_home)));
    World::new(Box::new(move |name| lock(&image).as_ref().and_then(|image| image.class(name))))
}
