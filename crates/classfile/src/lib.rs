//! Quipu: classfile.
