//! What a deep check says: NVIDIA's compute-sanitizer around one call of a correct candidate, once with each of its tools.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Nanoseconds;

/// What the sanitizer's tools have found in a candidate whose outputs are right.
///
/// They see what outputs do not show: accesses out of bounds that hit nothing, races that happen to come out right, memory that happens to be
/// zero. They run in the candidate's process, so they find mistakes; a kernel that is made to deceive them is no less refused by all the rest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DeepCheck {
    /// The inputs of the call, e.g. `get_check_inputs()` or the name of a set.
    pub inputs: String,
    /// One entry per tool, in the order in which they ran.
    pub tools: Vec<ToolCheck>,
}

/// What one tool has found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ToolCheck {
    /// Which tool.
    pub tool: SanitizerTool,
    /// What it found.
    #[serde(flatten)]
    pub outcome: CheckOutcome,
    /// What it took, from building the candidate under it to its end.
    pub wall_ns: Nanoseconds,
}

/// A tool of compute-sanitizer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SanitizerTool {
    /// Accesses out of bounds and misaligned ones.
    Memcheck,
    /// Races in shared memory.
    Racecheck,
    /// Barriers that the threads of a block do not reach together.
    Synccheck,
    /// Reads of global memory that nobody has written.
    Initcheck,
}

impl SanitizerTool {
    /// Every tool, in the order in which they run: each takes for granted what those before it look for.
    pub const ALL: [Self; 4] = [Self::Memcheck, Self::Racecheck, Self::Synccheck, Self::Initcheck];

    /// Its name, which is also that of its option.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Memcheck => "memcheck",
            Self::Racecheck => "racecheck",
            Self::Synccheck => "synccheck",
            Self::Initcheck => "initcheck",
        }
    }
}

impl fmt::Display for SanitizerTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// How one tool's run ended. Only a run that came to its own end and has nothing to report is `clean`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "result", rename_all = "snake_case")]
pub enum CheckOutcome {
    /// It has nothing to report.
    Clean,
    /// It reports what may be right all the same, or is not of the candidate's own kernels: this decides nothing.
    Warnings(Reports),
    /// It reports errors in the candidate's kernels: the candidate is `faulted`.
    Errors(Reports),
    /// It could not be run, or not to its end; nothing is known.
    NotMeasured {
        /// Why, in a sentence.
        reason: String,
        /// What to try, in a sentence.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        hint: Option<String>,
    },
}

/// What a tool reports.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Reports {
    /// How many reports there were, as far as the tool has counted.
    pub count: u64,
    /// The first few, those that decide first; reports that differ in threads and addresses alone are one.
    pub reports: Vec<SanitizerReport>,
}

/// One report, or several that differ in threads and addresses alone.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SanitizerReport {
    /// What happened, in the tool's words, e.g. `Invalid __global__ write of size 4 bytes`.
    pub kind: String,
    /// The kernel or device function in which it happened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
    /// The line of its source, e.g. `candidate.py:12`; absent for code that was compiled without line information.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The thread and the block of the first report, e.g. `thread (255,0,0) in block (4,0,0)`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// What the tool says beside it: the address and the nearest allocation, or the accesses that race.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub details: Vec<String>,
    /// How many reports there were like this one.
    pub times: u64,
    /// Why it decides nothing, where it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub excuse: Option<String>,
}

impl DeepCheck {
    /// Whether any tool came to its end.
    #[must_use]
    pub fn is_measured(&self) -> bool {
        self.tools.iter().any(|check| !matches!(check.outcome, CheckOutcome::NotMeasured { .. }))
    }
}

/// `racecheck: 2 errors: Race between a write and a read in kernel at candidate.py:12`, for people and for models: a line for each report.
impl fmt::Display for ToolCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.outcome {
            CheckOutcome::Clean => write!(f, "{}: clean", self.tool),
            CheckOutcome::Warnings(reports) => listed(f, self.tool, "warning", reports),
            CheckOutcome::Errors(reports) => listed(f, self.tool, "error", reports),
            CheckOutcome::NotMeasured { reason, hint } => {
                write!(f, "{}: not measured: {reason}", self.tool)?;
                hint.as_ref().map_or(Ok(()), |hint| write!(f, " ({hint})"))
            }
        }
    }
}

fn listed(f: &mut fmt::Formatter<'_>, tool: SanitizerTool, what: &str, Reports { count, reports }: &Reports) -> fmt::Result {
    write!(f, "{tool}: {count} {what}{}", if *count == 1 { "" } else { "s" })?;
    reports.iter().try_for_each(|report| write!(f, "\n- {report}"))
}

impl fmt::Display for SanitizerReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.kind)?;
        if let Some(kernel) = &self.kernel {
            write!(f, " in {kernel}")?;
        }
        if let Some(source) = &self.source {
            write!(f, " at {source}")?;
        }
        if let Some(by) = &self.by {
            write!(f, ", {by}")?;
        }
        if !self.details.is_empty() {
            write!(f, ": {}", self.details.join("; "))?;
        }
        if self.times > 1 {
            write!(f, " (and {} more like it)", self.times - 1)?;
        }
        self.excuse.as_ref().map_or(Ok(()), |excuse| write!(f, " [{excuse}]"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(outcome: CheckOutcome) -> ToolCheck {
        ToolCheck { tool: SanitizerTool::Memcheck, outcome, wall_ns: Nanoseconds(5) }
    }

    #[test]
    fn the_json_form_names_the_result_and_reads_back() {
        let reason = CheckOutcome::NotMeasured { reason: "one call takes longer than 120 s".into(), hint: None };
        let value = serde_json::to_value(check(reason.clone())).unwrap();
        let expected =
            serde_json::json!({"tool": "memcheck", "result": "not_measured", "reason": "one call takes longer than 120 s", "wall_ns": 5});
        assert_eq!(value, expected);
        assert_eq!(serde_json::from_value::<ToolCheck>(value).unwrap(), check(reason));
        assert_eq!(serde_json::to_value(check(CheckOutcome::Clean)).unwrap()["result"], "clean");
    }

    #[test]
    fn a_report_is_a_line_that_says_what_where_and_by_whom() {
        let report = SanitizerReport {
            kind: "Invalid __global__ write of size 4 bytes".into(),
            kernel: Some("scale(float *, int)".into()),
            source: Some("candidate.py:12".into()),
            by: Some("thread (0,0,0) in block (4,0,0)".into()),
            details: vec!["Access to 0x7f00 is out of bounds".into()],
            times: 3,
            excuse: None,
        };
        assert_eq!(
            check(CheckOutcome::Errors(Reports { count: 3, reports: vec![report] })).to_string(),
            "memcheck: 3 errors\n- Invalid __global__ write of size 4 bytes in scale(float *, int) at candidate.py:12, thread (0,0,0) in block \
             (4,0,0): Access to 0x7f00 is out of bounds (and 2 more like it)"
        );
        assert_eq!(check(CheckOutcome::Clean).to_string(), "memcheck: clean");
    }
}
