//! A lesson as a file: the `[lesson]` table, and the entry around it that people and the search read.

use std::fmt::Write as _;

use kernelwright_protocol::{Backend, BaselineKind, CandidateId, Effect, Evaluation, NewLesson, ProblemId, Proof, Ratio, Subject, Verdict};
use serde::{Deserialize, Serialize};

/// Measurements of one lesson; the oldest go first.
const MAX_MEASURED: usize = 12;

/// Uses and runs that are remembered one by one, so that none counts twice; the totals count all.
const MAX_REMEMBERED: usize = 64;

/// The longest reason of a failure that is kept, in characters.
const RESULT_CHARACTERS: usize = 300;

/// The `[lesson]` table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Page {
    /// The kernel after the change.
    candidate: CandidateId,
    /// The kernel before it; absent for one that was made from nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    parent: Option<CandidateId>,
    /// What was changed, as it was first told.
    change: String,
    /// How often it was shown before a kernel was written, and how often that kernel improved.
    pub(crate) shown: u32,
    pub(crate) helped: u32,
    /// The newest uses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    uses: Vec<Use>,
    /// What it did, on which subject, the oldest first.
    pub(crate) measured: Vec<Measured>,
}

/// One kernel that was written with the lesson in view.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Use {
    pub(crate) run: String,
    pub(crate) step: u32,
    pub(crate) helped: bool,
}

/// What a change did on one problem and architecture.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Measured {
    problem: String,
    problem_id: ProblemId,
    pub(crate) effect: Effect,
    /// Of a failure: the verdict in a line.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    result: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    baseline: Option<BaselineKind>,
    /// The runs that measured it, the newest last. The figures are the newest run's.
    runs: Vec<String>,
    file: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    event: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    over_parent: Option<Ratio>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    over_baseline: Option<Ratio>,
    pub(crate) subject: Subject,
}

impl Measured {
    pub(crate) fn of(new: &NewLesson, verdict: &Evaluation, proof: Proof) -> Self {
        let baseline = match &verdict.verdict {
            Verdict::Correct(correct) => correct.timing.as_ref().map(|timing| timing.baseline),
            _ => None,
        };
        Self {
            problem: new.problem.clone(),
            problem_id: verdict.problem.clone(),
            effect: proof.effect,
            result: failure(verdict).unwrap_or_default(),
            baseline,
            runs: vec![new.run.clone()],
            file: new.verdict.file.clone(),
            event: new.verdict.event,
            over_parent: proof.over_parent,
            over_baseline: proof.over_baseline,
            subject: new.subject.clone(),
        }
    }

    /// In a sentence or two, with the evidence.
    fn told(&self, page: &Page) -> String {
        let mut text = match self.effect {
            Effect::Faster => "Faster: ".to_owned(),
            Effect::Slower => "Slower: ".to_owned(),
            Effect::Wrong => format!("Not correct: {}", self.result),
        };
        let against = self.baseline.map(|baseline| baseline.to_string()).unwrap_or_default();
        let parent = self.over_parent.map(|ratio| format!("{ratio} over the kernel it was made from"));
        let baseline = self.over_baseline.map(|ratio| format!("{ratio} against {against}"));
        text.push_str(&parent.into_iter().chain(baseline).collect::<Vec<_>>().join(", "));
        let Subject { inputs, arch, .. } = &self.subject;
        let _ = write!(text, ". Problem `{}`, inputs {}, on {arch}.", self.problem, inputs.join(", "));
        let made_from = page.parent.as_ref().map(|parent| format!(" made from {parent}")).unwrap_or_default();
        let event = self.event.map(|event| format!(", event {event}")).unwrap_or_default();
        let newest = self.runs.last().map(String::as_str).unwrap_or_default();
        let times = if self.runs.len() > 1 { format!(", measured in {} runs", self.runs.len()) } else { String::new() };
        let _ = write!(text, " Evidence: candidate {}{made_from}, run {newest}{event}{times}.", page.candidate);
        text
    }
}

impl Page {
    pub(crate) fn new(change: String, new: &NewLesson) -> Self {
        Self {
            candidate: new.verdict.candidate.clone(),
            parent: new.parent.as_ref().map(|parent| parent.candidate.clone()),
            change,
            shown: 0,
            helped: 0,
            uses: vec![],
            measured: vec![],
        }
    }

    /// Takes in a measurement. One on the same problem and architecture gets the newer figures.
    pub(crate) fn measure(&mut self, mut new: Measured) {
        let same = |old: &Measured| old.problem_id == new.problem_id && old.subject.arch == new.subject.arch;
        if let Some(index) = self.measured.iter().position(same) {
            let mut runs = self.measured.remove(index).runs;
            runs.retain(|run| !new.runs.contains(run));
            runs.append(&mut new.runs);
            runs.drain(..runs.len().saturating_sub(MAX_REMEMBERED));
            new.runs = runs;
        }
        self.measured.push(new);
        self.measured.drain(..self.measured.len().saturating_sub(MAX_MEASURED));
    }

    /// Takes in a use; `false` when it was known.
    pub(crate) fn used(&mut self, new: Use) -> bool {
        if self.uses.iter().any(|old| old.run == new.run && old.step == new.step) {
            return false;
        }
        self.shown += 1;
        self.helped += u32::from(new.helped);
        self.uses.push(new);
        self.uses.drain(..self.uses.len().saturating_sub(MAX_REMEMBERED));
        true
    }

    /// By how much a lesson moves up or down for what came of it: 1 before anybody used it, towards 2 or 0 with every use.
    pub(crate) fn usefulness(&self) -> f64 {
        2.0 * f64::from(self.helped + 1) / f64::from(self.shown + 2)
    }

    /// The change and one measurement, for whoever writes the next kernel.
    pub(crate) fn told(&self, measured: &Measured) -> String {
        format!("{}\nThe change, in the words of its author: {}", measured.told(self), one_line(&self.change))
    }

    /// The whole entry.
    pub(crate) fn render(&self, name: &str) -> String {
        #[derive(Serialize)]
        struct Front<'a> {
            title: String,
            kind: &'a str,
            #[serde(skip_serializing_if = "Option::is_none")]
            languages: Option<[&'a str; 1]>,
            architectures: Vec<&'a str>,
            sources: Vec<String>,
            lesson: &'a Page,
        }
        let mut architectures: Vec<&str> = self.measured.iter().map(|m| m.subject.arch.as_str()).filter(|arch| !arch.is_empty()).collect();
        architectures.sort_unstable();
        architectures.dedup();
        // On a GPU, the language is the kernel's own secret.
        let on_cpu = self.measured.iter().all(|measured| measured.subject.backend == Backend::Cpu);
        let source = |m: &Measured| {
            let event = m.event.map(|event| format!("event {event} of ")).unwrap_or_default();
            format!("measured: run {}, {event}{}", m.runs.last().map(String::as_str).unwrap_or_default(), m.file)
        };
        let front = Front {
            title: self.title(name),
            kind: "lesson",
            languages: on_cpu.then_some(["cpp"]),
            architectures,
            sources: self.measured.iter().map(source).collect(),
            lesson: self,
        };
        // Texts, numbers and lists always have a form in TOML.
        let front = toml::to_string(&front).unwrap_or_default();
        let quoted: Vec<String> = self.change.lines().map(|line| format!("> {line}").trim_end().to_owned()).collect();
        let measured: Vec<String> = self.measured.iter().map(|measured| format!("- {}", measured.told(self))).collect();
        format!(
            "+++\n{front}+++\nThe change, in the words of its author:\n\n{}\n\n## What it did\n\n{}\n",
            quoted.join("\n"),
            measured.join("\n")
        )
    }

    /// The newest measurement in a line that fits a heading; the end of the name tells lessons on one problem apart.
    fn title(&self, name: &str) -> String {
        let Some(newest) = self.measured.last() else { return name.to_owned() };
        let figure = newest.over_parent.or(newest.over_baseline).map(|ratio| format!(" {:.2}x", ratio.median)).unwrap_or_default();
        let effect = match newest.effect {
            Effect::Faster => "Faster",
            Effect::Slower => "Slower",
            Effect::Wrong => "Not correct",
        };
        let operators = newest.subject.operators.join(", ");
        let id = name.rsplit('-').next().unwrap_or_default();
        let problem: String = newest.problem.chars().take(30).collect();
        let line = format!("{effect}{figure}: {problem} ({operators})");
        let line: String = line.chars().take(85).collect();
        format!("{} {id}", line.trim_end())
    }
}

/// What is wrong with a kernel, in a line; nothing for a correct one.
fn failure(verdict: &Evaluation) -> Option<String> {
    let text = match &verdict.verdict {
        Verdict::Correct(_) => return None,
        Verdict::BuildFailed(fault) => format!("does not build, {}: {}", fault.phase, fault.summary),
        Verdict::Faulted(fault) => format!("fails in {}: {}", fault.phase, fault.summary),
        Verdict::TimedOut(timeout) => timeout.to_string(),
        Verdict::Incorrect { mismatches, .. } => match mismatches.first() {
            Some(worst) => format!("{}, {}: {}", worst.trial, worst.output, worst.detail),
            None => "an output differs".to_owned(),
        },
        Verdict::Rejected { rule, explanation } => format!("rejected ({rule}): {explanation}"),
    };
    Some(one_line(&text).chars().take(RESULT_CHARACTERS).collect())
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
