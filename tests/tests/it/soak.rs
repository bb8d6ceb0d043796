//! The first evaluations of a soak (see `src/bin/soak`): one disturbance among candidates of all sorts.

use std::process::Command;

#[test]
fn a_server_leaves_nothing_behind() {
    let mut soak = Command::new(env!("CARGO_BIN_EXE_soak"));
    soak.args(["--count", "10", "--binary"]).arg(kernelwright_tests::binary()).env("KERNELWRIGHT_PYTHON", kernelwright_tests::python());
    let ended = soak.output().unwrap();
    let said = String::from_utf8_lossy(&ended.stdout);
    assert!(ended.status.success(), "{said}");
    assert!(said.contains("crash") && said.contains("10 evaluations in") && said.contains(", 0 wrong answers"), "{said}");
}
