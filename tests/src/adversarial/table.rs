//! What a person reads after the suite has run.

use std::fmt;

use super::{Kind, Outcome};

/// Every wrong verdict, and how many of each kind there were.
#[derive(Debug)]
pub struct Table<'a>(pub &'a [Outcome]);

impl fmt::Display for Table<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Outcome { case, reading, wrong, .. } in self.0 {
            if let Some(wrong) = wrong {
                writeln!(f, "WRONG  {} ({}): {wrong}\n       {}\n       got {}", case.name, case.kind, case.mechanism, cut(reading))?;
            }
        }
        for kind in [Kind::Cheat, Kind::Fault, Kind::Honest] {
            let of_kind = || self.0.iter().filter(|outcome| outcome.case.kind == kind);
            let wrong = of_kind().filter(|outcome| outcome.wrong.is_some()).count();
            writeln!(f, "{kind:<7} {:>3} cases, {wrong} wrong", of_kind().count())?;
        }
        let seconds: f64 = self.0.iter().map(|outcome| outcome.wall.as_secs_f64()).sum();
        write!(f, "{seconds:.0} s, the sum over all verdicts")
    }
}

fn cut(text: &str) -> String {
    let mut short: String = text.chars().take(300).collect();
    if short.len() < text.len() {
        short.push_str(" [...]");
    }
    short
}
