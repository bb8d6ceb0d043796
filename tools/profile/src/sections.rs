//! A kept report, section by section and page by page: everything that the digest leaves out.

use std::fmt::Write as _;

use kernelwright_protocol::{ContentHash, Figures, HotLine, KernelProfile, ProfilePage};

use crate::error::ProfileError;
use crate::report::Report;

/// About a thousand tokens.
const PAGE_BYTES: usize = 3_500;

/// A section's name, and whether it is about one kernel.
const SECTIONS: [(&str, bool); 8] = [
    ("kernels", false),
    ("causes", false),
    ("before", false),
    ("limits", false),
    ("figures", true),
    ("stalls", true),
    ("source", true),
    ("raw", true),
];

/// What of a report is asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// The section's name.
    pub section: String,
    /// The kernel's name or a part of it; without it the most expensive kernel.
    pub kernel: Option<String>,
    /// The first line.
    pub offset: usize,
}

/// The sections in which a report has something.
pub(crate) fn sections(report: &Report) -> Vec<&'static str> {
    let all = 0..report.capture.kernels.len();
    let filled = |name: &str, of_kernel: bool| {
        if of_kernel { all.clone().any(|kernel| !lines(report, name, kernel).is_empty()) } else { !lines(report, name, 0).is_empty() }
    };
    SECTIONS.iter().filter(|(name, of_kernel)| filled(name, *of_kernel)).map(|(name, _)| *name).collect()
}

/// One page.
pub(crate) fn page(id: &ContentHash, report: &Report, reading: &Reading) -> Result<ProfilePage, ProfileError> {
    let Reading { section, kernel, offset } = reading;
    let known = SECTIONS.iter().find(|(name, _)| name == section);
    let (name, of_kernel) =
        *known.ok_or_else(|| ProfileError::NoSuchSection { section: section.clone(), known: sections(report).join(", ") })?;
    let position = if of_kernel { find(&report.capture.kernels, kernel.as_deref())? } else { 0 };
    let lines = lines(report, name, position);
    let total = lines.len();
    let mut room = PAGE_BYTES;
    let fits = |line: &String| {
        // Every page has a line, so that a long one stops nobody.
        let first = room == PAGE_BYTES;
        let fits = first || line.len() <= room;
        room = room.saturating_sub(line.len() + 4);
        fits
    };
    let lines: Vec<String> = lines.into_iter().skip(*offset).take_while(fits).collect();
    let next = offset.saturating_add(lines.len());
    Ok(ProfilePage {
        id: id.clone(),
        section: section.clone(),
        kernel: report.capture.kernels.get(position).filter(|_| of_kernel).map(|kernel| kernel.time.name.clone()),
        offset: *offset,
        lines,
        total,
        next_offset: (next < total).then_some(next),
    })
}

/// The kernel of this name, or the first whose name holds it.
fn find(kernels: &[KernelProfile], name: Option<&str>) -> Result<usize, ProfileError> {
    let Some(name) = name else { return Ok(0) };
    let named = |test: &dyn Fn(&str) -> bool| kernels.iter().position(|kernel| test(&kernel.time.name));
    // The digest cuts long names.
    let part = name.trim_end_matches('…');
    named(&|full| full == name).or_else(|| named(&|full| full.contains(part))).ok_or_else(|| ProfileError::NoSuchKernel(name.to_owned()))
}

fn lines(report: &Report, section: &str, position: usize) -> Vec<String> {
    let kernels = &report.capture.kernels;
    let kernel = kernels.get(position);
    match section {
        "kernels" => kernels.iter().map(kernel_line).collect(),
        "causes" => causes(report),
        "before" => report.before.iter().map(|time| kernel_line(&KernelProfile::from(time.clone()))).collect(),
        "limits" => report.limits.clone(),
        "figures" => {
            let figures = kernel.map(|kernel| &kernel.figures).into_iter().flat_map(Figures::iter);
            figures.map(|(metric, value)| format!("{}: {} ({value})", metric.name(), metric.show(value))).collect()
        }
        "stalls" => {
            let stalls = kernel.map(|kernel| kernel.stalls.as_slice()).unwrap_or_default();
            stalls.iter().map(|stall| format!("{}: {:.1} %", stall.reason, stall.share * 100.0)).collect()
        }
        "source" => kernel.map(|kernel| kernel.hot_lines.as_slice()).unwrap_or_default().iter().map(hot_line).collect(),
        "raw" => {
            let raw = report.capture.raw.get(position).map(Vec::as_slice).unwrap_or_default();
            raw.iter().map(|figure| format!("{} = {} {}", figure.name, figure.value, figure.unit).trim_end().to_owned()).collect()
        }
        _ => Vec::new(),
    }
}

fn kernel_line(kernel: &KernelProfile) -> String {
    let KernelProfile { time, launch, .. } = kernel;
    let launch = launch.map(|launch| format!(", {launch}")).unwrap_or_default();
    format!("{:.1} % {} ({} per call) {}{launch}", time.share * 100.0, time.time_per_call_ns, time.launches_per_call, time.name)
}

fn causes(report: &Report) -> Vec<String> {
    let found = report.diagnoses.iter().map(|diagnosis| {
        let place = diagnosis.kernel.as_ref().map(|kernel| format!(" in {kernel}")).unwrap_or_default();
        format!("{}{place}, {:.0} % of the call at stake: {}", diagnosis.cause, diagnosis.at_stake * 100.0, diagnosis.summary)
    });
    found.chain(report.ruled_out.iter().map(|one| format!("not {}: {}", one.cause, one.because))).collect()
}

fn hot_line(line: &HotLine) -> String {
    let mut text = format!("{:.1} % {}", line.share * 100.0, line.place);
    if let Some(reason) = line.waits_for {
        // Writing into a `String` does not fail.
        let _ = write!(text, ", waits for {reason}");
    }
    for part in [&line.source, &line.instruction].into_iter().flatten() {
        text.push_str(" | ");
        text.push_str(part.trim());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{id, report};

    fn read(section: &str, kernel: Option<&str>, offset: usize) -> Result<ProfilePage, ProfileError> {
        let reading = Reading { section: section.to_owned(), kernel: kernel.map(str::to_owned), offset };
        page(&id(), &report(3), &reading)
    }

    #[test]
    fn sections_hold_what_was_measured() {
        assert_eq!(sections(&report(3)), ["kernels", "causes", "limits", "figures", "stalls", "source", "raw"]);
        let text = |section| read(section, None, 0).unwrap().lines.join("\n");
        insta::assert_snapshot!(["kernels", "figures", "stalls", "source", "raw"].map(text).join("\n\n"), @"
        60.0 % 180 us (1 per call) kernel_0, 4096x1x1 blocks of 256x1x1
        13.3 % 40.0 us (1 per call) kernel_1, 4096x1x1 blocks of 256x1x1
        13.3 % 40.0 us (1 per call) kernel_2, 4096x1x1 blocks of 256x1x1

        duration_ns: 180 us (180123.4)
        registers_per_thread: 32 (32)
        theoretical_occupancy_share: 100.0 % (1)
        achieved_occupancy_share: 91.2 % (0.9123456789)
        compute_throughput_share: 10.0 % (0.1)
        memory_throughput_share: 80.0 % (0.8)
        dram_throughput_share: 41.0 % (0.41)
        dram_bytes_per_s: 1.97 TB/s (1967123456789)
        l2_hit_share: 50.0 % (0.5)
        sectors_per_load: 32 (32)
        excess_sectors_share: 86.1 % (0.861234567)
        shared_conflict_share: 0.0 % (0)

        long_scoreboard: 75.0 %
        wait: 5.0 %

        63.0 % columns.py:17, waits for long_scoreboard | x = tl.load(p + rows * stride) | LDG.E R2, [R2.64]

        dram__bytes_read.sum = 134217728 byte
        ");
    }

    #[test]
    fn a_section_of_a_kernel_is_found_by_a_part_of_its_name() {
        assert_eq!(read("figures", Some("kernel_1…"), 0).unwrap().kernel.as_deref(), Some("kernel_1"));
        assert_eq!(read("figures", None, 0).unwrap().kernel.as_deref(), Some("kernel_0"));
        assert_eq!(read("figures", Some("gemm"), 0).unwrap_err().code(), "no_such_kernel");
        let error = read("registers", None, 0).unwrap_err();
        assert_eq!(error.to_string(), "there is no section `registers`; there are kernels, causes, limits, figures, stalls, source, raw");
    }

    #[test]
    fn pages_follow_each_other_without_gaps() {
        let report = report(500);
        let (mut offset, mut seen, mut pages) = (Some(0), 0, 0);
        while let Some(from) = offset {
            let page = page(&id(), &report, &Reading { section: "kernels".into(), kernel: None, offset: from }).unwrap();
            assert!(serde_json::to_string(&page.lines).unwrap().len() < 4_000);
            seen += page.lines.len();
            (offset, pages) = (page.next_offset, pages + 1);
        }
        assert_eq!((seen, pages > 5), (500, true));
        assert_eq!(read("kernels", None, 1_000).unwrap().lines, Vec::<String>::new());
    }
}
