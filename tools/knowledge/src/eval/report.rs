//! Averages, intervals and their table.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use serde::Serialize;

/// How often the questions are drawn again for an interval.
const RESAMPLES: usize = 10_000;

/// How well questions were answered; of one question, or averaged over several. All between 0 and 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Figures {
    /// Whether one of the first five passages is relevant.
    pub hit_at_5: f64,
    /// Which part of the relevant ranges the first ten passages find.
    pub recall_at_10: f64,
    /// One over the place of the first relevant passage.
    pub mrr_at_10: f64,
    /// Gain over the best possible gain.
    pub ndcg_at_10: f64,
}

/// The same by the lines that an answer of `search_knowledge` shows alone, which are fewer the more passages it has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Shown {
    /// Whether the lines of one of five passages, the default, are relevant.
    pub hit_at_5: f64,
    /// Which part of the relevant ranges the lines of ten passages find.
    pub recall_at_10: f64,
}

/// The figures of one kind of question.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// The kind, as the file of questions has it; `all` for all.
    pub kind: String,
    /// How many questions.
    pub questions: usize,
    /// This library.
    pub ours: Figures,
    /// tantivy's defaults on the same chunks.
    pub tantivy: Figures,
    /// This library, by the lines that are shown.
    pub shown: Shown,
}

/// A difference and where it lies with 95 % confidence.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Interval {
    /// The difference of the averages.
    pub mean: f64,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// The answer of `eval`; its `Display` is a table.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// All questions first, then kind by kind.
    pub rows: Vec<Row>,
    /// nDCG@10 less that of tantivy's defaults.
    pub ndcg_difference: Interval,
    /// The time of a question in the middle of all, in milliseconds.
    pub query_p50_ms: f64,
    /// The time that 95 % of the questions stay below, in milliseconds.
    pub query_p95_ms: f64,
}

impl Report {
    /// Averages the figures of questions, whose kinds are given in the same order.
    pub(super) fn of(kinds: &[&str], ours: &[Figures], theirs: &[Figures], shown: &[Shown], latencies: &mut [Duration]) -> Self {
        let mut by_kind: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (number, kind) in kinds.iter().enumerate() {
            by_kind.entry(kind).or_default().push(number);
        }
        let row = |kind: &str, numbers: &[usize]| Row {
            kind: kind.to_owned(),
            questions: numbers.len(),
            ours: average(ours, numbers),
            tantivy: average(theirs, numbers),
            shown: Shown {
                hit_at_5: mean(numbers, |number| shown[number].hit_at_5),
                recall_at_10: mean(numbers, |number| shown[number].recall_at_10),
            },
        };
        let all: Vec<usize> = (0..kinds.len()).collect();
        let rows = [row("all", &all)].into_iter().chain(by_kind.iter().map(|(kind, numbers)| row(kind, numbers))).collect();
        let differences: Vec<f64> = ours.iter().zip(theirs).map(|(ours, theirs)| ours.ndcg_at_10 - theirs.ndcg_at_10).collect();
        latencies.sort();
        let quantile = |part: f64| {
            let at = ((latencies.len().saturating_sub(1)) as f64 * part).round() as usize;
            latencies.get(at).map_or(0.0, |latency| latency.as_secs_f64() * 1e3)
        };
        Self { rows, ndcg_difference: interval(&differences), query_p50_ms: quantile(0.5), query_p95_ms: quantile(0.95) }
    }
}

fn average(figures: &[Figures], numbers: &[usize]) -> Figures {
    Figures {
        hit_at_5: mean(numbers, |number| figures[number].hit_at_5),
        recall_at_10: mean(numbers, |number| figures[number].recall_at_10),
        mrr_at_10: mean(numbers, |number| figures[number].mrr_at_10),
        ndcg_at_10: mean(numbers, |number| figures[number].ndcg_at_10),
    }
}

fn mean(numbers: &[usize], value: impl Fn(usize) -> f64) -> f64 {
    numbers.iter().map(|&number| value(number)).sum::<f64>() / numbers.len().max(1) as f64
}

/// The mean and its interval over resampled questions. The draws are the same each time, so that a report can be compared with another.
fn interval(values: &[f64]) -> Interval {
    let mut draw = 0x9E37_79B9_7F4A_7C15_u64;
    let mut next = move |below: usize| {
        draw ^= draw << 13;
        draw ^= draw >> 7;
        draw ^= draw << 17;
        (draw % below as u64) as usize
    };
    let count = values.len().max(1);
    let mean = values.iter().sum::<f64>() / count as f64;
    let mut means: Vec<f64> = (0..RESAMPLES)
        .map(|_| (0..count).map(|_| values.get(next(count)).copied().unwrap_or_default()).sum::<f64>() / count as f64)
        .collect();
    means.sort_by(f64::total_cmp);
    Interval { mean, low: means[RESAMPLES / 40], high: means[RESAMPLES - 1 - RESAMPLES / 40] }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.rows.iter().map(|row| row.kind.len()).max().unwrap_or(0).max("questions".len());
        write!(f, "{:<width$}  {:>5}  {:>15}  {:>15}  {:>15}  {:>15}", "questions", "", "Hit@5", "R@10", "MRR@10", "nDCG@10")?;
        writeln!(f, "  {:>11}  {:>10}", "shown Hit@5", "shown R@10")?;
        for Row { kind, questions, ours, tantivy, shown } in &self.rows {
            write!(f, "{kind:<width$}  {questions:>5}")?;
            for (ours, theirs) in [
                (ours.hit_at_5, tantivy.hit_at_5),
                (ours.recall_at_10, tantivy.recall_at_10),
                (ours.mrr_at_10, tantivy.mrr_at_10),
                (ours.ndcg_at_10, tantivy.ndcg_at_10),
            ] {
                write!(f, "  {:>15}", format!("{ours:.3} ({theirs:.3})"))?;
            }
            writeln!(f, "  {:>11.3}  {:>10.3}", shown.hit_at_5, shown.recall_at_10)?;
        }
        let Interval { mean, low, high } = self.ndcg_difference;
        writeln!(f, "In brackets: tantivy's defaults on the same chunks. Shown: by the lines that search_knowledge has room for.")?;
        writeln!(f, "nDCG@10 less tantivy's: {mean:+.3}, 95 % interval {low:+.3} to {high:+.3}.")?;
        write!(f, "A question takes {:.2} ms (p50), {:.2} ms (p95).", self.query_p50_ms, self.query_p95_ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_a_row_for_each_kind() {
        let good = Figures { hit_at_5: 1.0, recall_at_10: 1.0, mrr_at_10: 1.0, ndcg_at_10: 1.0 };
        let none = Figures::default();
        let seen = Shown { hit_at_5: 1.0, recall_at_10: 0.5 };
        let mut latencies = [Duration::from_micros(500), Duration::from_micros(1_500), Duration::from_micros(700)];
        let report = Report::of(
            &["code", "error", "code"],
            &[good, good, none],
            &[none, good, none],
            &[seen, seen, Shown::default()],
            &mut latencies,
        );
        insta::assert_snapshot!(report.to_string());
        assert!((report.query_p95_ms - 1.5).abs() < 1e-9);
    }
}
