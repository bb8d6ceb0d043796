//! Identifiers that count up from 1 inside one run, so that a resumed run continues the same numbers.

use std::fmt;

use serde::{Deserialize, Serialize};

macro_rules! counted {
    ($(#[$doc:meta])* $name:ident($inner:ty)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub $inner);

        impl $name {
            /// The identifier after `count` earlier ones.
            #[must_use]
            pub fn after(count: usize) -> Self {
                Self(<$inner>::try_from(count).unwrap_or(<$inner>::MAX).saturating_add(1))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

counted! {
    /// Names a node of the search graph.
    NodeId(u32)
}
counted! {
    /// Names one application of the operator.
    StepId(u32)
}
counted! {
    /// Names one question to the model; stable across a resume, so that a recorded or mailed answer finds its question.
    AskId(u64)
}

impl StepId {
    /// No step: what a warm start evaluates before the first one.
    pub const WARM_START: Self = Self(0);
}

/// Names a run: the name of its folder, `<problem>-<yyyymmdd-hhmmss>-<4 hex digits>`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RunId(pub String);

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
