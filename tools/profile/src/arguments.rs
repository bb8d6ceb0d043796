//! The arguments of the tools.

use std::path::PathBuf;

use kernelwright_protocol::{ProfilerKind, Target};
use kernelwright_server::read_source;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::error::Contradiction;
use crate::sections::{Reading, names};
use crate::{ProfileError, ProfileRequest};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TargetArgs {
    /// Which target: cpu, cuda or cuda:N.
    pub(crate) target: Target,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ProfileArgs {
    /// Source of the problem file (`Model`, `get_inputs`, `get_init_inputs`). Give this or `problem_file`.
    problem: Option<String>,
    /// Path of the problem file on the server's machine.
    problem_file: Option<PathBuf>,
    /// Source of the candidate (`ModelNew`). Without a candidate the problem's own Model is profiled.
    candidate: Option<String>,
    /// Path of the candidate's file on the server's machine.
    candidate_file: Option<PathBuf>,
    /// Where to run: cpu, cuda or cuda:N.
    target: Target,
    /// Which profiler: auto (the most telling one that works), ncu, proton, torch, cpu or static; auto without it.
    profiler: Option<Choice>,
}

/// A profiler, or the best there is.
#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Choice {
    Auto,
    Ncu,
    Proton,
    Torch,
    Cpu,
    Static,
}

impl Choice {
    fn kind(self) -> Option<ProfilerKind> {
        match self {
            Self::Auto => None,
            Self::Ncu => Some(ProfilerKind::Ncu),
            Self::Proton => Some(ProfilerKind::Proton),
            Self::Torch => Some(ProfilerKind::Torch),
            Self::Cpu => Some(ProfilerKind::Cpu),
            Self::Static => Some(ProfilerKind::Static),
        }
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReadArgs {
    /// The profile's `id`, or its first 8 digits and more.
    pub(crate) id: String,
    /// The section, one of the profile's `sections`: kernels, causes, before, limits; of one kernel: figures, stalls, source, raw.
    // The schema has the closed list; what this profile has of it is known only with the profile.
    #[schemars(extend("enum" = names()))]
    section: String,
    /// The kernel's name or a part of it, in a section of one kernel; the most expensive one that has the section without it.
    kernel: Option<String>,
    /// The first line, from `next_offset` of the page before; 0 without it.
    offset: Option<usize>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CompareArgs {
    /// The `id` of the profile that came first.
    pub(crate) before: String,
    /// The `id` of the one to compare with it.
    pub(crate) after: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ImportArgs {
    /// Path of the file on the server's machine.
    pub(crate) path: PathBuf,
}

impl ReadArgs {
    pub(crate) fn reading(self) -> Reading {
        Reading { section: self.section, kernel: self.kernel, offset: self.offset.unwrap_or(0) }
    }
}

impl ProfileArgs {
    /// The request, with files read.
    pub(crate) async fn read(self) -> Result<ProfileRequest, ProfileError> {
        let problem = source(self.problem, self.problem_file, Contradiction::TwoProblems).await?;
        let candidate = source(self.candidate, self.candidate_file, Contradiction::TwoCandidates).await?;
        let problem = problem.ok_or(Contradiction::NoProblem)?;
        Ok(ProfileRequest { problem, candidate, target: self.target, profiler: self.profiler.and_then(Choice::kind), arch: None })
    }
}

async fn source(text: Option<String>, file: Option<PathBuf>, both: Contradiction) -> Result<Option<String>, ProfileError> {
    match (text, file) {
        (Some(_), Some(_)) => Err(both.into()),
        (None, Some(path)) => read_source(&path).await.map(Some).map_err(|source| ProfileError::Unreadable { path, source }),
        (text, None) => Ok(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(value: serde_json::Value) -> ProfileArgs {
        serde_json::from_value(value).unwrap()
    }

    #[tokio::test]
    async fn sources_come_as_text_or_from_files() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("candidate.py");
        std::fs::write(&path, "class ModelNew: ...").unwrap();
        let args =
            arguments(serde_json::json!({"problem": "class Model: ...", "candidate_file": path, "target": "cuda", "profiler": "proton"}));
        let request = args.read().await.unwrap();
        assert_eq!((request.problem.as_str(), request.candidate.as_deref()), ("class Model: ...", Some("class ModelNew: ...")));
        assert_eq!((request.target.to_string().as_str(), request.profiler), ("cuda", Some(ProfilerKind::Proton)));
    }

    #[tokio::test]
    async fn the_best_profiler_is_used_unless_one_is_named() {
        for given in
            [serde_json::json!({"problem": "x", "target": "cpu"}), serde_json::json!({"problem": "x", "target": "cpu", "profiler": "auto"})]
        {
            assert_eq!(arguments(given).read().await.unwrap().profiler, None);
        }
    }

    #[tokio::test]
    async fn bad_arguments_say_how_to_go_on() {
        for (args, code) in [
            (serde_json::json!({"target": "cpu"}), "invalid_arguments"),
            (serde_json::json!({"target": "cpu", "problem": "x", "problem_file": "x"}), "invalid_arguments"),
            (serde_json::json!({"target": "cpu", "problem": "x", "candidate": "x", "candidate_file": "x"}), "invalid_arguments"),
            (serde_json::json!({"target": "cpu", "problem_file": "/nowhere/problem.py"}), "file_unreadable"),
            // Without an end.
            (serde_json::json!({"target": "cpu", "problem_file": "/dev/zero"}), "file_unreadable"),
            (serde_json::json!({"target": "cpu", "problem": "x", "candidate_file": "/dev/zero"}), "file_unreadable"),
        ] {
            assert_eq!(arguments(args).read().await.unwrap_err().code(), code);
        }
    }
}
