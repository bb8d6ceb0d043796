//! Which inputs a candidate is tried on.

use std::iter;
use std::num::NonZeroU32;

use serde::Deserialize;

use crate::problem::Facts;

/// How the inputs of a trial are drawn; the worker protocol says what each does.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub(crate) enum DrawKind {
    Problem,
    Scaled,
    Structured,
    /// The same without changes of sign.
    Unsigned,
    /// Of that the zeros alone: what rounding decides in one row is decided in all that equal it, and in an ordinary draw it is not more than elsewhere.
    Blank,
    Special,
    Small,
    Shifted,
    Negative,
    /// Where rounding does not decide what larger inputs come to: some columns far up, some far down.
    Biased,
    /// Under the same condition, where there are matrices: parts that have little to do with each other.
    Blocked,
    Tiny,
    /// Where few numbers come of many inputs: a few elements decide.
    Uneven,
    Spiked,
    /// There, too: the problem's own values in other places, so that no sample stands for all of them.
    Sifted,
    /// Where inputs are the same in every draw: other values in those.
    Filled,
    /// Where there are masks: an empty row, some full and some padded ones.
    Masked,
    /// Where there are integers: those of few places in all others.
    Skewed,
    /// Where integers are never small: those down to one.
    Lower,
    /// Where integers are numbers: larger ones.
    Wide,
    /// Where outputs say which elements are the largest: those several times.
    Tied,
    /// Where it is known how integers are drawn: those at the ends of their range, and few of them.
    Ranged,
    /// The base entry's inputs, integers that only count in another order.
    Permuted,
    /// The base entry's inputs with a few elements changed.
    Touched,
    /// The same, far larger.
    Raised,
    /// A few single elements, far larger and with their signs changed.
    Opposed,
    /// Those of `Touched` with their signs changed.
    Flipped,
}

impl DrawKind {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Problem => "problem",
            Self::Scaled => "scaled",
            Self::Structured => "structured",
            Self::Unsigned => "unsigned",
            Self::Blank => "blank",
            Self::Special => "special",
            Self::Small => "small",
            Self::Shifted => "shifted",
            Self::Negative => "negative",
            Self::Biased => "biased",
            Self::Blocked => "blocked",
            Self::Tiny => "tiny",
            Self::Uneven => "uneven",
            Self::Spiked => "spiked",
            Self::Sifted => "sifted",
            Self::Filled => "filled",
            Self::Masked => "masked",
            Self::Skewed => "skewed",
            Self::Lower => "lower",
            Self::Wide => "wide",
            Self::Tied => "tied",
            Self::Ranged => "ranged",
            Self::Permuted => "permuted",
            Self::Touched => "touched",
            Self::Raised => "raised",
            Self::Opposed => "opposed",
            Self::Flipped => "flipped",
        }
    }

    /// Whether it changes the base entry's inputs.
    pub(crate) fn is_of_base(self) -> bool {
        matches!(self, Self::Permuted | Self::Touched | Self::Raised | Self::Opposed | Self::Flipped)
    }
}

/// One draw of inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Draw {
    pub(crate) kind: DrawKind,
    /// Secret until the candidate has the inputs.
    pub(crate) seed: u32,
}

/// As many trials as there are where nobody asks for another number.
pub(crate) const USUAL: usize = 5;

/// The draws of an evaluation: the problem's own distribution first (timing builds on it), then one of each kind that has exposed
/// a class of tricks, the most telling first; beyond those the problem's own again with other seeds. From [`USUAL`] trials on there are two that move the
/// mean, which none of the first does: who has room for as much as there usually is, or begins a maximum with zero, is wrong then. Some problems have
/// more, as suits them.
pub(crate) fn plan(trials: NonZeroU32, facts: &Facts) -> Vec<Draw> {
    use DrawKind::{Negative, Problem, Scaled, Shifted, Small, Special, Structured, Tiny};
    const ORDER: [DrawKind; 8] = [Problem, Scaled, Structured, Special, Small, Shifted, Negative, Tiny];
    let kinds = (0..trials.get() as usize).map(|trial| ORDER.get(trial).copied().unwrap_or(Problem));
    let moved = [Shifted, Negative].into_iter().filter(|moved| kinds.len() >= USUAL && !kinds.clone().any(|kind| kind == *moved));
    kinds.clone().chain(moved).chain(facts.more_draws.iter().copied()).map(of_kind).collect()
}

/// Draws that decide what the problem's own do not: what a reduction comes to, and whether inputs are read that are always the same.
pub(crate) const DECISIVE: [DrawKind; 4] = [DrawKind::Uneven, DrawKind::Spiked, DrawKind::Sifted, DrawKind::Filled];

/// Draws beyond the range of the problem's own.
pub(crate) const BEYOND: [DrawKind; 2] = [DrawKind::Scaled, DrawKind::Shifted];

/// The base entry's inputs once more, a few elements changed, and that in several places, since who looks at a few dozen elements sees one change of twenty:
/// what is remembered by address or by a look at some elements is then wrong. In all but the first, what takes a few elements for all, where a short way does
/// that is right for ordinary ones only; in the last, what takes signs for granted, and what looks at one element in thirty, as it sees each run of them. Each
/// with what takes its place where the reference has no answer. A look at one row in sixteen of three tensors sees every fifth change, so a problem of which
/// a trial is quick has both kinds twice. Integers change in the first kind alone, and a look at one of them sees one change of 512: where their ranges are
/// known that one is made twice.
pub(crate) fn changed_in_place(facts: &Facts, is_quick: bool) -> Vec<Vec<Draw>> {
    use DrawKind::{Flipped, Opposed, Raised, Touched};
    let larger: [&[DrawKind]; 2] = [&[Raised, Touched], &[Opposed, Flipped]];
    let touched = if facts.more_draws.contains(&DrawKind::Ranged) { 2 } else { 1 };
    let times = if is_quick { 2 } else { 1 };
    let all = iter::repeat_n([Touched].as_slice(), touched).chain(larger.into_iter().cycle().take(times * larger.len()));
    all.map(|kinds| kinds.iter().copied().map(of_kind).collect()).collect()
}

/// Inputs of the problem's own distribution under a seed of their own.
pub(crate) fn fresh() -> Draw {
    of_kind(DrawKind::Problem)
}

/// What takes the place of a draw on which the reference has no answer, one after another: many are not defined for what is below zero.
pub(crate) fn instead_of(kind: DrawKind) -> Vec<Draw> {
    let near: &[DrawKind] = if kind == DrawKind::Structured { &[DrawKind::Unsigned, DrawKind::Blank] } else { &[] };
    near.iter().copied().map(of_kind).chain([fresh()]).collect()
}

/// What takes the place of a draw of which a candidate's outputs say nothing: without the values that are not finite, which it has carried further than the
/// reference does, or chosen by.
pub(crate) fn without_what_is_not_finite(kind: DrawKind) -> Option<Draw> {
    (kind == DrawKind::Special).then(|| of_kind(DrawKind::Tiny))
}

/// A draw of this kind under a new seed.
pub(crate) fn of_kind(kind: DrawKind) -> Draw {
    Draw { kind, seed: random_u32() }
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

    fn facts(more_draws: &[&str]) -> Facts {
        let known = serde_json::json!({"inputs": [], "outputs": [], "init": null, "tensors": [], "state": null, "reference_ns": 1});
        Facts { more_draws: serde_json::from_value(serde_json::json!(more_draws)).unwrap(), ..serde_json::from_value(known).unwrap() }
    }

    #[test]
    fn the_first_draw_is_the_problems_own_and_seeds_differ() {
        let names = |plan: &[Draw]| plan.iter().map(|draw| draw.kind.as_str()).collect::<Vec<_>>();
        let nine = plan(NonZeroU32::new(9).unwrap(), &facts(&[]));
        assert_eq!(names(&nine), ["problem", "scaled", "structured", "special", "small", "shifted", "negative", "tiny", "problem"]);
        assert_ne!(nine[7].seed, nine[8].seed);
        let five = plan(NonZeroU32::new(5).unwrap(), &facts(&["biased", "spiked"]));
        assert_eq!(names(&five), ["problem", "scaled", "structured", "special", "small", "shifted", "negative", "biased", "spiked"]);
        let two = plan(NonZeroU32::new(2).unwrap(), &facts(&["filled", "masked", "skewed"]));
        assert_eq!(names(&two), ["problem", "scaled", "filled", "masked", "skewed"]);
    }

    #[test]
    fn integers_of_known_ranges_change_twice_in_place() {
        let kinds = |more_draws: &[&str], is_quick: bool| {
            let first = |draws: &Vec<Draw>| draws[0].kind.as_str();
            changed_in_place(&facts(more_draws), is_quick).iter().map(first).collect::<Vec<_>>()
        };
        assert_eq!(kinds(&[], false), ["touched", "raised", "opposed"]);
        assert_eq!(kinds(&["biased"], true), ["touched", "raised", "opposed", "raised", "opposed"]);
        assert_eq!(kinds(&["tied", "ranged"], false), ["touched", "touched", "raised", "opposed"]);
    }

    #[test]
    fn the_problems_own_draw_takes_the_place_of_one_without_an_answer() {
        let kinds = |kind: DrawKind| instead_of(kind).iter().map(|draw| draw.kind).collect::<Vec<_>>();
        assert_eq!(kinds(DrawKind::Structured), [DrawKind::Unsigned, DrawKind::Blank, DrawKind::Problem]);
        assert_eq!(kinds(DrawKind::Scaled), [DrawKind::Problem]);
    }
}
