//! JNI: the VM, the environment of a thread, and references to its objects.

mod arrays;
mod call;
mod classes;
mod env;
mod fields;
mod refs;
mod strings;
mod vm;

pub use classes::NativeMethod;
pub use env::Env;
pub(crate) use refs::raw_or_null;
pub use refs::{Array, Class, FieldId, Global, MethodId, Module, Object, Ref, Text, Thread, Weak, kind};
pub use vm::{Attached, Jvm};
