//! Makes cargo notice files added to or removed from the embedded Python package.

fn main() {
    println!("cargo:rerun-if-changed=python");
}
