//! Java strings, through UTF-16: no detour over modified UTF-8, and nothing the VM could fail to encode.

use super::env::{Env, jni};
use super::refs::{Text, kind};
use crate::sys::jint;
use crate::{Cause, Error, Object, Result};

impl<'e> Env<'e> {
    /// Makes a `String`.
    pub fn new_text(&self, text: &str) -> Result<Text<'e>> {
        let call = "NewString";
        let units: Vec<u16> = text.encode_utf16().collect();
        let length = jint::try_from(units.len()).map_err(|_| Error::new(call, Cause::Argument))?;
        // SAFETY: `length` units, copied by the VM; the result is a new local reference to a string.
        unsafe {
            let string = jni!(self, v1_1.NewString, units.as_ptr(), length);
            self.wrap(call, string)
        }
    }

    /// What a `String` says; half characters become U+FFFD.
    pub fn text(&self, text: Text<'_>) -> String {
        // SAFETY: a valid string. The buffer has exactly the length the VM reports, and strings do not change.
        let units = unsafe {
            let length = jni!(self, v1_1.GetStringLength, text.raw());
            let mut units = vec![0_u16; usize::try_from(length).unwrap_or_default()];
            jni!(self, v1_2.GetStringRegion, text.raw(), 0, length, units.as_mut_ptr());
            units
        };
        String::from_utf16_lossy(&units)
    }

    /// The object as a string, if it is one.
    pub fn as_text<'o>(&self, object: Object<'o>) -> Option<Text<'o>> {
        let class = self.find_class(c"java/lang/String").ok()?;
        // SAFETY: just checked to be a string.
        self.is_instance(object, class).then(|| unsafe { object.cast::<kind::Text>() })
    }
}
