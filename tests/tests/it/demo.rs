//! The demo has to work on whatever processor it is tried on, and its kernels were recorded on one.

use std::path::Path;
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

/// Old, usual and new: without AVX, with AVX2, with AVX-512.
#[cfg(target_arch = "x86_64")]
const PROCESSORS: [&str; 3] = ["x86-64", "x86-64-v3", "x86-64-v4"];
#[cfg(not(target_arch = "x86_64"))]
const PROCESSORS: [&str; 1] = ["native"];

/// The C++ of every kernel that the model wrote.
fn recorded(events: &str) -> Vec<String> {
    let records = events.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let answers = records.filter(|record| record["type"] == "model_answered");
    let calls = answers.flat_map(|record| record["answer"]["calls"].as_array().cloned().unwrap_or_default());
    let files = calls.filter_map(|call| Some(call["arguments"]["object"]["source"].as_str()?.to_owned()));
    files.map(|file| file.split("\"\"\"").nth(1).expect("its C++ is the first long string").to_owned()).collect()
}

#[test]
fn its_kernels_build_for_processors_with_and_without_wide_vectors() {
    let folder = TempDir::new().unwrap();
    let recordings = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/recordings");
    let mut built = 0;
    for recording in std::fs::read_dir(recordings).unwrap() {
        let events = std::fs::read_to_string(recording.unwrap().path().join("events.jsonl")).unwrap();
        for (at, source) in recorded(&events).iter().enumerate() {
            let file = folder.path().join(format!("{at}.cpp"));
            std::fs::write(&file, source).unwrap();
            for processor in PROCESSORS {
                let mut compiler = Command::new("g++");
                compiler.args(["-O3", "-std=c++20", "-fopenmp", "-S", "-o", "/dev/null"]).arg(format!("-march={processor}")).arg(&file);
                let said = compiler.output().unwrap();
                assert!(said.status.success(), "for {processor}: {}\n{source}", String::from_utf8_lossy(&said.stderr));
                built += 1;
            }
        }
    }
    assert!(built >= 2 * PROCESSORS.len(), "the demo has two problems");
}
