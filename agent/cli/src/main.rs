//! The `kernelwright` executable.

fn main() {}
