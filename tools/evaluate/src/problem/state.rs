//! Which state the problem's module is in: the one it was built with, or another one that candidates are tried and timed in.

use serde::Deserialize;
use serde_json::{Value, json};

use super::Problem;
use crate::EvaluateError;

impl Problem {
    /// Has the reference hold another state, or its own again: the names of what holds other values. There are none, and its state is what it was before
    /// this change, where nothing of it can change so, or where its outputs do not show it.
    pub(crate) async fn vary(&mut self, change: Option<Change>) -> Result<Vec<String>, EvaluateError> {
        #[derive(Deserialize)]
        struct Varied {
            names: Vec<String>,
        }
        if self.state == State::Kept {
            return Ok(vec![]);
        }
        // Noted before: an evaluation may be given up while this is asked.
        self.state = State::Another(change.clone().unwrap_or_default());
        let (seed, beside) = change.map_or((None, None), |change| (Some(change.seed), change.beside));
        let (Varied { names }, _) = self.ask("vary", json!({"seed": seed, "beside": beside}), &[]).await?;
        if names.is_empty() {
            let kept = beside.is_some_and(|names| !names.is_empty());
            self.state = seed.filter(|_| kept).map_or(State::Own, |seed| State::Another(Change { seed, beside: None }));
        }
        Ok(names)
    }

    /// Leaves its state as it is from here on: the reference loses its device in another one.
    pub(crate) fn keeps_state(&mut self) {
        self.state = State::Kept;
    }
}

/// From which state the reference's module is to go over to which other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Change {
    /// What the values follow from.
    pub(crate) seed: u32,
    /// A step of training changes what is trained, beside these, which hold other values already; without it, what was set by hand changes.
    pub(crate) beside: Option<Vec<String>>,
}

/// Other values of some of a module's tensors.
#[derive(Clone, Debug)]
pub(crate) struct OtherState {
    /// What they follow from.
    pub(crate) seed: u32,
    /// The tensors' names in the problem's module.
    pub(crate) names: Vec<String>,
    /// How a candidate's worker tells which tensors of a module that it builds stand for them.
    pub(crate) policy: Policy,
}

/// See `built_in_state.py`.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Policy {
    ByValue,
    ByName,
    OfAny,
    FirstOfAny,
    LastOfAny,
}

impl OtherState {
    pub(crate) fn to_json(&self) -> Value {
        let policy = match self.policy {
            Policy::ByValue => "by value",
            Policy::ByName => "by name",
            Policy::OfAny => "of any",
            Policy::FirstOfAny => "first of any",
            Policy::LastOfAny => "last of any",
        };
        json!({"seed": self.seed, "names": self.names, "policy": policy})
    }
}

/// What the module of a problem holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// What it was built with.
    Own,
    /// Other values that this change gave it, or possibly so.
    Another(Change),
    /// What it was built with, for good.
    Kept,
}
