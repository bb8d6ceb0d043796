//! What has to be known about times, beside the times.

use kernelwright_protocol::{BaselineKind, Nanoseconds, Severity};

use crate::candidate::Candidate;
use crate::draws::DrawKind;
use crate::samples::{Beside, Samples};
use crate::timing::Session;

/// Notes what has to be known about the times.
pub(crate) fn note(candidate: &mut Candidate, samples: &Samples, session: &Session, beside: Option<&Beside>) {
    if let Some(message) = beside.zip(session.contenders.first()).and_then(|(beside, &first)| of_another_draw(first, beside)) {
        candidate.note("timed_on_another_draw", Severity::Note, &message);
    }
    if candidate.copies() {
        let message =
            "calls return the same memory again, where a result is right until the next call only: each was copied, which is in its time";
        candidate.note("reused_output", Severity::Note, message);
    }
    if let Some(share) = samples.disturbance() {
        candidate.note("busy_processors", Severity::Warning, &disturbed(share));
    }
}

/// How much longer or shorter a call of the baseline is on one draw than on another where that has to be told.
const UNLIKE: f64 = 1.5;

/// What to make of times that depend on values, which are not those of the problem's own draws, where a call of a baseline takes as long as is said here on
/// those.
fn of_another_draw((kind, own): (BaselineKind, Nanoseconds), Beside { draw, baselines }: &Beside) -> Option<String> {
    let &(_, timed) = baselines.iter().find(|(timed, _)| *timed == kind)?;
    let share = timed / own.seconds().max(1e-9);
    (*draw != DrawKind::Problem && !(1.0 / UNLIKE..=UNLIKE).contains(&share)).then(|| {
        format!(
            "a call of the {kind} baseline took {:.1} us on the problem's own inputs and {:.1} us on the `{}` draw, which both sides were timed on: a few \
             elements of it decide what a reduction comes to, so that nobody gains by leaving others out",
            own.seconds() * 1e6,
            timed * 1e6,
            draw.as_str()
        )
    })
}

/// What to make of times that were taken while threads waited for processors.
fn disturbed(share: f64) -> String {
    format!(
        "other work had the processors while this was timed: in every second a thread waited {:.0} ms for one, and times may be wrong by as much; \
         repeat it when less else runs, or give each side fewer threads",
        share * 1e3
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_draw_on_which_a_call_takes_another_time_is_told() {
        let told = |draw: DrawKind, seconds: f64| {
            of_another_draw((BaselineKind::Eager, Nanoseconds(100_000)), &Beside { draw, baselines: vec![(BaselineKind::Eager, seconds)] })
        };
        let twice = told(DrawKind::Spiked, 200e-6).unwrap();
        assert!(
            twice.starts_with("a call of the eager baseline took 100.0 us on the problem's own inputs and 200.0 us on the `spiked` draw"),
            "{twice}"
        );
        assert!(told(DrawKind::Uneven, 50e-6).is_some(), "and half");
        assert_eq!(told(DrawKind::Spiked, 140e-6), None, "as far apart as processors make it");
        assert_eq!(told(DrawKind::Problem, 200e-6), None, "its own draw");
    }
}
