//! Quipu: profile.
