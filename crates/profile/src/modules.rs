//! Modules: that of a method as the profile says, or as its package does. What measures Java methods does not look modules
//! up; a package of the JDK is in one module only.

use crate::{MethodId, Profile, package_of};
use rustc_hash::FxHashMap;
use std::sync::OnceLock;

/// `module: package package …`, made by `scripts/jdk-modules`. Packages of `java`, `jdk` and `sun` stand for those below
/// them, too, unless these are there themselves.
const TABLE: &str = include_str!("jdk-modules.txt");

/// The module of the JDK that this package is in.
///
/// ```
/// use quipu_profile::jdk_module;
/// assert_eq!(jdk_module("java.util.concurrent"), Some("java.base"));
/// assert_eq!(jdk_module("java.util.logging"), Some("java.logging"));
/// assert_eq!(jdk_module("javax.xml.bind"), None);
/// ```
pub fn jdk_module(package: &str) -> Option<&'static str> {
    static MODULES: OnceLock<FxHashMap<&'static str, &'static str>> = OnceLock::new();
    let modules = MODULES.get_or_init(|| {
        let lines = TABLE.lines().filter_map(|line| line.split_once(": "));
        lines
            .flat_map(|(module, packages)| packages.split(' ').map(move |package| (package, module)))
            .collect()
    });
    let mut at = package;
    loop {
        if let Some(module) = modules.get(at) {
            return Some(module);
        }
        at = at.rsplit_once('.')?.0;
        let top = at.split('.').next()?;
        if !["java", "jdk", "sun"].contains(&top) {
            return None;
        }
    }
}

impl Profile {
    /// The module of a method, or the library of a function; empty if it is in none that is known.
    pub fn module_of(&self, method: MethodId) -> &str {
        let method = self.method(method);
        match self.str(method.module) {
            "" => jdk_module(package_of(self.str(method.class))).unwrap_or(""),
            module => module,
        }
    }
}
