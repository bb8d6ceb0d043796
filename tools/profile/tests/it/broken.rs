//! Files that are cut, changed or made to harm: each gives an error that says what and where, or a capture of what is left, and never more.

use kernelwright_profile::{Fault, Format, ImportError, import};

use crate::encode::{Message, block, report};
use crate::{fixture, import_bytes, unpacked};

/// Random enough to hit every part of a file, and the same in every run.
struct Positions(u64);

impl Positions {
    fn next(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % below as u64) as usize
    }
}

const REPORT: &str = "ncu/CuVectorAddDrv.ncu-rep.gz";
/// With samples of instructions and line tables.
const SAMPLED: &str = "ncu/manual_nvtx.ncu-rep.gz";
const TRACE: &str = "torch/cpu.json.gz";

/// What may come of a broken file.
fn expect_told(outcome: Result<kernelwright_profile::Capture, ImportError>, what: &str) {
    if let Err(error) = outcome {
        assert!(!error.hint().is_empty());
        assert!(!matches!(error.fault, Fault::Unreadable(_)), "{what}: {error}");
    }
}

#[test]
fn a_report_cut_anywhere_is_refused_or_has_fewer_launches() {
    let report = unpacked(REPORT);
    let whole = import_bytes(&report).unwrap();
    let cuts = (0..64).chain((64..report.len()).step_by(211)).chain(report.len() - 64..report.len());
    for cut in cuts {
        match import_bytes(&report[..cut]) {
            Ok(capture) => assert_eq!(capture.raw, whole.raw, "cut at {cut}, after the launch"),
            Err(error) => assert!(["file_truncated", "file_empty", "format_unknown"].contains(&error.code()), "cut at {cut}: {error}"),
        }
    }
}

#[test]
fn a_trace_cut_anywhere_is_refused() {
    let trace = unpacked(TRACE);
    let begin = trace.windows(13).position(|window| window == b"\"traceEvents\"").unwrap() + 13;
    for cut in (begin..trace.len() - 8).step_by(97) {
        let error = import_bytes(&trace[..cut]).unwrap_err();
        assert_eq!(error.code(), "file_truncated", "cut at {cut}: {error}");
    }
}

#[test]
fn changed_bytes_never_bring_it_down() {
    let mut positions = Positions(0x9e37_79b9_7f4a_7c15);
    for (name, times) in [(REPORT, 200), (SAMPLED, 100), (TRACE, 200)] {
        let whole = unpacked(name);
        for _ in 0..times {
            let mut broken = whole.clone();
            for _ in 0..=positions.next(4) {
                let at = positions.next(broken.len());
                broken[at] = broken[at].wrapping_add(1 + positions.next(255) as u8);
            }
            expect_told(import_bytes(&broken), name);
        }
        // The headers decide how everything else is read.
        for at in 0..100 {
            for value in [0, 0xff] {
                let mut broken = whole.clone();
                broken[at] = value;
                expect_told(import_bytes(&broken), name);
            }
        }
    }
}

#[test]
fn changed_bytes_in_the_package_are_noticed() {
    let packed = std::fs::read(fixture(REPORT)).unwrap();
    let error = import_bytes(&packed[..packed.len() / 2]).unwrap_err();
    assert!(matches!(error.fault, Fault::Truncated { format: Format::Gzip, .. }), "{error}");
    let mut broken = packed.clone();
    broken[packed.len() / 2] ^= 0xff;
    assert!(matches!(import_bytes(&broken).unwrap_err().fault, Fault::Damaged { format: Format::Gzip, .. }));
}

#[test]
fn sizes_and_counts_that_a_report_claims_are_not_believed() {
    let header = |launches, payload| Message::default().integer(2, launches).integer(5, payload);
    let error = import_bytes(&block(7, &header(0, 1 << 62), b"")).unwrap_err();
    assert!(matches!(&error.fault, Fault::Truncated { format: Format::NcuReport, at } if at.contains("block 0")), "{error}");
    // In four bytes there is room for one launch of which nothing is said.
    let error = import_bytes(&block(7, &header(1 << 62, 4), &[0; 4])).unwrap_err();
    assert!(matches!(&error.fault, Fault::Damaged { why, .. } if why.contains("passes")), "{error}");
    let capture = import_bytes(&block(7, &header(1, 4), &[0; 4])).unwrap();
    assert_eq!((capture.kernels.len(), capture.raw[0].len()), (1, 0));
    assert!(capture.limits[0].contains("no durations"), "{:?}", capture.limits);
}

/// Small things that would each take much memory.
#[test]
fn files_of_many_empty_things_are_refused() {
    let frames = format!("[{{\"frame\": {{}}}}{}]", ",{}".repeat(4 << 20));
    assert_eq!(import_bytes(frames.as_bytes()).unwrap_err().code(), "file_too_large");
    let error = import_bytes(&report(&vec![""; 2 << 20], &[], &[])).unwrap_err();
    assert!(matches!(&error.fault, Fault::Damaged { why, .. } if why.contains("a million")), "{error}");
    let columns = format!("\"ID\",\"Kernel Name\"{}\n", ",".repeat(1 << 20));
    assert_eq!(import_bytes(columns.as_bytes()).unwrap_err().code(), "file_damaged");
    let events = format!("{{\"traceEvents\": [{{}}{}]}}", ",{}".repeat(1 << 20));
    assert_eq!(import_bytes(events.as_bytes()).unwrap_err().code(), "file_empty");
}

#[test]
fn other_versions_are_named() {
    let newer = import_bytes(&block(8, &Message::default(), b"")).unwrap_err();
    assert_eq!((newer.code(), newer.hint().contains("--page raw --csv")), ("format_version", true));
    assert!(newer.to_string().contains("version 8") && newer.to_string().contains("version 7"), "{newer}");
    let older = import_bytes(&block(6, &Message::default(), b"")).unwrap_err();
    assert!(older.hint().contains("too old"), "{}", older.hint());
}

#[test]
fn what_is_no_profile_is_told_with_what_was_looked_for() {
    for content in
        [&b""[..], b"\0\0\0", b"SQLite format 3\0", b"{\"a\": 1}", b"[1, 2]", b"ID,Name\n1,2\n", b"\x7fELF\x02\x01", &[0xff; 100]]
    {
        let error = import_bytes(content).unwrap_err();
        assert_eq!(error.code(), "format_unknown", "{error}");
        let said = error.to_string();
        for known in ["Nsight Compute report", "CSV", "Proton", "Torch"] {
            assert!(said.contains(known), "{said}");
        }
    }
    assert_eq!(import_bytes(b"\x28\xb5\x2f\xfd\x00").unwrap_err().code(), "format_packed");
}

#[test]
fn a_missing_file_and_a_folder_are_unreadable() {
    for path in [fixture("ncu/none.ncu-rep"), fixture("ncu")] {
        let error = import(&path).unwrap_err();
        assert_eq!(error.code(), "file_unreadable");
        assert!(error.to_string().contains(&path.display().to_string()), "{error}");
    }
}

#[test]
fn json_of_another_form_is_damaged_where_it_differs() {
    let error = import_bytes(b"{\"traceEvents\": [\n{\"ph\": \"X\", \"ts\": \"soon\"}]}").unwrap_err();
    assert!(matches!(&error.fault, Fault::Damaged { format: Format::TorchTrace, at, .. } if at.starts_with("in line 2")), "{error}");
    let error = import_bytes(b"[{\"frame\": {\"name\": 3}}]").unwrap_err();
    assert!(matches!(&error.fault, Fault::Damaged { format: Format::Proton, .. }), "{error}");
}
