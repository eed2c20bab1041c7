//! Agents that users write in Java: the API's classes are defined, then the agent is made from its jar.
//!
//! All of it runs before anything is instrumented, and without it nothing of it is there.

use std::sync::OnceLock;

use quipu_jvm::jni::kind;
use quipu_jvm::{Class, Env, Error, Global, MethodId, sys};

use crate::classes;
use crate::dialect;
use crate::options::JavaAgent;
use crate::session::Session;

struct Activation {
    class: Global<kind::Class>,
    install: MethodId,
    remove: MethodId,
}

static ACTIVATION: OnceLock<Activation> = OnceLock::new();

/// Makes the user's agent; threads call it once they run instrumented code.
pub fn install(session: &Session, env: &Env<'_>, agent: &JavaAgent, samples: bool) -> Result<(), Error> {
    if ACTIVATION.get().is_none() {
        let _ = ACTIVATION.set(define(session, env)?);
    }
    let Some(activation) = ACTIVATION.get() else { return Ok(()) };
    let (jar, class) = (env.new_text(&agent.jar)?, env.new_text(&agent.class)?);
    let arguments =
        [sys::jvalue { l: jar.raw() }, sys::jvalue { l: class.raw() }, sys::jvalue { z: samples }];
    // SAFETY: the method is this static one; it takes two strings and a boolean, and returns an object.
    let loader = unsafe { env.call_static_object(activation.class.get(), activation.install, &arguments)? };
    if let Some(loader) = loader {
        session.jvmti.set_tag(loader, Session::AGENT_LOADER.into())?;
    }
    session.note("option.agent", &format!("{}={}", agent.jar, agent.class));
    Ok(())
}

/// Nothing is instrumented any more; the agent, if there was one, is told.
pub fn remove(env: &Env<'_>) -> Result<(), Error> {
    let Some(activation) = ACTIVATION.get() else { return Ok(()) };
    // SAFETY: the method takes and returns nothing.
    unsafe { env.call_static_void(activation.class.get(), activation.remove, &[]) }
}

fn define(session: &Session, env: &Env<'_>) -> Result<Activation, Error> {
    let mut last: Option<Class<'_>> = None;
    for (name, bytes) in classes::AGENT.unpack() {
        last = Some(dialect::define(env, session.jvmti, name, &bytes)?);
    }
    let class = match last {
        Some(class) => class,
        None => env.find_class(c"java/quipu/Activation")?,
    };
    Ok(Activation {
        install: env.static_method(
            class,
            c"install",
            c"(Ljava/lang/String;Ljava/lang/String;Z)Ljava/lang/Object;",
        )?,
        remove: env.static_method(class, c"remove", c"()V")?,
        class: env.new_global(class)?,
    })
}
