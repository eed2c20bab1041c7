//! Quipu: arena.
