//! What is done with each method, from the bytes of its class.

use std::collections::HashMap;

use quipu_classfile::{ClassFile, access};
use quipu_rewrite::{Treatment, is_opaque, untouchable};

/// What a method is to the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Has a context below its caller's.
    Count,
    /// Has a context below the root for class loading, whoever calls it.
    CountLoading,
    /// No context; what it calls goes below the root for class loading.
    Loading,
    /// A leaf. What native code calls belongs to its caller.
    Native,
    /// A leaf that is bytecode to the interpreter; what it calls is hidden.
    Intrinsic,
    /// A leaf that is bytecode to the interpreter, in a class that cannot be touched: what it calls is its caller's.
    UntouchedIntrinsic,
    /// Neither it nor what it calls has a context.
    Hidden,
    /// No context; what it calls belongs to its caller.
    Transparent,
}

impl Role {
    /// Native, or replaced by the JIT.
    pub fn is_opaque(self) -> bool {
        matches!(self, Role::Native | Role::Intrinsic | Role::UntouchedIntrinsic)
    }
}

type Methods = HashMap<(Box<[u8]>, Box<[u8]>), Role>;

/// The roles of all methods of all classes that have passed the class-load hook.
#[derive(Debug, Default)]
pub struct Roles(HashMap<Box<[u8]>, Methods>);

impl Roles {
    /// Takes down the roles of a class's methods.
    pub fn learn(&mut self, class: &ClassFile<'_>) {
        let untouchable = untouchable(class.name());
        let methods = class.methods().map(|method| {
            let native = method.is(access::NATIVE);
            let role = match Treatment::of(&method, untouchable, false) {
                _ if is_opaque(&method) && native => Role::Native,
                Treatment::Leave(_) if is_opaque(&method) => Role::UntouchedIntrinsic,
                Treatment::Count if method.is_empty_finalizer() => Role::Transparent,
                Treatment::Count => Role::Count,
                Treatment::CountLoading => Role::CountLoading,
                Treatment::Opaque if !is_opaque(&method) => Role::Hidden,
                Treatment::Opaque => Role::Intrinsic,
                Treatment::Loading => Role::Loading,
                Treatment::Leave(_) => Role::Transparent,
            };
            ((method.name().into(), method.descriptor().into()), role)
        });
        let methods = methods.collect();
        self.0.insert(class.name().into(), methods);
    }

    /// A method's role. Classes that no hook is shown, hidden ones above all, are transparent.
    pub fn of(&self, class: &[u8], name: &[u8], descriptor: &[u8]) -> Role {
        let methods = self.0.get(class);
        let role = methods.and_then(|methods| methods.get(&(name.into(), descriptor.into())));
        role.copied().unwrap_or(Role::Transparent)
    }
}
