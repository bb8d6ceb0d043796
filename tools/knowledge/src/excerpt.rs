//! Which part of each passage an answer shows: the lines that fit the question best, as many as there is room for.
//!
//! An answer has so many bytes for all of its passages. Better ones get more of them, and what short ones leave is theirs as well. A passage
//! that does not fit is shown as a window of consecutive lines: the one with most of the question's words, weighed by how rare they are. Lines that
//! would fill a window alone are cut between words, so that no passage is left without text.

use std::collections::HashMap;
use std::ops::Range;

use crate::rank::Weighed;
use crate::tokenize::{Forms, forms, whole, words};

/// What the notes around a passage that was cut take at most.
const MARK_BYTES: usize = 56;

/// Even the last passage of many shows this much, notes included.
const MIN_SHARE: usize = 140;

/// The bytes of a piece of a line that is too long.
const PIECE_BYTES: usize = 120;

/// How soon repetitions of a word stop counting.
const SATURATION: f32 = 1.2;

/// What a window gains that has all words of the question over one that has few.
const COVERAGE: f32 = 2.0;

/// What a window gains that begins where a chunk begins, or a paragraph.
const CHUNK_BEGINS: f32 = 0.1;
const PARAGRAPH_BEGINS: f32 = 0.05;

/// What a window gains that lies in the chunk that was ranked best: its place was found by more than its words.
const BEST_CHUNK: f32 = 0.4;

/// A passage to be shown.
#[derive(Clone, Debug)]
pub(crate) struct Full<'a> {
    pub(crate) text: &'a str,
    /// Whether its lines are code, which is not cut inside a line that fits.
    pub(crate) is_code: bool,
    /// The lines of the chunk that was ranked best, counted from 0.
    pub(crate) best: Range<usize>,
    /// The first lines of all of its chunks.
    pub(crate) starts: Vec<usize>,
}

/// What is shown of a passage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Excerpt {
    /// The bytes of its text.
    pub(crate) bytes: Range<usize>,
    /// Its first line and the one after its last, counted from 0.
    pub(crate) lines: Range<usize>,
}

/// What is shown of each passage, best first, when all together may have `budget` bytes with the notes about what is missing.
pub(crate) fn excerpts(passages: &[Full<'_>], sought: &[Weighed], budget: usize) -> Vec<Excerpt> {
    let lengths: Vec<usize> = passages.iter().map(|passage| passage.text.len()).collect();
    let mut reader = Reader::of(sought);
    let mut unused = 0;
    let mut shown: Vec<Excerpt> = Vec::with_capacity(passages.len());
    // The last one first: what it leaves goes to a better one.
    for (passage, share) in passages.iter().zip(shares(&lengths, budget)).rev() {
        let room = share + unused;
        let excerpt = if passage.text.len() <= room {
            unused = room - passage.text.len();
            Excerpt { bytes: 0..passage.text.len(), lines: 0..passage.text.lines().count() }
        } else {
            let room = room.saturating_sub(MARK_BYTES).max(1);
            let excerpt = reader.best(passage, room);
            unused = room.saturating_sub(excerpt.bytes.len());
            excerpt
        };
        shown.push(excerpt);
    }
    shown.reverse();
    shown
}

/// How many bytes each passage may have, by its rank; none gets more than it has.
fn shares(lengths: &[usize], budget: usize) -> Vec<usize> {
    let least = MIN_SHARE.min(budget / lengths.len().max(1));
    let mut shares: Vec<usize> = lengths.iter().map(|length| least.min(*length)).collect();
    loop {
        let left = budget.saturating_sub(shares.iter().sum());
        let open: Vec<usize> = (0..lengths.len()).filter(|&rank| shares[rank] < lengths[rank]).collect();
        let weight = |rank: usize| 1.0 / (rank + 1) as f32;
        let all: f32 = open.iter().map(|&rank| weight(rank)).sum();
        if left < lengths.len() || open.is_empty() {
            return shares;
        }
        let mut rest = left;
        for rank in open {
            let more = ((left as f32 * weight(rank) / all) as usize).max(1).min(rest).min(lengths[rank] - shares[rank]);
            shares[rank] += more;
            rest -= more;
        }
    }
}

/// A line, or a piece of one.
struct Unit {
    bytes: Range<usize>,
    line: usize,
    /// Which of the sought words it has, one for each time.
    has: Vec<usize>,
    is_blank: bool,
}

/// Finds a question's words in texts.
struct Reader<'a> {
    sought: &'a [Weighed],
    /// How they begin: words that begin otherwise need not be brought to their form.
    starts: Vec<[u8; 2]>,
    /// What words that were seen have of what is sought.
    known: HashMap<String, Vec<usize>>,
    /// What each place of the question can give.
    at_stake: Vec<f32>,
}

impl<'a> Reader<'a> {
    fn of(sought: &'a [Weighed]) -> Self {
        let mut starts: Vec<[u8; 2]> = sought.iter().map(|word| start(word.term.as_bytes())).collect();
        starts.sort_unstable();
        starts.dedup();
        let places = sought.iter().map(|word| word.place + 1).max().unwrap_or_default();
        let mut at_stake = vec![0.0_f32; places];
        for word in sought {
            at_stake[word.place] = at_stake[word.place].max(word.weight);
        }
        Self { sought, starts, known: HashMap::new(), at_stake }
    }

    /// The window of at most `room` bytes that fits best.
    fn best(&mut self, passage: &Full<'_>, room: usize) -> Excerpt {
        let longest = if passage.is_code { room } else { room / 2 };
        let mut units = units(passage.text, longest, PIECE_BYTES.min(room));
        for unit in &mut units {
            unit.has = self.read(&passage.text[unit.bytes.clone()]);
        }
        let mut counts = vec![0_u32; self.sought.len()];
        let mut best: Option<(f32, Range<usize>)> = None;
        let mut end = 0;
        for first in 0..units.len() {
            while end < units.len() && (end <= first || units[end].bytes.end - units[first].bytes.start <= room) {
                units[end].has.iter().for_each(|&word| counts[word] += 1);
                end += 1;
            }
            if !units[first].is_blank {
                let score = self.score(&counts) * favour(passage, &units, first..end);
                if best.as_ref().is_none_or(|(most, _)| score > *most) {
                    best = Some((score, first..end));
                }
            }
            units[first].has.iter().for_each(|&word| counts[word] -= 1);
        }
        let mut window = best.map_or(0..units.len().min(1), |(_, window)| window);
        while window.len() > 1 && units[window.end - 1].is_blank {
            window.end -= 1;
        }
        let (first, last) = (&units[window.start], &units[window.end - 1]);
        Excerpt { bytes: first.bytes.start..last.bytes.end, lines: first.line..last.line + 1 }
    }

    /// How well a window fits that has each of the sought words so many times.
    fn score(&self, counts: &[u32]) -> f32 {
        let mut covered = vec![0.0_f32; self.at_stake.len()];
        let mut sum = 0.0;
        for (word, &count) in self.sought.iter().zip(counts).filter(|(_, count)| **count > 0) {
            let count = count as f32;
            sum += word.weight * count * (SATURATION + 1.0) / (count + SATURATION);
            covered[word.place] = covered[word.place].max(word.weight);
        }
        sum * (1.0 + COVERAGE * covered.iter().sum::<f32>() / self.at_stake.iter().sum::<f32>().max(0.1))
    }

    /// Which of the sought words a text has.
    fn read(&mut self, text: &str) -> Vec<usize> {
        let mut has = Vec::new();
        for word in words(text) {
            if !self.may_have(word) {
                continue;
            }
            if let Some(known) = self.known.get(word) {
                has.extend_from_slice(known);
                continue;
            }
            let found = if is_plain(word) { Forms { whole: whole(word), ..Forms::default() } } else { forms(word) };
            let matches = |term: &String| *term == found.whole || found.parts.contains(term);
            let known: Vec<usize> = (0..self.sought.len()).filter(|&number| matches(&self.sought[number].term)).collect();
            has.extend_from_slice(&known);
            self.known.insert(word.to_owned(), known);
        }
        has
    }

    /// Whether a word can be a form of a sought one, or have one as a part: forms of one word begin alike.
    fn may_have(&self, word: &str) -> bool {
        let bytes = word.as_bytes();
        let mut before = b'_';
        for at in 0..bytes.len() {
            let byte = bytes[at];
            if !byte.is_ascii() {
                return true;
            }
            let is_inside = before.is_ascii_lowercase() && byte.is_ascii_lowercase();
            if !is_inside && self.starts.binary_search(&start(&bytes[at..])).is_ok() {
                return true;
            }
            before = byte;
        }
        false
    }
}

/// What a window's place is worth, whatever its words.
fn favour(passage: &Full<'_>, units: &[Unit], window: Range<usize>) -> f32 {
    let first = &units[window.start];
    let before = window.start.checked_sub(1).map(|number| &units[number]);
    let begins = if passage.starts.contains(&first.line) && before.is_none_or(|before| before.line != first.line) {
        CHUNK_BEGINS
    } else if before.is_some_and(|before| before.is_blank) {
        PARAGRAPH_BEGINS
    } else {
        0.0
    };
    let inside = units[window.clone()].iter().filter(|unit| passage.best.contains(&unit.line)).count();
    (1.0 + begins) * (1.0 + BEST_CHUNK * inside as f32 / window.len().max(1) as f32)
}

/// Whether a word is no identifier, so that it has no parts.
fn is_plain(word: &str) -> bool {
    word.as_bytes()[0].is_ascii_alphabetic() && word.bytes().skip(1).all(|byte| byte.is_ascii_lowercase())
}

/// How a word begins, in lower case.
fn start(word: &[u8]) -> [u8; 2] {
    let byte = |at: usize| word.get(at).filter(|byte| byte.is_ascii_alphanumeric()).map_or(0, u8::to_ascii_lowercase);
    [byte(0), byte(1)]
}

/// The lines of a text; those of more than `longest` bytes in pieces of about `piece`.
fn units(text: &str, longest: usize, piece: usize) -> Vec<Unit> {
    let mut units = Vec::new();
    let mut start = 0;
    for (line, content) in text.split('\n').enumerate() {
        let end = start + content.len();
        let mut at = start;
        while content.len() > longest && end - at > piece {
            let most = (at + 1..=at + piece).rev().find(|&end| text.is_char_boundary(end)).unwrap_or(end);
            let cut = text[at..most].rfind(char::is_whitespace).map_or(most, |space| at + space + 1);
            units.push(Unit { bytes: at..cut, line, has: Vec::new(), is_blank: text[at..cut].trim().is_empty() });
            at = cut;
        }
        units.push(Unit { bytes: at..end, line, has: Vec::new(), is_blank: text[at..end].trim().is_empty() });
        start = end + 1;
    }
    units
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sought(words: &[(&str, f32)]) -> Vec<Weighed> {
        let weighed = |(place, &(word, weight)): (usize, &(&str, f32))| Weighed { term: forms(word).whole, place, weight };
        words.iter().enumerate().map(weighed).collect()
    }

    fn text(text: &str) -> Full<'_> {
        Full { text, is_code: false, best: 0..0, starts: vec![0] }
    }

    #[test]
    fn the_lines_that_fit_the_question_are_shown() {
        let filler = "Nothing here says anything about it.\n".repeat(20);
        let whole = format!("# Walrus\n\n{filler}\nThe tusk buffer of a walrus has 40 rows.\n\n{filler}");
        let sought = sought(&[("walrus", 2.0), ("tusks", 4.0), ("buffer", 1.0)]);
        let shown = excerpts(&[text(&whole)], &sought, 300);
        assert!(whole[shown[0].bytes.clone()].contains("The tusk buffer of a walrus"), "{shown:?}");
        assert!(shown[0].bytes.len() <= 300 && shown[0].lines.contains(&23), "{shown:?}");
        assert_eq!(
            whole.lines().skip(shown[0].lines.start).take(shown[0].lines.len()).collect::<Vec<_>>().join("\n"),
            whole[shown[0].bytes.clone()]
        );
    }

    #[test]
    fn parts_of_identifiers_count_as_they_do_where_passages_are_found() {
        let mut reader_words = sought(&[("walrus", 1.0)]);
        reader_words.extend([Weighed { term: "warp".to_owned(), place: 1, weight: 1.0 }]);
        let mut reader = Reader::of(&reader_words);
        let mut check = |text: &str, expected: &[usize]| assert_eq!(reader.read(text), expected, "{text}");
        check("walruses of numWarps and num_warps", &[0, 1, 1]);
        check("Walrus::bark(swarp)", &[0]);
        check("grüße 海象", &[]);
        for word in ["walruses", "Walrus", "x", "X", "is"] {
            assert!(is_plain(word) && forms(word).parts.is_empty(), "{word}");
        }
        assert!(["numWarps", "num_warps", "sm90", "tl.dot", "GPUs"].iter().all(|word| !is_plain(word)));
    }

    #[test]
    fn a_long_line_is_cut_between_words_around_the_best_ones() {
        let line = format!("{}the beluga sleeps here, {}", "one word after another ".repeat(500), "and so on ".repeat(500));
        let shown = excerpts(&[text(&line)], &sought(&[("beluga", 3.0)]), 400);
        let seen = &line[shown[0].bytes.clone()];
        assert!(seen.contains("beluga") && seen.len() > 200 && seen.len() <= 400, "{seen}");
        assert!(line[..shown[0].bytes.start].ends_with(' ') && line[..shown[0].bytes.end].ends_with(' '), "{seen}");
    }

    #[test]
    fn no_passage_vanishes_whatever_it_is_made_of() {
        let endless = "海象の牙".repeat(4_000);
        let long = "word ".repeat(4_000);
        let blank = "\n\n\n\n".repeat(200);
        let texts: Vec<Full<'_>> = [endless.as_str(), "short", "", &blank, &long, &endless].into_iter().map(text).collect();
        for budget in [0, 1, 60, 700, 3_400] {
            let shown = excerpts(&texts, &sought(&[("walrus", 1.0)]), budget);
            let seen: Vec<&str> = texts.iter().zip(&shown).map(|(text, shown)| &text.text[shown.bytes.clone()]).collect();
            assert!([0, 1, 4, 5].into_iter().all(|number| !seen[number].is_empty()), "{budget}: {shown:?}");
        }
    }

    #[test]
    fn better_passages_get_more_and_what_short_ones_leave() {
        let check = |lengths: &[usize], expected: &[usize]| {
            let shares = shares(lengths, 1_000);
            assert!(shares.iter().sum::<usize>() <= 1_000, "{shares:?}");
            assert!(shares.iter().zip(expected).all(|(share, expected)| share.abs_diff(*expected) < 3), "{lengths:?}: {shares:?}");
        };
        check(&[300, 300, 300], &[300, 300, 300]);
        check(&[9_000, 9_000, 9_000], &[456, 298, 245]);
        check(&[9_000, 100, 9_000], &[605, 100, 295]);
        check(&[9_000; 10], &[100; 10]);
        assert_eq!(shares(&[9_000; 20], 20 * MIN_SHARE + 21).iter().sum::<usize>(), 20 * MIN_SHARE + 21);
    }
}
