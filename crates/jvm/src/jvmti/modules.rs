//! Modules. On JDK 8 every call here is [`Cause::Unavailable`](crate::Cause::Unavailable): there are none to open.

use super::classes::references;
use super::memory::Allocation;
use super::{Jvmti, jvmti};
use crate::Result;
use crate::jni::{Env, Module, Object, Ref, raw_or_null};
use crate::sys::jobject;
use std::ffi::CStr;
use std::ptr::null_mut;

impl Jvmti {
    /// Every module, the unnamed ones of class loaders included.
    pub fn all_modules<'e>(self, _env: &Env<'e>) -> Result<Vec<Module<'e>>> {
        let (mut count, mut modules) = (0, null_mut::<jobject>());
        // SAFETY: the VM allocates `count` new local references to modules on this thread.
        unsafe {
            jvmti!(self, GetAllModules, &mut count, &mut modules)?;
            Ok(references(Allocation::from_raw(self, modules, count)))
        }
    }

    /// The named module that has a package (`java/lang`) in a loader, `None` for the boot loader.
    pub fn named_module<'e>(
        self,
        _env: &Env<'e>,
        loader: Option<Object<'_>>,
        package: &CStr,
    ) -> Result<Option<Module<'e>>> {
        let mut module = null_mut();
        let loader = raw_or_null(loader);
        // SAFETY: a valid loader or null, a C string; the VM writes null or a new local reference.
        unsafe {
            jvmti!(self, GetNamedModule, loader, package.as_ptr(), &mut module)?;
            Ok(Ref::from_raw(module))
        }
    }

    /// Lets a module read another.
    pub fn add_module_reads(self, module: Module<'_>, to: Module<'_>) -> Result<()> {
        // SAFETY: valid modules.
        unsafe { jvmti!(self, AddModuleReads, module.raw(), to.raw()) }
    }

    /// Exports a package (`jdk.internal.misc`) to another module: its public members become accessible.
    pub fn add_module_exports(self, module: Module<'_>, package: &CStr, to: Module<'_>) -> Result<()> {
        // SAFETY: valid modules and a C string.
        unsafe { jvmti!(self, AddModuleExports, module.raw(), package.as_ptr(), to.raw()) }
    }

    /// Opens a package to another module: all its members become accessible to reflection.
    pub fn add_module_opens(self, module: Module<'_>, package: &CStr, to: Module<'_>) -> Result<()> {
        // SAFETY: valid modules and a C string.
        unsafe { jvmti!(self, AddModuleOpens, module.raw(), package.as_ptr(), to.raw()) }
    }
}
