//! Rebuilds the crate when a built-in pack changes: cargo does not see files that a macro embeds.

fn main() {
    println!("cargo::rerun-if-changed=packs");
}
