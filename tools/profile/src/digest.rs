//! The digest: what a model reads first, at most 1,500 tokens, the most important first.
//!
//! A report is cut to the first of [`SIZES`] that fits. Figures are the profiler's own: whole numbers stay whole, others keep six digits.

use kernelwright_protocol::{ContentHash, Diagnosis, Figures, HotLine, KernelProfile, KernelTime, Metric, Profile, RuledOut, Sign, Stall};

use crate::archive;
use crate::report::Report;
use crate::sections::sections;

/// 1,500 tokens at 3.5 bytes each: dense JSON of names and numbers has fewer tokens than that.
const BYTES: usize = 5_250;

/// How much of everything a digest shows.
struct Size {
    diagnoses: usize,
    signs: usize,
    remedies: usize,
    ruled_out: usize,
    kernels: usize,
    /// Kernels that are shown with figures, stalls and lines.
    detailed: usize,
    figures: usize,
    stalls: usize,
    lines: usize,
    before: usize,
    limits: usize,
    /// Bytes of a name.
    name: usize,
    /// Bytes of a sentence.
    sentence: usize,
}

/// From the largest to one that fits whatever the report holds.
const SIZES: [Size; 5] = [
    Size {
        diagnoses: 4,
        signs: 3,
        remedies: 2,
        ruled_out: 8,
        kernels: 8,
        detailed: 3,
        figures: 16,
        stalls: 3,
        lines: 2,
        before: 8,
        limits: 6,
        name: 100,
        sentence: 400,
    },
    Size {
        diagnoses: 4,
        signs: 2,
        remedies: 2,
        ruled_out: 6,
        kernels: 6,
        detailed: 2,
        figures: 14,
        stalls: 3,
        lines: 2,
        before: 6,
        limits: 5,
        name: 80,
        sentence: 300,
    },
    Size {
        diagnoses: 3,
        signs: 2,
        remedies: 2,
        ruled_out: 5,
        kernels: 5,
        detailed: 1,
        figures: 14,
        stalls: 3,
        lines: 2,
        before: 5,
        limits: 4,
        name: 64,
        sentence: 240,
    },
    Size {
        diagnoses: 3,
        signs: 2,
        remedies: 1,
        ruled_out: 4,
        kernels: 4,
        detailed: 1,
        figures: 10,
        stalls: 2,
        lines: 1,
        before: 4,
        limits: 3,
        name: 56,
        sentence: 180,
    },
    Size {
        diagnoses: 2,
        signs: 1,
        remedies: 1,
        ruled_out: 2,
        kernels: 3,
        detailed: 1,
        figures: 6,
        stalls: 2,
        lines: 0,
        before: 3,
        limits: 2,
        name: 48,
        sentence: 140,
    },
];

/// Figures that say most about a kernel, the most telling first; signs of a diagnosis come before them.
const TELLING: [Metric; 26] = [
    Metric::DurationNs,
    Metric::DramBytesPerS,
    Metric::DramThroughputShare,
    Metric::ComputeThroughputShare,
    Metric::MemoryThroughputShare,
    Metric::TheoreticalOccupancyShare,
    Metric::AchievedOccupancyShare,
    Metric::RegistersPerThread,
    Metric::SpillStoreBytes,
    Metric::SpillLoadBytes,
    Metric::DynamicSharedBytes,
    Metric::StaticSharedBytes,
    Metric::TensorShare,
    Metric::FmaShare,
    Metric::L2HitShare,
    Metric::L1HitShare,
    Metric::Waves,
    Metric::IssueShare,
    Metric::OperationsPerS,
    Metric::ExcessSectorsShare,
    Metric::SharedConflictShare,
    Metric::DramReadBytes,
    Metric::DramWriteBytes,
    Metric::SectorsPerLoad,
    Metric::SectorsPerStore,
    Metric::InstructionsPerCycle,
];

/// The digest of a report that is kept under this name.
pub(crate) fn digest(id: &ContentHash, report: &Report) -> Profile {
    let sized = SIZES.iter().map(|size| cut(id, report, size));
    // The last size fits any report: names and sentences are bounded, and so is their number.
    let mut smallest = None;
    for profile in sized {
        let fits = bytes(&profile) <= BYTES;
        smallest = Some(profile);
        if fits {
            break;
        }
    }
    smallest.unwrap_or_else(|| Profile::new(report.capture.profiler, report.capture.calls))
}

fn bytes(profile: &Profile) -> usize {
    serde_json::to_string(profile).map_or(usize::MAX, |json| json.len())
}

fn cut(id: &ContentHash, report: &Report, size: &Size) -> Profile {
    let capture = &report.capture;
    let name = |text: &str| shorten(text, size.name);
    let sentence = |text: &str| shorten(text, size.sentence);
    let time = |time: &KernelTime| KernelTime {
        name: name(&time.name),
        launches_per_call: six_digits(time.launches_per_call),
        share: six_digits(time.share),
        ..*time
    };
    let diagnosis = |diagnosis: &Diagnosis| Diagnosis {
        cause: diagnosis.cause,
        kernel: diagnosis.kernel.as_deref().map(name),
        at_stake: (diagnosis.at_stake * 1e3).round() / 1e3,
        summary: sentence(&diagnosis.summary),
        signs: diagnosis.signs.iter().take(size.signs).map(|sign| Sign { value: six_digits(sign.value), ..sign.clone() }).collect(),
        remedies: diagnosis.remedies.iter().take(size.remedies).cloned().collect(),
    };
    let kernel = |(position, kernel): (usize, &KernelProfile)| {
        let short = KernelProfile { launch: kernel.launch, ..KernelProfile::from(time(&kernel.time)) };
        if position >= size.detailed {
            return short;
        }
        let line = |line: &HotLine| HotLine {
            place: name(&line.place),
            source: line.source.as_deref().map(name),
            instruction: line.instruction.as_deref().map(name),
            share: six_digits(line.share),
            waits_for: line.waits_for,
        };
        KernelProfile {
            figures: telling(kernel, &report.diagnoses, size.figures),
            stalls: kernel.stalls.iter().take(size.stalls).map(|stall| Stall { share: six_digits(stall.share), ..*stall }).collect(),
            hot_lines: kernel.hot_lines.iter().take(size.lines).map(line).collect(),
            ..short
        }
    };
    let ruled_out = |one: &RuledOut| RuledOut { cause: one.cause, because: sentence(&one.because) };
    Profile {
        id: Some(id.clone()),
        candidate: report.subject.candidate.clone(),
        target: report.subject.target,
        device: capture.device.as_deref().map(name),
        wall_per_call_ns: capture.wall_per_call_ns,
        diagnoses: report.diagnoses.iter().take(size.diagnoses).map(diagnosis).collect(),
        ruled_out: report.ruled_out.iter().take(size.ruled_out).map(ruled_out).collect(),
        headroom: report.headroom.clone(),
        call: capture.call.iter().take(size.figures).map(|(metric, value)| (metric, six_digits(value))).collect(),
        kernels: capture.kernels.iter().enumerate().take(size.kernels).map(kernel).collect(),
        more_kernels: capture.kernels.len().saturating_sub(size.kernels),
        before: report.before.iter().take(size.before).map(time).collect(),
        limits: report.limits.iter().take(size.limits).map(|limit| sentence(limit)).collect(),
        sections: sections(report).into_iter().map(str::to_owned).collect(),
        resource: Some(archive::uri(id)),
        files: report.files.iter().take(1).map(|file| file.display().to_string()).filter(|path| path.len() <= 4 * size.name).collect(),
        ..Profile::new(capture.profiler, capture.calls)
    }
}

/// The figures that show what was found in a kernel, and then the most telling ones.
fn telling(kernel: &KernelProfile, diagnoses: &[Diagnosis], count: usize) -> Figures {
    let signs =
        diagnoses.iter().filter(|diagnosis| diagnosis.kernel.as_ref() == Some(&kernel.time.name)).flat_map(|diagnosis| &diagnosis.signs);
    let mut chosen: Vec<Metric> = Vec::new();
    for metric in signs.map(|sign| sign.metric).chain(TELLING) {
        if !chosen.contains(&metric) && kernel.figures.get(metric).is_some() {
            chosen.push(metric);
        }
    }
    chosen.iter().take(count).filter_map(|metric| Some((*metric, six_digits(kernel.figures.get(*metric)?)))).collect()
}

/// Whole numbers as they are, others with six digits.
fn six_digits(value: f64) -> f64 {
    if value.fract() == 0.0 {
        return value;
    }
    format!("{value:.5e}").parse().unwrap_or(value)
}

/// The start of a text, at most so many bytes, without control characters.
fn shorten(text: &str, bytes: usize) -> String {
    let plain: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    if plain.len() <= bytes {
        return plain;
    }
    let room = bytes.saturating_sub('…'.len_utf8());
    let end = plain.char_indices().map(|(at, c)| at + c.len_utf8()).take_while(|end| *end <= room).last().unwrap_or(0);
    format!("{}…", &plain[..end])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{id, report};

    #[test]
    fn a_small_report_is_told_whole() {
        let profile = digest(&id(), &report(2));
        assert_eq!((profile.kernels.len(), profile.more_kernels), (2, 0));
        let (kernel, own) = (&profile.kernels[0], &report(2).capture.kernels[0]);
        for (metric, value) in kernel.figures.iter() {
            let own = own.figures.get(metric).unwrap();
            assert!((value - own).abs() <= own.abs() * 5e-6, "{metric}: {value} for {own}");
        }
        assert!(kernel.figures.iter().count() > 8);
    }

    #[test]
    fn whatever_a_report_holds_the_digest_is_short() {
        let mut huge = report(5_000);
        for kernel in &mut huge.capture.kernels {
            kernel.time.name = format!("void {}<\u{0}\"ä漢\n>", "very_long_name::".repeat(100));
            kernel.stalls = kernel.stalls.repeat(20);
            kernel.hot_lines = vec![kernel.hot_lines[0].clone(); 50];
        }
        let mut diagnosis = huge.diagnoses[0].clone();
        diagnosis.kernel = Some("\"".repeat(3_000));
        diagnosis.summary = "figures ".repeat(1_000);
        huge.diagnoses = vec![diagnosis; 100];
        huge.limits = vec!["\"sentence\" ".repeat(500); 100];
        huge.before = huge.capture.kernels.iter().map(|kernel| kernel.time.clone()).collect();
        huge.files = vec!["/long".repeat(1_000).into(); 50];
        huge.capture.device = Some("x".repeat(10_000));
        let profile = digest(&id(), &huge);
        assert!(bytes(&profile) <= BYTES, "{} bytes", bytes(&profile));
        assert!(profile.diagnoses.len() >= 2 && profile.kernels.len() >= 3 && profile.more_kernels > 4_900);
        let kernels = report(500);
        assert!(bytes(&digest(&id(), &kernels)) <= BYTES);
    }

    #[test]
    fn names_are_cut_between_characters() {
        assert_eq!((shorten("kernel", 6), shorten("kernels", 6), shorten("äää", 5)), ("kernel".into(), "ker…".into(), "ä…".into()));
    }
}
