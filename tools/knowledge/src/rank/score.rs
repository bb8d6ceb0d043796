//! The second look at candidates.
//!
//! All numbers here were chosen on questions about public documentation, one at a time and rounded; each makes up for something that a sum
//! over terms does not see. What did not help is not here: expansion by the words of the first results, the best other chunk of the
//! same file, bonuses for definitions beyond their field's weight, vectors out of co-occurrence, windows in which words come together, and
//! weights that are fitted all at once (two dozen features, cross-validated: no better than these).

use std::collections::HashMap;

use tantivy::query::Bm25StatisticsProvider;
use tantivy::{DocAddress, TantivyError, Term};

use super::question::{Origin, is_telling};
use super::read::{Candidate, FIELDS, read, weighed};
use super::{Found, Question, Ranked, Searched, Together, Want, Weighed};
use crate::index::Nature;
use crate::tokenize::{whole, words};

/// What a term's place in a field counts, and how much the field's length takes away from it: body, breadcrumb, path, symbols.
const BOOSTS: [f32; FIELDS] = [1.0, 2.0, 1.2, 1.0];
const LENGTHS: [f32; FIELDS] = [0.6, 0.5, 0.3, 0.3];

/// How soon repetitions stop counting.
const SATURATION: f32 = 1.2;

/// A term in several fields counts once for all of them, as far as this, and for the rest once for each.
const TOGETHER: f32 = 0.65;

/// What a chunk gains that has all words of the question over one that has few.
const COVERAGE: f32 = 2.0;

/// What it gains when the question's words also follow each other as they do there.
const ADJACENCY: f32 = 0.7;

/// What a chunk gains that has a kernel when code is asked for.
const KERNEL: f32 = 0.15;

/// How a kernel is marked: in CUDA and HIP, and by the decorators of the languages inside Python.
const KERNEL_MARKS: [&str; 7] = ["__global__", "@triton.jit", "@gluon.jit", "@cute.kernel", "@t.prim_func", "@helion.kernel", "@cuda.jit"];

/// How many of the best chunks are read for the last two.
const READ: usize = 20;

/// What a neighbour that fits adds: an answer is often longer than a chunk.
const NEIGHBOUR: f32 = 0.1;

/// What the beginning of a file gains, which says what it is about.
const BEGINNING: f32 = 0.15;

/// The candidates in their final order, and the words' weights.
pub(super) fn rescored(
    indexes: &[Searched<'_>],
    question: &Question,
    statistics: &Together<'_>,
    places: Vec<(usize, DocAddress)>,
) -> Result<Ranked, TantivyError> {
    let Some(any) = indexes.first() else { return Ok(Ranked::default()) };
    let documents = statistics.total_num_docs()?.max(1) as f32;
    let fields = weighed(any.index.fields());
    let mut average = [1.0; FIELDS];
    for (average, field) in average.iter_mut().zip(fields) {
        *average = (statistics.total_num_tokens(field)? as f32 / documents).max(0.1);
    }
    let mut weights = Vec::with_capacity(question.words.len());
    for word in &question.words {
        // The body holds what the other fields hold.
        let frequency = statistics.doc_freq(&Term::from_field_text(fields[0], &word.term))? as f32;
        weights.push(word.weight * (1.0 + (documents - frequency + 0.5).max(0.5) / (frequency + 0.5)).ln());
    }
    let candidates = read(indexes, question, places)?;
    let mut scores: Vec<f32> = candidates.iter().map(|candidate| score(candidate, question, &weights, &average)).collect();
    favour_what_is_read(indexes, question, &candidates, &mut scores)?;
    let by_place: HashMap<(usize, u64, u64), f32> =
        candidates.iter().zip(&scores).map(|(candidate, score)| ((candidate.index, candidate.file, candidate.ordinal), *score)).collect();
    let mut found: Vec<Found> = candidates
        .iter()
        .zip(&scores)
        .map(|(candidate, own)| {
            let Candidate { index, address, file, ordinal, nature, bytes, .. } = *candidate;
            let neighbour = |ordinal: u64| by_place.get(&(index, file, ordinal)).copied().unwrap_or_default();
            let beside = neighbour(ordinal + 1).max(ordinal.checked_sub(1).map_or(0.0, neighbour));
            Found { index, address, score: own + NEIGHBOUR * beside, file, ordinal, bytes, nature }
        })
        .collect();
    found.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| (a.file, a.ordinal).cmp(&(b.file, b.ordinal))));
    let words = question.words.iter().zip(weights).map(|(word, weight)| Weighed { term: word.term.clone(), place: word.place, weight });
    Ok(Ranked { found, words: words.collect() })
}

/// What the postings tell of a candidate; `weights` are those of the question's words.
fn score(candidate: &Candidate, question: &Question, weights: &[f32], average: &[f32; FIELDS]) -> f32 {
    let saturated = |count: f32| count * (SATURATION + 1.0) / (count + SATURATION);
    let mut sum = 0.0;
    // The most that each place of the question gives here, and could give.
    let mut covered = vec![0.0_f32; question.places];
    let mut at_stake = vec![0.0_f32; question.places];
    for ((word, weight), frequencies) in question.words.iter().zip(weights).zip(&candidate.frequencies) {
        if word.origin == Origin::Question {
            at_stake[word.place] = at_stake[word.place].max(*weight);
        }
        let mut together = 0.0;
        let mut apart = 0.0;
        for field in 0..FIELDS {
            let length = 1.0 - LENGTHS[field] + LENGTHS[field] * candidate.lengths[field] as f32 / average[field];
            let count = frequencies[field] as f32 / length;
            together += BOOSTS[field] * count;
            apart += BOOSTS[field] * saturated(count);
        }
        if together > 0.0 {
            sum += weight * (TOGETHER * saturated(together) + (1.0 - TOGETHER) * apart);
            covered[word.place] = covered[word.place].max(*weight);
        }
    }
    let covered: f32 = covered.iter().zip(&at_stake).map(|(covered, stake)| covered.min(*stake)).sum();
    let coverage = covered / at_stake.iter().sum::<f32>().max(0.1);
    let beginning = if candidate.ordinal == 0 { 1.0 + BEGINNING } else { 1.0 };
    sum * (1.0 + COVERAGE * coverage) * beginning * of_nature(candidate.nature, question.want)
}

/// How well a sort of text suits what is wanted.
fn of_nature(nature: Nature, want: Want) -> f32 {
    match (nature, want) {
        (Nature::Test, Want::Explanation) => 0.65,
        (Nature::Code, Want::Explanation) => 0.7,
        (Nature::Test | Nature::Notes, _) => 0.8,
        (Nature::Sample, Want::Explanation) => 0.9,
        (Nature::Prose, Want::Code) => 0.85,
        (Nature::Sample, Want::Code) => 1.1,
        _ => 1.0,
    }
}

/// Raises the best candidates in which telling words follow each other as in the question, and those with kernels if code is wanted.
fn favour_what_is_read(
    indexes: &[Searched<'_>],
    question: &Question,
    candidates: &[Candidate],
    scores: &mut [f32],
) -> Result<(), TantivyError> {
    if question.pairs.is_empty() && question.want != Want::Code {
        return Ok(());
    }
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]));
    // Forms of one word begin alike: of all others the stem need not be known.
    let starts = starts(&question.pairs);
    for &number in order.iter().take(READ) {
        let candidate = &candidates[number];
        let Searched { index, searcher } = &indexes[candidate.index];
        let mut text = index.text(searcher, candidate.address)?;
        // Pairs and marks have no capitals beyond ASCII that a text would have to be turned into.
        text.make_ascii_lowercase();
        scores[number] *= 1.0 + ADJACENCY * adjacency(&text, &question.pairs, &starts);
        if question.want == Want::Code && KERNEL_MARKS.iter().any(|mark| text.contains(mark)) {
            scores[number] *= 1.0 + KERNEL;
        }
    }
    Ok(())
}

/// Which part of the pairs a text has, in lower case; words that say nothing may stand between.
fn adjacency(text: &str, pairs: &[(String, String)], starts: &[[u8; 2]]) -> f32 {
    let mut seen = vec![false; pairs.len()];
    let mut before: Option<String> = None;
    for word in words(text) {
        let term = starts.contains(&start(word)).then(|| whole(word));
        if term.is_none() && before.is_some() && !is_telling(word) {
            continue;
        }
        if let (Some(before), Some(term)) = (&before, &term) {
            for (seen, (first, second)) in seen.iter_mut().zip(pairs) {
                *seen |= first == before && second == term;
            }
        }
        before = term;
    }
    seen.iter().filter(|seen| **seen).count() as f32 / seen.len().max(1) as f32
}

/// How the words of pairs begin. They are few: to look through them takes less than to hash one.
fn starts(pairs: &[(String, String)]) -> Vec<[u8; 2]> {
    let mut starts: Vec<[u8; 2]> = pairs.iter().flat_map(|(first, second)| [start(first), start(second)]).collect();
    starts.sort_unstable();
    starts.dedup();
    starts
}

fn start(word: &str) -> [u8; 2] {
    let mut bytes = word.trim_start_matches('_').bytes();
    [bytes.next().unwrap_or(0), bytes.next().unwrap_or(0)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn telling_words_follow_each_other_whatever_their_form() {
        let check = |text: &str, expected: f32| {
            let pairs = [("bank".to_owned(), "conflict".to_owned()), ("conflict".to_owned(), "slow".to_owned())];
            assert!((adjacency(text, &pairs, &starts(&pairs)) - expected).abs() < 1e-6, "{text}");
        };
        check("bank conflicts are slow", 1.0);
        check("banks and conflicts", 0.5);
        check("conflicts of banks", 0.0);
        check("a bank without conflicts", 0.0);
    }
}
