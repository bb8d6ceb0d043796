//! Makes cargo notice new and changed templates, which it does not by itself for an embedded folder.

fn main() {
    println!("cargo::rerun-if-changed=templates");
}
