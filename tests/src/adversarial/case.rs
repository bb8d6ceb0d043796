//! A case: a candidate file whose first comment lines say what it tries and what has to come of it.

use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use kernelwright_protocol::{Backend, Evaluation, Verdict};

/// One candidate of the suite. In its header, `# key: value` lines, `|` separates alternatives:
///
/// - `problem`: the stem of a file in `problems/`; `target`: `cpu`, `cuda` or `both`; `kind`: see [`Kind`]; `mechanism`: in a sentence.
/// - `expect`: the statuses that are right.
/// - `timed: yes` measures as well; `tf32: yes` allows TF32; `limit: SECONDS` for its phases.
/// - `rule`: the rule of a rejection; `finding` / `absent`: a finding that must, or must not, stand beside the verdict;
///   `speedup`: the most a `correct` verdict may claim; `least`: the least that it has to; `why`: for readers.
#[derive(Clone, Debug)]
pub struct Case {
    /// Folder and file name, e.g. `caches/by_shape`.
    pub name: String,
    /// Which problem it is a candidate for.
    pub problem: String,
    /// That problem's file, read with the candidate: a tree that changes while a suite runs does not change the suite.
    pub problem_source: String,
    /// What it is.
    pub kind: Kind,
    /// What it does.
    pub mechanism: String,
    /// Whether it is timed.
    pub timed: bool,
    /// Whether TF32 is allowed.
    pub tf32: bool,
    /// What its phases may take.
    pub limit: Option<Duration>,
    /// The file.
    pub source: String,
    targets: Vec<Backend>,
    expect: Vec<String>,
    rule: Option<String>,
    finding: Option<String>,
    absent: Option<String>,
    speedup: Option<f64>,
    least: Option<f64>,
}

/// What a candidate is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It tries to be believed without doing the work.
    Cheat,
    /// It is wrong or broken.
    Fault,
    /// It is right, whatever it looks like.
    Honest,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Cheat => "cheat",
            Self::Fault => "fault",
            Self::Honest => "honest",
        })
    }
}

/// A case file that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CaseError {
    /// It cannot be read.
    #[error("{}: {source}", path.display())]
    Read {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// Its header lacks a line, or has one that is not known.
    #[error("{}: the header's `{key}` is {problem}", path.display())]
    Header {
        /// The file.
        path: PathBuf,
        /// Which line.
        key: String,
        /// What is wrong with it.
        problem: &'static str,
    },
}

/// The cases for a backend, those of one problem together. The folder `problems` is beside the cases' own.
pub fn cases(folder: &Path, backend: Backend) -> Result<Vec<Case>, CaseError> {
    let problems = folder.with_file_name("problems");
    let mut found = Vec::new();
    for family in entries(folder)? {
        for path in entries(&family)?.into_iter().filter(|path| path.extension().is_some_and(|extension| extension == "py")) {
            found.push(Case::read(&path, &problems)?);
        }
    }
    found.retain(|case: &Case| case.targets.contains(&backend));
    found.sort_by(|a, b| (&a.problem, a.tf32, &a.name).cmp(&(&b.problem, b.tf32, &b.name)));
    Ok(found)
}

/// What is in a folder.
pub(crate) fn entries(folder: &Path) -> Result<Vec<PathBuf>, CaseError> {
    let read = std::fs::read_dir(folder).and_then(|entries| entries.map(|entry| entry.map(|entry| entry.path())).collect());
    read.map_err(|source| CaseError::Read { path: folder.to_path_buf(), source })
}

fn text(path: &Path) -> Result<String, CaseError> {
    std::fs::read_to_string(path).map_err(|source| CaseError::Read { path: path.to_path_buf(), source })
}

/// The lines `# key: value` at a file's beginning.
pub(crate) fn header(source: &str) -> HashMap<&str, &str> {
    let lines = source.lines().map_while(|line| line.strip_prefix("# "));
    lines.filter_map(|line| line.split_once(": ")).map(|(key, value)| (key, value.trim())).collect()
}

impl Case {
    fn read(path: &Path, problems: &Path) -> Result<Self, CaseError> {
        let source = text(path)?;
        let mut header = header(&source);
        let wrong = |key: &str, problem| CaseError::Header { path: path.to_path_buf(), key: key.to_owned(), problem };
        let mut take = |key: &'static str| header.remove(key);
        let need = |key: &'static str, value: Option<&str>| value.map(str::to_owned).ok_or_else(|| wrong(key, "missing"));
        let number =
            |key: &'static str, value: Option<&str>| value.map(str::parse::<f64>).transpose().map_err(|_| wrong(key, "not a number"));
        let kind = match take("kind") {
            Some("cheat") => Kind::Cheat,
            Some("fault") => Kind::Fault,
            Some("honest") => Kind::Honest,
            _ => return Err(wrong("kind", "not cheat, fault or honest")),
        };
        let targets = match take("target") {
            Some("cpu") => vec![Backend::Cpu],
            Some("cuda") => vec![Backend::Cuda],
            Some("both") => vec![Backend::Cpu, Backend::Cuda],
            _ => return Err(wrong("target", "not cpu, cuda or both")),
        };
        let parts: Vec<_> = path.with_extension("").iter().rev().take(2).map(|part| part.to_string_lossy().into_owned()).collect();
        let problem = need("problem", take("problem"))?;
        let case = Self {
            name: parts.into_iter().rev().collect::<Vec<_>>().join("/"),
            problem_source: text(&problems.join(format!("{problem}.py")))?,
            problem,
            kind,
            mechanism: need("mechanism", take("mechanism"))?,
            timed: take("timed") == Some("yes"),
            tf32: take("tf32") == Some("yes"),
            limit: number("limit", take("limit"))?.map(Duration::from_secs_f64),
            targets,
            expect: need("expect", take("expect"))?.split('|').map(|status| status.trim().to_owned()).collect(),
            rule: take("rule").map(str::to_owned),
            finding: take("finding").map(str::to_owned),
            absent: take("absent").map(str::to_owned),
            speedup: number("speedup", take("speedup"))?,
            least: number("least", take("least"))?,
            source: source.clone(),
        };
        take("why");
        match header.into_keys().next() {
            Some(key) => Err(wrong(key, "not known")),
            None => Ok(case),
        }
    }

    /// Whether its speedup is one that it may not have, and said to be worth little: others had the processors.
    #[must_use]
    pub fn is_disturbed(&self, evaluation: &Evaluation) -> bool {
        let timing = if let Verdict::Correct(correct) = &evaluation.verdict { correct.timing.as_ref() } else { None };
        let is_out = timing.is_some_and(|timing| self.speedup_objection(timing.speedup).is_some());
        is_out && evaluation.findings.iter().any(|finding| finding.rule == "busy_processors")
    }

    fn speedup_objection(&self, speedup: f64) -> Option<String> {
        match (self.speedup, self.least) {
            (Some(most), _) if speedup > most => Some(format!("expected no more than {most}x")),
            (_, Some(least)) if speedup < least => Some(format!("expected no less than {least}x")),
            _ => None,
        }
    }

    /// What is wrong with the verdict, if anything is.
    #[must_use]
    pub fn objection(&self, evaluation: &Evaluation) -> Option<String> {
        let status = evaluation.verdict.status();
        if !self.expect.iter().any(|expected| expected == status) {
            return Some(format!("expected {}", self.expect.join(" or ")));
        }
        if let (Some(rule), Verdict::Rejected { rule: got, .. }) = (&self.rule, &evaluation.verdict)
            && rule != got
        {
            return Some(format!("expected the rule {rule}"));
        }
        let has = |rule: &String| evaluation.findings.iter().any(|finding| finding.rule == *rule);
        let Verdict::Correct(correct) = &evaluation.verdict else { return None };
        if let Some(rule) = self.finding.as_ref().filter(|rule| !has(rule)) {
            return Some(format!("expected the finding {rule}"));
        }
        if let Some(rule) = self.absent.as_ref().filter(|rule| has(rule)) {
            return Some(format!("did not expect the finding {rule}"));
        }
        match &correct.timing {
            // A verdict that calls its time wrong claims none.
            Some(_) if self.is_disturbed(evaluation) => None,
            Some(timing) => self.speedup_objection(timing.speedup),
            // On the CPU, Triton kernels are interpreted and never timed.
            None => (self.timed && !self.source.contains("import triton")).then(|| "expected a time".to_owned()),
        }
    }
}
