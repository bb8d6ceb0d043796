//! A kept report, section by section and page by page: everything that the digest leaves out.

use std::fmt::Write as _;

use kernelwright_protocol::{ContentHash, Figures, HotLine, KernelProfile, ProfilePage};

use crate::error::{Contradiction, NoKernel, ProfileError};
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

/// The kernels that an error names, and how much of the name of each: those of templates fill a screen.
const NAMED_KERNELS: usize = 8;
const NAME_CHARACTERS: usize = 80;

/// What of a report is asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// The section's name.
    pub section: String,
    /// The kernel's name or a part of it, in a section of one kernel; without it the most expensive one that has the section.
    pub kernel: Option<String>,
    /// The first line.
    pub offset: usize,
}

/// The names of all sections.
pub(crate) fn names() -> [&'static str; SECTIONS.len()] {
    SECTIONS.map(|(name, _)| name)
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
    let known = sections(report);
    // An empty page would read as if nothing had been found where nothing was looked for.
    let found = SECTIONS.iter().find(|(name, _)| name == section && known.contains(name));
    let (name, of_kernel) = *found.ok_or_else(|| ProfileError::NoSuchSection { section: section.clone(), known: known.join(", ") })?;
    let position = match kernel {
        Some(_) if !of_kernel => return Err(ProfileError::Arguments(Contradiction::KernelOfWhole { section: name })),
        kernel if of_kernel => find(report, name, kernel.as_deref())?,
        _ => 0,
    };
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

/// The kernel of this name, or the first whose name holds it, of those that have this section.
fn find(report: &Report, section: &'static str, name: Option<&str>) -> Result<usize, ProfileError> {
    let kernels = &report.capture.kernels;
    let named = |position: &usize| kernels[*position].time.name.as_str();
    let filled: Vec<usize> = (0..kernels.len()).filter(|position| !lines(report, section, *position).is_empty()).collect();
    let wanted = name.unwrap_or_default();
    // The digest cuts long names.
    let part = wanted.trim_end_matches('…');
    // Another kernel with a longer name is not what a whole name stands for.
    let is_whole = kernels.iter().any(|kernel| kernel.time.name == wanted);
    let fits = |full: &str| if is_whole { full == wanted } else { full.contains(part) };
    filled.iter().copied().find(|position| fits(named(position))).ok_or_else(|| {
        // Launches of several shapes have one name.
        let known = filled.iter().map(named).fold(Vec::new(), |mut known, name| {
            if !known.contains(&name) {
                known.push(name);
            }
            known
        });
        ProfileError::NoSuchKernel(NoKernel { name: wanted.to_owned(), section, known: listed(&known) })
    })
}

/// These names, or as many of them as an error has room for.
fn listed(names: &[&str]) -> String {
    let cut = |name: &&str| match name.char_indices().nth(NAME_CHARACTERS) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => (*name).to_owned(),
    };
    let mut listed: Vec<String> = names.iter().take(NAMED_KERNELS).map(cut).collect();
    if names.len() > NAMED_KERNELS {
        listed.push(format!("{} more", names.len() - NAMED_KERNELS));
    }
    listed.join(", ")
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
        let error = read("figures", Some("gemm"), 0).unwrap_err();
        assert_eq!(error.code(), "no_such_kernel");
        assert_eq!(error.to_string(), "the profile has no kernel `gemm` with `figures`; those with it: kernel_0, kernel_1, kernel_2");
    }

    #[test]
    fn a_section_that_the_profile_has_not_is_an_error() {
        // The problem's own profile has nothing before it; nobody knows a section `registers`.
        for section in ["before", "registers"] {
            let error = read(section, None, 0).unwrap_err();
            let known = "it has kernels, causes, limits, figures, stalls, source, raw";
            assert_eq!((error.code(), error.to_string()), ("no_such_section", format!("the profile has no section `{section}`; {known}")));
        }
    }

    #[test]
    fn a_section_of_kernels_is_of_one_that_has_it() {
        let mut report = report(3);
        report.capture.kernels[0].stalls.clear();
        let stalls = |kernel: Option<&str>| {
            page(&id(), &report, &Reading { section: "stalls".into(), kernel: kernel.map(str::to_owned), offset: 0 })
        };
        assert_eq!(stalls(None).unwrap().kernel.as_deref(), Some("kernel_1"));
        let error = stalls(Some("kernel_0")).unwrap_err();
        assert_eq!(error.to_string(), "the profile has no kernel `kernel_0` with `stalls`; those with it: kernel_1, kernel_2");
    }

    #[test]
    fn a_kernel_is_no_part_of_a_section_of_the_whole() {
        for kernel in ["zzz", "kernel_1"] {
            let error = read("kernels", Some(kernel), 0).unwrap_err();
            assert_eq!(error.code(), "invalid_arguments");
            insta::allow_duplicates! {
                insta::assert_snapshot!(format!("{error}\n{}", error.hint()), @"
                `kernel` goes with the sections figures, stalls, source and raw; `kernels` is about the whole profile
                leave `kernel` out, or ask for a section of one kernel
                ");
            }
        }
    }

    #[test]
    fn an_error_names_few_of_many_kernels() {
        let mut report = report(12);
        report.capture.kernels[0].time.name = "x".repeat(90);
        let reading = Reading { section: "figures".into(), kernel: Some("gemm".into()), offset: 0 };
        let error = page(&id(), &report, &reading).unwrap_err().to_string();
        assert!(error.contains(&format!("{}…, kernel_1, ", "x".repeat(80))) && error.ends_with(", kernel_7, 4 more"), "{error}");
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
