//! What a rule is: data that says how a cause shows, what it costs and what helps.

use kernelwright_protocol::{Cause, Figures, Metric, Sign};

use super::facts::Facts;

/// One cause, and how it is found in one kind of place. The tables beside this file hold nothing else.
pub(crate) struct Rule {
    /// What is found.
    pub(crate) cause: Cause,
    /// Where it is looked for.
    pub(crate) scope: Scope,
    /// The ways in which it shows; the first whose bounds all hold is told.
    pub(crate) shows: &'static [Show],
    /// The ways in which it is ruled out. Their bounds leave a distance to those of `shows`: between them nothing is claimed.
    pub(crate) cleared: &'static [Show],
    /// Causes that bring this one about; where one of them is found in the same place, this one is not told.
    pub(crate) symptom_of: &'static [Cause],
    /// What a kernel at its ceiling has to show besides.
    pub(crate) at_ceiling: AtCeiling,
    /// The part of the place's time that the cause takes, 0 to 1, estimated from its figures.
    pub(crate) cost: fn(&Facts) -> f64,
    /// What helps, the most effective first.
    pub(crate) remedies: &'static [Advice],
}

/// Where a rule looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// One kernel on a GPU.
    Kernel,
    /// A call on a GPU as a whole.
    Call,
    /// A call on a processor as a whole.
    Cpu,
}

/// What becomes of a rule where the kernel is as fast as the device moves bytes or computes.
pub(crate) enum AtCeiling {
    /// The ceiling is the answer; signs of waiting are what a full pipeline looks like.
    Silent,
    /// The cause is waste, so that even a full pipeline does too much; these bounds have to hold besides.
    Speaks(&'static [Bound]),
    /// The rule tells of the ceiling itself. What is at stake is the distance to it, which is no alarm.
    Ceiling,
}

/// Bounds that have to hold together, and the sentence that tells them.
pub(crate) struct Show {
    /// All of them have to hold; one on a figure that was not measured does not.
    pub(crate) when: &'static [Bound],
    /// The sentence; a metric's name in braces stands for its value.
    pub(crate) says: &'static str,
}

/// A figure beyond a value.
pub(crate) struct Bound {
    metric: Metric,
    side: Side,
    value: f64,
}

enum Side {
    Above,
    Below,
}

/// A change that treats a cause.
pub(crate) struct Advice {
    /// What to change.
    pub(crate) advice: &'static str,
    /// The knowledge entry that says how.
    pub(crate) entry: &'static str,
}

/// A figure at or above a value.
pub(crate) const fn above(metric: Metric, value: f64) -> Bound {
    Bound { metric, side: Side::Above, value }
}

/// A figure at or below a value.
pub(crate) const fn below(metric: Metric, value: f64) -> Bound {
    Bound { metric, side: Side::Below, value }
}

/// Advice with the entry that says how.
pub(crate) const fn advice(advice: &'static str, entry: &'static str) -> Advice {
    Advice { advice, entry }
}

impl Bound {
    /// Whether the figure was measured and is beyond the value.
    pub(crate) fn holds(&self, figures: &Figures) -> bool {
        figures.get(self.metric).is_some_and(|value| match self.side {
            Side::Above => value >= self.value,
            Side::Below => value <= self.value,
        })
    }

    fn sign(&self, figures: &Figures) -> Option<Sign> {
        let word = match self.side {
            Side::Above => "above",
            Side::Below => "below",
        };
        let value = figures.get(self.metric)?;
        Some(Sign { metric: self.metric, value, bound: format!("{word} {}", self.metric.show(self.value)) })
    }

    /// The figure it is about.
    pub(crate) fn metric(&self) -> Metric {
        self.metric
    }
}

impl Show {
    /// Whether all its bounds hold.
    pub(crate) fn holds(&self, figures: &Figures) -> bool {
        self.when.iter().all(|bound| bound.holds(figures))
    }

    /// Whether everything was measured that it asks for.
    pub(crate) fn is_decided(&self, figures: &Figures) -> bool {
        self.when.iter().all(|bound| figures.get(bound.metric()).is_some())
    }

    /// The figures behind it.
    pub(crate) fn signs(&self, figures: &Figures) -> Vec<Sign> {
        self.when.iter().filter_map(|bound| bound.sign(figures)).collect()
    }

    /// The sentence with its figures.
    pub(crate) fn sentence(&self, figures: &Figures) -> String {
        let mut text = String::new();
        let mut rest = self.says;
        while let Some((before, after)) = rest.split_once('{') {
            let (name, after) = after.split_once('}').unwrap_or((after, ""));
            text.push_str(before);
            text.push_str(&shown(figures, name));
            rest = after;
        }
        text.push_str(rest);
        text
    }
}

/// The value of the metric of this name, as people read it.
fn shown(figures: &Figures, name: &str) -> String {
    let metric = serde_json::from_value::<Metric>(name.into()).ok();
    metric.and_then(|metric| Some(metric.show(figures.get(metric)?))).unwrap_or_else(|| "an unknown part".to_owned())
}
