//! Which inputs a candidate is tried on.

use std::num::NonZeroU32;

/// How the inputs of a trial are drawn; the worker protocol says what each does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DrawKind {
    Problem,
    Scaled,
    Structured,
    Special,
    Small,
    Shifted,
    Tiny,
    /// The base entry's inputs with a few elements changed.
    Touched,
}

impl DrawKind {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Problem => "problem",
            Self::Scaled => "scaled",
            Self::Structured => "structured",
            Self::Special => "special",
            Self::Small => "small",
            Self::Shifted => "shifted",
            Self::Tiny => "tiny",
            Self::Touched => "touched",
        }
    }
}

/// One draw of inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Draw {
    pub(crate) kind: DrawKind,
    /// Secret until the candidate has the inputs.
    pub(crate) seed: u32,
}

/// The draws of an evaluation: the problem's own distribution first (timing builds on it), then one of each kind that has exposed
/// a class of tricks, the most telling first; beyond those the problem's own again with other seeds.
pub(crate) fn plan(trials: NonZeroU32) -> Vec<Draw> {
    use DrawKind::{Problem, Scaled, Shifted, Small, Special, Structured, Tiny};
    const ORDER: [DrawKind; 7] = [Problem, Scaled, Structured, Special, Small, Shifted, Tiny];
    (0..trials.get() as usize).map(|trial| Draw { kind: ORDER.get(trial).copied().unwrap_or(Problem), seed: random_u32() }).collect()
}

/// The base entry's inputs once more, a few elements changed: what is remembered by address or by a look at some elements is then wrong.
pub(crate) fn touched() -> Draw {
    Draw { kind: DrawKind::Touched, seed: random_u32() }
}

/// Inputs of the problem's own distribution under a seed of their own.
pub(crate) fn fresh() -> Draw {
    Draw { kind: DrawKind::Problem, seed: random_u32() }
}

/// A number the candidate cannot know. Without system randomness there are no secrets; the time is the best that is left.
pub(crate) fn random_u32() -> u32 {
    getrandom::u32().unwrap_or_else(|_| {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        now.map_or(0, |elapsed| elapsed.subsec_nanos())
    })
}

/// A random number below `bound`.
pub(crate) fn random_below(bound: usize) -> usize {
    random_u32() as usize % bound.max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_draw_is_the_problems_own_and_seeds_differ() {
        let plan = plan(NonZeroU32::new(8).unwrap());
        let kinds: Vec<_> = plan.iter().map(|draw| draw.kind.as_str()).collect();
        assert_eq!(kinds, ["problem", "scaled", "structured", "special", "small", "shifted", "tiny", "problem"]);
        assert_ne!(plan[6].seed, plan[7].seed);
    }
}
