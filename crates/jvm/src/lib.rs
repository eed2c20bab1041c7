//! Quipu: jvm.
