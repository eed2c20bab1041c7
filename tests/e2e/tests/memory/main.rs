//! What is allocated, and what took place when.

mod all;
mod collectors;
mod sampled;
mod survivors;
mod timeline;

/// Headers of 12 bytes, and 16 of arrays, also where smaller ones are the default, so that sizes are known.
const HEADERS: [&str; 2] = ["-XX:+IgnoreUnrecognizedVMOptions", "-XX:-UseCompactObjectHeaders"];

/// How far off samples of JDK 11 are besides chance, at the intervals that tests use: HotSpot takes some too early there, the shorter the
/// interval, the more.
fn too_early(jdk: u32) -> f64 {
    if jdk < 17 { 0.1 } else { 0.0 }
}
