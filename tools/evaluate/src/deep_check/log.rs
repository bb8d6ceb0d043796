//! Reads the log that compute-sanitizer writes: reports, what it has counted, and what it says of its own troubles.
//!
//! Names in it are the candidate's, and so may be anything; a report that cannot be read in full is still a report. Several versions are
//! understood: places are written `at kernel(int *)+0x90 in file.cu:7`, before that `at 0x90 in file.cu:7:kernel(int *)`, and libraries stand behind
//! a host frame or on a line of their own.

use std::path::Path;

/// What every line of the tool begins with.
const PREFIX: &str = "=========";

/// What a log says.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Log {
    pub(super) reports: Vec<Report>,
    /// The errors of each summary: one, in the log of a run that came to its end.
    pub(super) counted: Vec<u64>,
    /// What the tool could not do.
    pub(super) troubles: Vec<String>,
}

/// One report.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Report {
    /// The tool itself calls it a warning.
    pub(super) is_warning: bool,
    pub(super) subject: Subject,
    pub(super) kind: String,
    pub(super) place: CodeLocation,
    pub(super) by: Option<String>,
    pub(super) details: Vec<String>,
    /// The library that has launched the kernel.
    pub(super) launched_by: Option<String>,
}

/// What a report is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Subject {
    /// Something a kernel did.
    #[default]
    Kernel,
    /// A race in which every access is a write.
    Writes,
    /// A call of the host: an API that failed, a copy out of memory that nobody has written.
    Host,
}

/// Where in a kernel.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct CodeLocation {
    pub(super) kernel: Option<String>,
    /// File and line.
    pub(super) source: Option<String>,
}

/// How reports begin, beside races and hazards.
const REPORTS: [&str; 10] = [
    "Invalid ",
    "Uninitialized ",
    "Barrier error detected",
    "Warpgroup MMA sequence error",
    "Malloc/Free error",
    "Potential invalid ",
    "Deadlock detected",
    "Tensor Memory ",
    "Device-side assert",
    "Unaligned ",
];

/// How reports begin that are about calls of the host.
const HOST_REPORTS: [&str; 3] = ["Program hit ", "Host API memory access error", "Leaked "];

/// How the tool begins when it speaks of itself.
const TROUBLES: [&str; 8] = [
    "Internal Sanitizer Error",
    "Internal error",
    "Unable to ",
    "Failed to ",
    "No attachable process",
    "Detected overflow of tracked",
    "Target application terminated before",
    "Device not supported",
];

/// How it begins when it names the severity of what follows.
const SEVERITIES: [(&str, Severity); 9] = [
    ("Error: ", Severity::Error),
    ("ERROR: ", Severity::Error),
    ("Warning: ", Severity::Warning),
    ("WARNING: ", Severity::Warning),
    ("WARN: ", Severity::Warning),
    ("WARN:(Warp Level Programming) ", Severity::Warning),
    ("Info: ", Severity::Note),
    ("INFO: ", Severity::Note),
    ("INFO:(Identical data being written) ", Severity::Note),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Severity {
    Error,
    Warning,
    Note,
}

/// Libraries between a launch and whoever asked for it.
const DRIVER: [&str; 3] = ["libcuda.so", "libcudart.so", "libsanitizer"];

impl Log {
    /// Reads a log. Whatever is no line of the tool is passed over.
    pub(super) fn read(text: &str) -> Self {
        let mut reader = Reader::default();
        for line in text.lines() {
            let Some(rest) = line.trim_end().strip_prefix(PREFIX) else { continue };
            let said = rest.trim_start();
            // A report's first line stands one column behind the prefix, what belongs to it further in.
            match rest.len() - said.len() {
                _ if said.is_empty() => reader.close(),
                0 | 1 => reader.head(said),
                _ => reader.continuation(said),
            }
        }
        reader.close();
        reader.log
    }
}

/// A log that is being read, and the report whose lines come next.
#[derive(Debug, Default)]
struct Reader {
    log: Log,
    open: Option<Open>,
}

#[derive(Debug)]
struct Open {
    report: Report,
    /// Whether it is a report by its first line; one of a form that is not known becomes one by its other lines.
    is_known: bool,
}

impl Reader {
    fn close(&mut self) {
        if let Some(Open { report, .. }) = self.open.take().filter(|open| open.is_known) {
            self.log.reports.push(report);
        }
    }

    fn head(&mut self, said: &str) {
        self.close();
        if let Some(count) = summary(said) {
            self.log.counted.push(count);
            return;
        }
        if said.contains(" SUMMARY: ") || said == "COMPUTE-SANITIZER" {
            return;
        }
        let named = SEVERITIES.iter().find_map(|(word, severity)| Some((said.strip_prefix(word)?, *severity)));
        let (message, severity) = named.map_or((said, None), |(message, severity)| (message, Some(severity)));
        let begins = |words: &[&str]| words.iter().any(|word| message.starts_with(word));
        let mut report = Report {
            kind: message.to_owned(),
            is_warning: matches!(severity, Some(Severity::Warning | Severity::Note)),
            ..Report::default()
        };
        let mut is_known = true;
        if let Some(access) = message.strip_prefix("Race reported between ") {
            report.race(access);
        } else if let Some(hazard) = message.strip_prefix("Potential ").filter(|rest| rest.contains(" hazard detected")) {
            report.kind = format!("{} hazard", hazard.split(' ').next().unwrap_or_default());
            report.subject = if hazard.starts_with("WAW") { Subject::Writes } else { Subject::Kernel };
            report.details.push(message.to_owned());
        } else if begins(&HOST_REPORTS) {
            report.subject = Subject::Host;
        } else if !begins(&REPORTS) {
            if matches!(severity, Some(Severity::Error | Severity::Warning)) || begins(&TROUBLES) {
                self.log.troubles.push(message.to_owned());
                return;
            }
            is_known = false;
        }
        self.open = Some(Open { report, is_known });
    }

    fn continuation(&mut self, said: &str) {
        let Some(Open { report, is_known }) = &mut self.open else { return };
        if let Some(place) = said.strip_prefix("at ") {
            *is_known = true;
            if report.place == CodeLocation::default() {
                report.place = place_of(place);
            }
        } else if said.starts_with("by thread") {
            *is_known = true;
            report.by = said.strip_prefix("by ").map(str::to_owned);
        } else if let Some(access) = said.strip_prefix("and ").filter(|rest| rest.contains(" access at ")) {
            report.further_access(access);
        } else if let Some(frame) = said.strip_prefix("Device Frame:") {
            // The last one is the kernel; those before it are functions that it calls.
            report.place.kernel = place_of(frame.trim()).kernel.or(report.place.kernel.take());
        } else if said.starts_with("Host Frame:") {
            report.frame(said.rsplit_once("] in ").map(|(_, library)| library));
        } else if let Some(library) = said.strip_prefix("in ") {
            report.frame(Some(library));
        } else if let Some(rest) = said.strip_prefix("and is ") {
            match report.details.last_mut() {
                Some(last) => *last = format!("{last}, {rest}"),
                None => report.details.push(rest.to_owned()),
            }
        } else if ["Write Thread", "Read Thread"].iter().any(|word| said.starts_with(word)) {
            report.hazard_access(said);
        } else if ["Address ", "Access ", "Current Value", "Uninitialized ", "Barrier "].iter().any(|word| said.starts_with(word)) {
            report.details.push(said.to_owned());
        }
    }
}

impl Report {
    /// The first access of a race, `Write access at PLACE`.
    fn race(&mut self, access: &str) {
        self.subject = Subject::Writes;
        self.place = access.split_once(" access at ").map(|(_, place)| place_of(place)).unwrap_or_default();
        self.further_access(access);
    }

    /// One of the accesses of a race, `Read access at PLACE [4 hazards]`.
    fn further_access(&mut self, access: &str) {
        if access.starts_with("Read") {
            self.subject = Subject::Kernel;
        }
        let kind = match self.subject {
            Subject::Writes => "race between writes",
            _ => "race between a read and a write",
        };
        kind.clone_into(&mut self.kind);
        self.details.push(access.to_owned());
    }

    /// One of the two accesses of a hazard, `Write Thread (0,0,0) at PLACE`.
    fn hazard_access(&mut self, access: &str) {
        if self.place == CodeLocation::default() {
            self.place = access.split_once(") at ").map(|(_, place)| place_of(place)).unwrap_or_default();
        }
        self.details.push(access.to_owned());
    }

    /// A frame of the host's stack: the innermost one that is not the driver's is whose launch it was.
    fn frame(&mut self, library: Option<&str>) {
        let Some(library) = library.filter(|_| self.launched_by.is_none()) else { return };
        let name = file_name(library);
        if !DRIVER.iter().any(|driver| name.starts_with(driver)) {
            self.launched_by = Some(library.to_owned());
        }
    }
}

/// The errors that a summary counts: `ERROR SUMMARY: 3 errors`, `RACECHECK SUMMARY: 2 hazards displayed (1 error, 1 warning)`.
///
/// The line `ERROR SUMMARY: 900 errors were not printed. ...` says nothing that its neighbour does not.
fn summary(said: &str) -> Option<u64> {
    let number_of = |text: &str, one: &str| {
        let (number, what) = text.trim().split_once(' ')?;
        let what = what.strip_suffix('s').unwrap_or(what);
        (what == one).then(|| number.replace(',', "").parse().ok()).flatten()
    };
    if let Some(hazards) = said.strip_prefix("RACECHECK SUMMARY: ") {
        let (_, severities) = hazards.split_once(" displayed (")?;
        return number_of(severities.split(',').next()?, "error");
    }
    let (_, count) = said.split_once("SUMMARY: ").filter(|(tool, _)| !tool.contains(char::is_lowercase))?;
    number_of(count, "error")
}

/// Kernel and line of `kernel(int *)+0x90 in file.cu:7`, `0x90 in file.cu:7:kernel(int *)` and what lies between.
fn place_of(text: &str) -> CodeLocation {
    let text = text.split_once(" [").filter(|(_, rest)| rest.ends_with(']')).map_or(text, |(place, _)| place).trim();
    if text.starts_with("0x") {
        let Some((_, rest)) = text.split_once(" in ") else { return CodeLocation::default() };
        return match source_in_front(rest) {
            Some((source, kernel)) => {
                CodeLocation { kernel: Some(kernel.to_owned()).filter(|name| !name.is_empty()), source: Some(source) }
            }
            None => CodeLocation { kernel: Some(rest.to_owned()), source: None },
        };
    }
    let (name, source) = match text.rsplit_once(" in ").map(|(name, file)| (name, source_in_front(file))) {
        Some((name, Some((source, "")))) => (name, Some(source)),
        _ => (text, None),
    };
    let kernel = name.rfind("0x").map(|offset| name[..offset].trim_end_matches(['+', ':'])).filter(|short| short.len() < name.len());
    CodeLocation { kernel: Some(kernel.unwrap_or(name).to_owned()), source }
}

/// `file.cu:7` and what follows it, of `/a/folder/file.cu:7:kernel(int *)`; the folder is nobody's business.
fn source_in_front(text: &str) -> Option<(String, &str)> {
    for (colon, _) in text.match_indices(':') {
        let digits = text[colon + 1..].chars().take_while(char::is_ascii_digit).count();
        let end = colon + 1 + digits;
        let rest = text.get(end..)?;
        if digits > 0 && (rest.is_empty() || rest.starts_with(':')) {
            return Some((file_name(&text[..end]).to_owned(), rest.strip_prefix(':').unwrap_or(rest)));
        }
    }
    None
}

pub(super) fn file_name(path: &str) -> &str {
    Path::new(path).file_name().and_then(|name| name.to_str()).unwrap_or(path)
}
