//! Prints the Java constants of the arena's layout.
fn main() {
    print!("{}", quipu_arena::java::source());
}
