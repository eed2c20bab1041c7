//! What is allocated, and what took place when.

mod sampled;
mod timeline;
