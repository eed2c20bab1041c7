//! Quipu: rewrite.
