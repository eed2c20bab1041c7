//! Methods and their lines.

use super::memory::{Allocation, CText};
use super::{Jvmti, jvmti};
use crate::jni::{Class, Env, MethodId, Ref};
use crate::sys::{JBool, jvmtiLineNumberEntry};
use crate::{Cause, Error, Result};
use std::ptr::null_mut;

/// A method's name and descriptor.
#[derive(Debug)]
pub struct MethodName {
    /// `toString`.
    pub name: CText,
    /// `()Ljava/lang/String;`.
    pub descriptor: CText,
}

impl Jvmti {
    /// What a method is called.
    pub fn method_name(self, method: MethodId) -> Result<MethodName> {
        let (mut name, mut descriptor) = (null_mut(), null_mut());
        // SAFETY: the VM checks the id, and allocates two texts; the null asks it to leave out the generic one.
        let texts = unsafe {
            jvmti!(self, GetMethodName, method.raw(), &mut name, &mut descriptor, null_mut())?;
            (CText::from_raw(self, name), CText::from_raw(self, descriptor))
        };
        match texts {
            (Some(name), Some(descriptor)) => Ok(MethodName { name, descriptor }),
            _ => Err(Error::new("GetMethodName", Cause::Null)),
        }
    }

    /// The class that declares a method.
    pub fn declaring_class<'e>(self, _env: &Env<'e>, method: MethodId) -> Result<Class<'e>> {
        let mut class = null_mut();
        // SAFETY: the VM checks the id, and writes a new local reference.
        unsafe {
            jvmti!(self, GetMethodDeclaringClass, method.raw(), &mut class)?;
            Ref::from_raw(class)
        }
        .ok_or(Error::new("GetMethodDeclaringClass", Cause::Null))
    }

    /// The method's access flags, as in a class file.
    pub fn method_modifiers(self, method: MethodId) -> Result<i32> {
        let mut modifiers = 0;
        // SAFETY: the VM checks the id, and writes one int.
        unsafe { jvmti!(self, GetMethodModifiers, method.raw(), &mut modifiers) }.map(|()| modifiers)
    }

    /// Whether a method is an old version, replaced by a retransformation while it ran.
    pub fn is_obsolete(self, method: MethodId) -> Result<bool> {
        let mut answer: JBool = 0;
        // SAFETY: the VM checks the id, and writes one byte.
        unsafe { jvmti!(self, IsMethodObsolete, method.raw(), &mut answer) }.map(|()| answer != 0)
    }

    /// Which bytecode index each line starts at; needs `CAN_GET_LINE_NUMBERS`, and is an error
    /// (JVMTI_ERROR_ABSENT_INFORMATION) for a class compiled without lines.
    pub fn line_numbers(self, method: MethodId) -> Result<Vec<jvmtiLineNumberEntry>> {
        let (mut count, mut lines) = (0, null_mut());
        // SAFETY: the VM checks the id, and allocates `count` entries.
        let lines = unsafe {
            jvmti!(self, GetLineNumberTable, method.raw(), &mut count, &mut lines)?;
            Allocation::from_raw(self, lines, count)
        };
        Ok(lines.map(|lines| lines.to_vec()).unwrap_or_default())
    }
}
