//! The table at the end.

use crate::census::{Census, Left, Row, System};

/// Everything that was counted.
pub struct Figures<'a> {
    pub before: &'a System,
    pub warm: &'a (Census, System),
    pub end: &'a (Census, System),
    pub after: &'a System,
    pub left: &'a Left,
    pub warm_up: usize,
}

/// Prints them, and says how many are leaks.
pub fn print(figures: &Figures<'_>) -> usize {
    let Figures { before, warm, end, after, left, warm_up } = figures;
    println!("{:<24} {:>10} {:>10} {:>10} {:>10}", "", "before", format!("after {warm_up}"), "at the end", "server off");
    let mut leaks = 0;
    let mut line = |what: &str, cells: [Option<u64>; 4], leaked: bool| {
        let cells = cells.map(|cell| cell.map_or_else(|| "-".to_owned(), |figure| figure.to_string()));
        println!("{what:<24} {:>10} {:>10} {:>10} {:>10} {}", cells[0], cells[1], cells[2], cells[3], if leaked { "LEAK" } else { "" });
        leaks += usize::from(leaked);
    };
    let own = end.0.rows(&warm.0);
    for (Row { what, now, most }, then) in own.iter().zip(warm.0.rows(&warm.0)) {
        let off = match *what {
            "processes" => Some(left.processes as u64),
            "scratch folders" => Some(left.folders as u64),
            _ => None,
        };
        line(what, [None, Some(then.now), Some(*now), off], now > most || off.is_some_and(|off| off > 0));
    }
    let (at_first, at_warm) = (before.rows(before), warm.1.rows(&warm.1));
    for (((end, after), first), warm) in end.1.rows(&warm.1).iter().zip(after.rows(before)).zip(at_first).zip(at_warm) {
        let leaked = end.now > end.most || after.now > after.most;
        line(end.what, [Some(first.now), Some(warm.now), Some(end.now), Some(after.now)], leaked);
    }
    leaks
}
