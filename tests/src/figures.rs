//! The tables of figures that benchmarks print.

#![expect(clippy::print_stdout, reason = "the tables are what those programs are for")]

use std::time::Duration;

/// Prints a row: what was measured, the median, the least, the most, and the goal with remarks.
pub fn row(cells: [&str; 5]) {
    let [what, median, least, most, remarks] = cells;
    println!("{what:<44} {median:>10} {least:>10} {most:>10}   {remarks}");
}

/// Prints a row of times; `not measured` where there is none.
pub fn times(what: &str, times: &[Duration], remarks: &str) {
    let figure = |time: Option<Duration>| time.map_or_else(|| "not measured".to_owned(), seconds);
    row([what, &figure(median(times)), &figure(times.iter().min().copied()), &figure(times.iter().max().copied()), remarks]);
}

/// A time in seconds, as tables have it.
#[must_use]
pub fn seconds(time: Duration) -> String {
    format!("{:.2} s", time.as_secs_f64())
}

/// The middle value; none for no values.
#[must_use]
pub fn median(times: &[Duration]) -> Option<Duration> {
    let mut sorted = times.to_vec();
    sorted.sort_unstable();
    sorted.get(sorted.len() / 2).copied()
}
