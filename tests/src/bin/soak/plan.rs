//! Which candidate is evaluated when: cases of the adversarial suite, so that their right answers are known.

use std::path::PathBuf;

use kernelwright_protocol::{Backend, Target};
use kernelwright_tests::adversarial::{Case, Kind, cases};

use crate::Failure;

/// Every so manieth evaluation is a disturbance.
const EVERY: usize = 10;

/// Of the others, every so manieth is timed.
const TIMED: usize = 6;

/// How often each of the others comes, one after another, as candidates of one problem do in a search: loading problems is most of the
/// time otherwise.
const IN_A_ROW: usize = 3;

/// What must not harm the server, in the order in which it is tried: what it is called, and the case on the CPU and on a GPU.
const DISTURBANCES: [(&str, &str, &str); 5] = [
    ("crash", "faults/litters_and_aborts", "faults/litters_and_aborts"),
    ("hang", "faults/hangs", "faults/hangs"),
    ("out of memory", "confinement/takes_all_memory", "memory/device_memory_exhausted"),
    ("illegal access", "memory/far_out_of_bounds", "memory/illegal_address"),
    ("fork storm", "faults/fork_storm", "faults/fork_storm"),
];

/// Candidates of different problems that bring a server into the same state whenever they come last. One is in Triton, for which
/// workers come from a nursery of their own on the CPU.
const SAME_STATE: [&str; 2] = ["honest/triton_atomics", "honest/imports_constants"];

/// The cases of a soak.
pub struct Plan {
    checked: Vec<Case>,
    timed: Vec<Case>,
    disturbances: Vec<(&'static str, Case)>,
    same_state: Vec<Case>,
    problems: PathBuf,
    target: Target,
}

/// One evaluation.
pub struct Task<'a> {
    pub case: &'a Case,
    pub problem_file: PathBuf,
    pub target: Target,
    /// What it does to the server, if it is meant to do something.
    pub disturbance: Option<&'static str>,
}

impl Plan {
    /// The honest and the wrong candidates that are quick to build, and the disturbances.
    pub fn read(target: Target) -> Result<Self, Failure> {
        let folder = kernelwright_tests::repository().join("tests/adversarial");
        let all = cases(&folder.join("cases"), target.backend)?;
        let named = |name: &str| all.iter().find(|case| case.name == name).cloned().ok_or_else(|| format!("there is no case {name}"));
        let disturbances: Vec<_> = DISTURBANCES
            .iter()
            .map(|&(what, cpu, gpu)| Ok((what, named(if target.backend == Backend::Cpu { cpu } else { gpu })?)))
            .collect::<Result<_, String>>()?;
        let same_state = SAME_STATE.into_iter().map(named).collect::<Result<_, _>>()?;
        let ordinary = |case: &&Case| {
            let quick = case.limit.is_none() && !case.source.contains("cpp_extension");
            quick && case.kind != Kind::Cheat && !disturbances.iter().any(|(_, other)| other.name == case.name)
        };
        let mut ordinary: Vec<Case> = all.iter().filter(ordinary).cloned().collect();
        ordinary.sort_by(|a, b| a.problem.cmp(&b.problem));
        let (timed, checked) = ordinary.into_iter().partition(|case| case.timed);
        Ok(Self { checked, timed, disturbances, same_state, problems: folder.join("problems"), target })
    }

    /// The evaluation of this number, from 1.
    pub fn task(&self, number: usize) -> Task<'_> {
        if number.is_multiple_of(EVERY) {
            let (what, case) = &self.disturbances[(number / EVERY - 1) % self.disturbances.len()];
            return Task { disturbance: Some(what), ..self.of(case) };
        }
        let ordinary = number - number / EVERY;
        let (cases, turn) =
            if ordinary.is_multiple_of(TIMED) { (&self.timed, ordinary / TIMED) } else { (&self.checked, ordinary - ordinary / TIMED) };
        self.of(&cases[(turn - 1) / IN_A_ROW % cases.len()])
    }

    /// Evaluations after which the server has the same problems loaded.
    pub fn same_state(&self) -> impl Iterator<Item = Task<'_>> {
        self.same_state.iter().map(|case| self.of(case))
    }

    fn of<'a>(&self, case: &'a Case) -> Task<'a> {
        let problem_file = self.problems.join(format!("{}.py", case.problem));
        Task { case, problem_file, target: self.target, disturbance: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tenth_is_a_disturbance_and_the_others_are_as_they_come() {
        for target in ["cpu", "cuda"] {
            let plan = Plan::read(target.parse().unwrap()).unwrap();
            let tasks: Vec<_> = (1..=50).map(|number| plan.task(number)).collect();
            let disturbing: Vec<_> = tasks.iter().skip(EVERY - 1).step_by(EVERY).filter_map(|task| task.disturbance).collect();
            assert_eq!(disturbing, DISTURBANCES.map(|(what, ..)| what));
            assert_eq!(tasks.iter().filter(|task| task.disturbance.is_some()).count(), DISTURBANCES.len());
            assert!(tasks.iter().any(|task| task.case.timed) && tasks.iter().any(|task| task.case.kind == Kind::Fault));
        }
    }
}
