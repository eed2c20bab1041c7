//! What is known about classes: those that pass the class-load hook, those of the JDK's run-time image, and those on the
//! application's class path.

use std::path::Path;
use std::sync::{LazyLock, Mutex};

use quipu_jvm::Jvmti;
pub use quipu_rewrite::World;

use crate::classpath::ClassPath;
use crate::jimage::RuntimeImage;
use crate::locks::lock;

/// A world that knows the classes of a VM.
pub fn of_vm(jvmti: Jvmti) -> World {
    // Opened when something is rewritten: sampling does not need it.
    let places = LazyLock::new(move || {
        let java_home = jvmti.system_property(c"java.home").unwrap_or_default();
        let java_home = Path::new(&java_home);
        let class_path = jvmti.system_property(c"java.class.path").unwrap_or_default();
        Mutex::new((RuntimeImage::open(java_home), ClassPath::open(&class_path, java_home)))
    });
    World::new(Box::new(move |name| {
        let (image, class_path) = &*lock(&places);
        image.as_ref().and_then(|image| image.class(name)).or_else(|| class_path.class(name))
    }))
}
