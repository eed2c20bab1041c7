//! Quipu: formats.
