//! Quipu: collector.
