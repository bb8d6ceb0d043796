//! What `ncu --csv` prints, in the forms of its raw and its details page.

use std::fmt::Write as _;

use kernelwright_profile::{Capture, import};
use kernelwright_protocol::{LaunchShape, Metric, StallReason};

use crate::{fixture, import_bytes};

const ABOUT: &str =
    r#""ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC""#;

fn figure(capture: &Capture, kernel: usize, metric: Metric) -> f64 {
    capture.kernels[kernel].figures.get(metric).unwrap_or(f64::NAN)
}

/// The raw page of a real report, printed in the base units and with all digits.
#[test]
fn the_raw_page_gives_what_the_report_gives() {
    let report = import(&fixture("ncu/manual_nvtx.ncu-rep.gz")).unwrap();
    let names: Vec<&str> = report.raw[0].iter().map(|figure| figure.name.as_str()).collect();
    let mut page = format!("==PROF== Connected to process 7 (python)\nloss: 0.5, done\n==PROF== Disconnected from process 7\n{ABOUT}");
    for name in names {
        write!(page, r#","{name}""#).unwrap();
    }
    page.push_str("\n\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\"");
    for figure in &report.raw[0] {
        write!(page, r#","{}""#, figure.unit).unwrap();
    }
    for (id, (kernel, raw)) in report.kernels.iter().zip(&report.raw).enumerate() {
        let LaunchShape { grid, block } = kernel.launch.unwrap();
        let sides = |[x, y, z]: [u32; 3]| format!("({x}, {y}, {z})");
        let (name, grid, block) = (&kernel.time.name, sides(grid), sides(block));
        write!(page, r#"{}"{id}","7","python","127.0.0.1","{name}","1","7","{block}","{grid}","0","8.6""#, '\n').unwrap();
        for figure in raw {
            write!(page, r#","{}""#, figure.value).unwrap();
        }
    }
    page.push('\n');
    let table = import_bytes(page.as_bytes()).unwrap();
    assert_eq!(table.raw, report.raw);
    for (from_table, from_report) in table.kernels.iter().zip(&report.kernels) {
        assert_eq!((&from_table.time, &from_table.launch), (&from_report.time, &from_report.launch));
        assert_eq!((&from_table.figures, &from_table.stalls), (&from_report.figures, &from_report.stalls));
    }
}

#[test]
fn units_with_prefixes_and_separators_of_thousands_are_read() {
    let page = format!(
        "{ABOUT},\"dram__bytes.sum.per_second\",\"gpu__time_duration.sum\",\"launch__grid_size\",\"lts__t_sector_hit_rate.pct\",\"smsp__cycles_elapsed.avg.per_second\"\n\
         \"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"Tbyte/s\",\"ms\",\"\",\"%\",\"cycle/nsecond\"\n\
         \"0\",\"7\",\"python\",\"h\",\"softmax\",\"1\",\"7\",\"(256, 1, 1)\",\"(1024, 2, 1)\",\"0\",\"9.0\",\"3.25\",\"1.5\",\"2,048\",\"81.5\",\"1.75\"\n"
    );
    let capture = import_bytes(page.as_bytes()).unwrap();
    let figures = [Metric::DramBytesPerS, Metric::DurationNs, Metric::Blocks, Metric::L2HitShare, Metric::SmClockHz];
    assert_eq!(figures.map(|metric| figure(&capture, 0, metric)), [3.25e12, 1.5e6, 2048.0, 0.815, 1.75e9]);
    assert_eq!(capture.kernels[0].time.time_per_call_ns.0, 1_500_000);
    assert_eq!(capture.kernels[0].launch, Some(LaunchShape { grid: [1024, 2, 1], block: [256, 1, 1] }));
}

#[test]
fn the_details_page_is_read_by_its_words_and_sections() {
    let row = |id: u32, section: &str, name: &str, unit: &str, value: &str| {
        format!(
            "\"{id}\",\"7\",\"python\",\"h\",\"gemm<float, 4>(const float *)\",\"1\",\"7\",\"(128, 1, 1)\",\"(20, 1, 1)\",\"0\",\"9.0\",\"{section}\",\"{name}\",\"{unit}\",\"{value}\",\n"
        )
    };
    let launch = |id: u32, duration: &str| {
        [
            row(id, "GPU Speed Of Light Throughput", "Duration", "us", duration),
            row(id, "GPU Speed Of Light Throughput", "Memory Throughput", "%", "21.68"),
            row(id, "GPU Speed Of Light Throughput", "SM Frequency", "Ghz", "1.25"),
            format!("\"{id}\",\"7\",\"python\",\"h\",\"gemm<float, 4>(const float *)\",\"1\",\"7\",\"(128, 1, 1)\",\"(20, 1, 1)\",\"0\",\"9.0\",\"SpeedOfLight\",\"\",\"\",\"\",\"SOLBottleneck\",\"OPT\",\"Look at \"\"Memory\"\",\nthen at the rest.\",\"\",\"\"\n"),
            row(id, "Memory Workload Analysis", "Memory Throughput", "Gbyte/s", "812.5"),
            row(id, "Memory Workload Analysis", "L2 Compression Ratio", "", "0"),
            row(id, "Launch Statistics", "Registers Per Thread", "register/thread", "128"),
            row(id, "Launch Statistics", "Static Shared Memory Per Block", "Kbyte/block", "16.5"),
            row(id, "Occupancy", "Theoretical Occupancy", "%", "25"),
            row(id, "Command line profiler metrics", "smsp__warp_issue_stalled_long_scoreboard_per_warp_active.pct", "%", "40"),
            row(id, "Command line profiler metrics", "dram__bytes_read.sum", "byte", "n/a"),
        ]
        .concat()
    };
    let header = format!(
        "{ABOUT},\"Section Name\",\"Metric Name\",\"Metric Unit\",\"Metric Value\",\"Rule Name\",\"Rule Type\",\"Rule Description\",\"Estimated Speedup Type\",\"Estimated Speedup\"\n"
    );
    let page = format!("{header}{}==PROF== a remark\n{}{}", launch(0, "1,205.00"), launch(1, "1,000"), launch(2, "990.5"));
    let capture = import_bytes(page.as_bytes()).unwrap();
    assert_eq!((capture.kernels.len(), capture.kernels[0].time.launches_per_call), (1, 3.0));
    let figures = [
        Metric::DurationNs,
        Metric::MemoryThroughputShare,
        Metric::DramBytesPerS,
        Metric::SmClockHz,
        Metric::RegistersPerThread,
        Metric::StaticSharedBytes,
        Metric::TheoreticalOccupancyShare,
    ];
    assert_eq!(figures.map(|metric| figure(&capture, 0, metric)), [1e6, 0.2168, 812.5e9, 1.25e9, 128.0, 16500.0, 0.25]);
    assert_eq!(capture.kernels[0].figures.get(Metric::DramReadBytes), None);
    assert_eq!(capture.kernels[0].stalls[0].reason, StallReason::LongScoreboard);
    assert!(capture.raw[0].iter().any(|figure| figure.name == "Memory Workload Analysis: L2 Compression Ratio"));
}

#[test]
fn a_table_that_was_cut_is_not_taken_for_a_whole_one() {
    let page = format!(
        "{ABOUT},\"gpu__time_duration.sum\",\"launch__grid_size\"\n\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"ns\",\"\"\n\
         \"0\",\"7\",\"python\",\"h\",\"softmax\",\"1\",\"7\",\"(256, 1, 1)\",\"(1024, 2, 1)\",\"0\",\"9.0\",\"123456\",\"2048\""
    );
    assert_eq!(import_bytes(page.as_bytes()).unwrap().kernels.len(), 1);
    let row = page.rfind("\"0\",\"7\"").unwrap() + 3;
    for cut in row..page.len() {
        let error = import_bytes(&page.as_bytes()[..cut]).unwrap_err();
        assert_eq!(error.code(), "file_truncated", "cut at {cut}: {error}");
    }
}

#[test]
fn a_table_without_launches_says_so() {
    let error = import_bytes(format!("==PROF== nothing\n{ABOUT},\"gpu__time_duration.sum\"\n").as_bytes()).unwrap_err();
    assert_eq!(error.code(), "file_empty");
    assert!(error.hint().contains("--kernel-name"), "{}", error.hint());
}
