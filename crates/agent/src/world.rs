//! What is known about classes: those that pass the class-load hook, those of the JDK's run-time image, and those on the
//! application's class path.

use std::path::Path;
use std::sync::{LazyLock, Mutex};

use quipu_jvm::{Jvmti, jdk_version};
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
        // JDK 8 has jars in the place of an image, and names them.
        let path = match jvmti.system_property(c"sun.boot.class.path") {
            Ok(boot) => format!("{boot}:{class_path}"),
            Err(_) => class_path,
        };
        let feature = jdk_version(jvmti).map_or(0, |version| version.feature);
        Mutex::new((RuntimeImage::open(java_home, feature), ClassPath::open(&path, java_home)))
    });
    World::new(Box::new(move |name| {
        let (image, class_path) = &*lock(&places);
        image.as_ref().and_then(|image| image.class(name)).or_else(|| class_path.class(name))
    }))
}
