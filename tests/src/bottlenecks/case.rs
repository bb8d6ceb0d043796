//! A case: a candidate file whose first comment lines say what a profile of it has to tell.

use std::path::Path;

use kernelwright_profile::ProfileRequest;
use kernelwright_protocol::{Cause, Profile, ProfilerKind, Target};

use crate::adversarial::{CaseError, entries, header};

/// One candidate of the suite with its problem. In its header, `# key: value` lines:
///
/// - `problem`: the stem of a file in `problems/`; `mechanism`: in a sentence.
/// - of a planted one also `first`: the cause that has to be told first, by its name on the wire; `why`: why it is the largest; `says`: words
///   that its summary has to contain, where the cause alone says too little.
#[derive(Clone, Debug)]
pub struct Case {
    /// Folder and file name, e.g. `planted/tail_effect`.
    pub name: String,
    /// What it does.
    pub mechanism: String,
    /// What a profile has to tell.
    pub expected: Expected,
    problem: String,
    source: String,
}

/// What a profile has to tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expected {
    /// This cause before all others.
    First {
        /// Which.
        cause: Cause,
        /// Words of its summary.
        says: Option<String>,
    },
    /// No cause but a ceiling of the device.
    NoAlarm,
}

/// All cases, planted ones first.
pub fn cases(folder: &Path) -> Result<Vec<Case>, CaseError> {
    let mut found = Vec::new();
    for kind in ["planted", "well_tuned"] {
        let mut files = entries(&folder.join(kind))?;
        files.retain(|path| path.extension().is_some_and(|extension| extension == "py"));
        files.sort();
        for path in files {
            found.push(Case::read(folder, kind, &path)?);
        }
    }
    Ok(found)
}

impl Case {
    fn read(folder: &Path, kind: &str, path: &Path) -> Result<Self, CaseError> {
        let text = |path: &Path| std::fs::read_to_string(path).map_err(|source| CaseError::Read { path: path.to_path_buf(), source });
        let source = text(path)?;
        let mut header = header(&source);
        let wrong = |key: &str, problem| CaseError::Header { path: path.to_path_buf(), key: key.to_owned(), problem };
        let mut need = |key: &'static str| header.remove(key).ok_or_else(|| wrong(key, "missing"));
        let problem = text(&folder.join("problems").join(format!("{}.py", need("problem")?)))?;
        let mechanism = need("mechanism")?.to_owned();
        let expected = if kind == "planted" {
            need("why")?;
            let cause = serde_json::from_value(need("first")?.into()).map_err(|_| wrong("first", "not a cause"))?;
            Expected::First { cause, says: header.remove("says").map(str::to_owned) }
        } else {
            Expected::NoAlarm
        };
        if let Some(key) = header.into_keys().next() {
            return Err(wrong(key, "not known"));
        }
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        Ok(Self { name: format!("{kind}/{stem}"), mechanism, expected, problem, source })
    }

    /// Whether a bottleneck was planted.
    #[must_use]
    pub fn is_planted(&self) -> bool {
        self.expected != Expected::NoAlarm
    }

    /// What to ask for, of the best profiler.
    #[must_use]
    pub fn request(&self, target: Target) -> ProfileRequest {
        let (problem, candidate) = (self.problem.clone(), Some(self.source.clone()));
        ProfileRequest { problem, candidate, target, profiler: None, arch: None }
    }

    /// What is wrong with a profile, if anything is.
    #[must_use]
    pub fn objection(&self, profile: &Profile) -> Option<String> {
        let alarms = || profile.diagnoses.iter().filter(|diagnosis| !is_ceiling(diagnosis.cause));
        match &self.expected {
            Expected::First { cause, says } if tells(profile.profiler, *cause) => {
                let Some(first) = profile.diagnoses.first().filter(|first| first.cause == *cause) else {
                    return Some(format!("expected {cause} first"));
                };
                let says = says.as_ref().filter(|words| !first.summary.contains(words.as_str()));
                says.map(|words| format!("expected `{words}` in `{}`", first.summary))
            }
            // What a profiler cannot show it must not take for something else either.
            _ => alarms().next().map(|alarm| format!("did not expect {}: {}", alarm.cause, alarm.summary)),
        }
    }
}

/// Whether a cause is a limit of the device, which is no fault of the kernel.
fn is_ceiling(cause: Cause) -> bool {
    matches!(cause, Cause::MemoryBandwidth | Cause::Compute)
}

/// Whether a profiler has what shows a cause: those without counters know times of launches alone.
fn tells(profiler: ProfilerKind, cause: Cause) -> bool {
    profiler == ProfilerKind::Ncu || matches!(cause, Cause::LaunchOverhead | Cause::HostBound)
}
