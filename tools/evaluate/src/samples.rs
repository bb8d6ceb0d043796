//! What was timed, pair by pair, and which pairs count.
//!
//! Where other work has the processors, whose batch waits for one is no chance: the process that has just worked more waits longer. So pairs in
//! which a thread waited do not count, as long as there are enough others.

use std::time::Duration;

use kernelwright_protocol::{BaselineKind, Control, Nanoseconds};

use crate::draws::DrawKind;
use crate::statistics::{median, median_interval};

/// The fewest pairs where the request names no number: their range is a 95 % interval.
pub(crate) const FEWEST_PAIRS: usize = 6;

/// A speedup whose interval is no wider than this share of it needs no more pairs than the fewest: which side is faster is told by less than what
/// is left to know of a side that evidently is.
const NARROW: f64 = 0.02;
const NARROW_AND_CLEAR: f64 = 0.03;

/// By how much either side has to be faster for that, at the near end of the interval.
const CLEAR: f64 = 1.2;

/// What is told may be as wide as this share of the speedup with what equal kernels came to: more is a batch that something disturbed, which one
/// or two pairs more show to be an exception.
const NOT_DISTURBED: f64 = 0.1;

/// A candidate that is slower than the baseline by more than this has lost, by whatever number: that needs no more than to be told by this share of it.
const SLOWER: f64 = 0.8;
const NARROW_AND_LOST: f64 = 0.1;

/// What a thread of a batch may have waited for a processor, as a share of its time.
const QUIET: f64 = 0.05;

/// What it has waited where other work must have had it: threads that share work wait a little for each other, too.
const BUSY: f64 = 0.25;

/// The most that is taken for what asking for a batch takes by what the baselines show: a candidate whose clock lies gains as much.
const MOST_ASKING: Duration = Duration::from_micros(600);

/// Pairs some of which were quiet are worth going on for.
const PROMISING: usize = 2;

/// Seconds of one call, batch by batch.
#[derive(Debug, Default)]
pub(crate) struct Samples {
    /// In the order of the session's contenders.
    pub(crate) baselines: Vec<Vec<f64>>,
    pub(crate) candidate: Vec<f64>,
    /// What the candidate's clock says beyond the supervisor's, as shares of the batches.
    pub(crate) clocks: Vec<f64>,
    /// What the inputs of both sides were drawn as, by pair.
    pub(crate) drawn: Vec<DrawKind>,
    /// The largest share of a batch that its threads waited, by pair.
    waited: Vec<f64>,
    /// The shares of the baselines' batches, in which the candidate stands still.
    baselines_waited: Vec<f64>,
    /// Seconds that asking for the baselines' batches took.
    asking: Vec<f64>,
}

/// What a call of each baseline took, in seconds, on the draw that most batches had.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Beside {
    pub(crate) draw: DrawKind,
    pub(crate) baselines: Vec<(BaselineKind, f64)>,
}

/// The pairs that count.
#[derive(Debug)]
pub(crate) struct Counted {
    /// The baseline with the smallest median: what a candidate is measured against.
    pub(crate) baseline: BaselineKind,
    /// The candidate's.
    pub(crate) candidate: Vec<f64>,
    /// Baseline over candidate.
    pub(crate) ratios: Vec<f64>,
}

impl Samples {
    /// None yet, of so many contenders.
    pub(crate) fn none(contenders: usize) -> Self {
        Self { baselines: vec![vec![]; contenders], ..Self::default() }
    }

    /// Notes what a batch of a pair has waited.
    pub(crate) fn note_wait(&mut self, pair: usize, share: f64) {
        self.waited.resize(self.waited.len().max(pair + 1), 0.0);
        self.waited[pair] = self.waited[pair].max(share);
    }

    /// Notes what a batch of a baseline has waited, and what asking for it took.
    pub(crate) fn note_baseline(&mut self, pair: usize, waited: f64, asking: Duration) {
        self.note_wait(pair, waited);
        self.baselines_waited.push(waited);
        self.asking.push(asking.as_secs_f64());
    }

    /// What asking for a batch takes where an empty one takes `empty`. A process that has slept while the other side's calls were made, and has nothing
    /// left in the caches, needs longer to wake up: as the baselines' process does, whose word can be taken for that.
    pub(crate) fn overhead(&self, empty: Duration) -> Duration {
        if self.asking.is_empty() { empty } else { empty.max(Duration::from_secs_f64(median(&self.asking)).min(MOST_ASKING)) }
    }

    /// Whether other work has the processors, which the baselines' batches tell: the candidate cannot keep them from those. What comes late may then
    /// be nobody's fault.
    pub(crate) fn others_are_busy(&self) -> bool {
        !self.baselines_waited.is_empty() && median(&self.baselines_waited) > BUSY
    }

    fn pairs(&self) -> usize {
        self.baselines.iter().map(Vec::len).min().unwrap_or(0).min(self.candidate.len())
    }

    fn is_quiet(&self, pair: usize) -> bool {
        self.disturbed(pair) <= QUIET
    }

    fn quiet(&self) -> Vec<usize> {
        (0..self.pairs()).filter(|&pair| self.is_quiet(pair)).collect()
    }

    /// The quiet pairs, or the half of all that was disturbed least where there are too few of those.
    fn counting(&self) -> Vec<usize> {
        let quiet = self.quiet();
        if quiet.len() >= FEWEST_PAIRS {
            return quiet;
        }
        let mut pairs: Vec<usize> = (0..self.pairs()).collect();
        pairs.sort_by(|&one, &other| self.disturbed(one).total_cmp(&self.disturbed(other)));
        pairs.truncate(FEWEST_PAIRS.max(pairs.len() / 2));
        pairs.sort_unstable();
        pairs
    }

    fn disturbed(&self, pair: usize) -> f64 {
        self.waited.get(pair).copied().unwrap_or(0.0)
    }

    /// The times of pairs that count, of the contender that is the fastest in them.
    pub(crate) fn counted(&self, contenders: &[(BaselineKind, Nanoseconds)]) -> Counted {
        let counting = self.counting();
        let of = |times: &[f64]| -> Vec<f64> { counting.iter().map(|&pair| times[pair]).collect() };
        let baselines = contenders.iter().zip(&self.baselines).map(|(&(kind, _), times)| (kind, of(times)));
        let fastest = baselines.min_by(|(_, a), (_, b)| median(a).total_cmp(&median(b)));
        let (baseline, times) = fastest.unwrap_or((BaselineKind::Eager, vec![]));
        let candidate = of(&self.candidate);
        let ratios = times.iter().zip(&candidate).map(|(baseline, candidate)| baseline / candidate).collect();
        Counted { baseline, candidate, ratios }
    }

    /// The times of one contender in pairs that count.
    pub(crate) fn of_contender(&self, at: usize) -> Vec<f64> {
        self.counting().into_iter().map(|pair| self.baselines[at][pair]).collect()
    }

    /// What calls of the baselines took on the draw that they had most often: of some operators that depends on it.
    pub(crate) fn beside(&self, contenders: &[(BaselineKind, Nanoseconds)]) -> Option<Beside> {
        let with = |draw: DrawKind| (0..self.pairs()).filter(move |&pair| self.drawn.get(pair) == Some(&draw));
        let draw = self.drawn.iter().copied().max_by_key(|&draw| with(draw).count()).filter(|&draw| with(draw).count() > 0)?;
        let of = |times: &Vec<f64>| median(&with(draw).map(|pair| times[pair]).collect::<Vec<_>>());
        Some(Beside { draw, baselines: contenders.iter().zip(&self.baselines).map(|(&(kind, _), times)| (kind, of(times))).collect() })
    }

    /// Whether the speedup is known well enough.
    pub(crate) fn are_enough(&self, contenders: &[(BaselineKind, Nanoseconds)]) -> bool {
        self.counted(contenders).is_narrow() && !self.are_disturbed(contenders)
    }

    /// Whether what is told is so wide that something other than the two sides must have had a part in the times. Of a candidate that is far slower
    /// nobody needs to know it better.
    pub(crate) fn are_disturbed(&self, contenders: &[(BaselineKind, Nanoseconds)]) -> bool {
        let counted = self.counted(contenders);
        let (speedup, (low, high)) = counted.speedup_beside(self.control(counted.baseline, contenders).as_ref());
        high > SLOWER && high - low > NOT_DISTURBED * speedup
    }

    /// Whether too few pairs were quiet, and some were, so that more pairs would help.
    pub(crate) fn wants_quiet(&self) -> bool {
        (PROMISING..FEWEST_PAIRS).contains(&self.quiet().len())
    }

    /// What the threads of a batch have waited in most of the pairs that count, as a share of its time, where that is too much.
    pub(crate) fn disturbance(&self) -> Option<f64> {
        let waited: Vec<f64> = self.counting().iter().filter_map(|&pair| self.waited.get(pair).copied()).collect();
        Some(median(&waited)).filter(|&share| share > BUSY)
    }

    /// Neighbouring batches of one side over each other: in A B, B A, A B, ... every batch but the first and the last has such a neighbour. The
    /// first over the second and the second over the first in turns, as the sides stand in pairs: what coming second makes of a time cancels
    /// here as it does there.
    pub(crate) fn control(&self, baseline: BaselineKind, contenders: &[(BaselineKind, Nanoseconds)]) -> Option<Control> {
        let at = contenders.iter().position(|(kind, _)| *kind == baseline)?;
        let counting = self.counting();
        let of_one_side = |times: &[f64], first: usize| -> Vec<f64> {
            let neighbours = (first..self.pairs().saturating_sub(1)).step_by(2);
            let counted = neighbours.filter(|pair| counting.contains(pair) && counting.contains(&(pair + 1)));
            counted
                .enumerate()
                .map(|(i, pair)| if i.is_multiple_of(2) { times[pair] / times[pair + 1] } else { times[pair + 1] / times[pair] })
                .collect()
        };
        let ratios = [of_one_side(&self.candidate, 0), of_one_side(&self.baselines[at], 1)].concat();
        let (low, high) = median_interval(&ratios);
        (ratios.len() + 1 >= FEWEST_PAIRS).then(|| Control { ratio: median(&ratios), low, high })
    }
}

impl Counted {
    /// The speedup and its interval.
    pub(crate) fn speedup(&self) -> (f64, (f64, f64)) {
        (median(&self.ratios), median_interval(&self.ratios))
    }

    /// The same, with an interval that is no narrower than what equal kernels came to: where times drift in runs of several pairs, the pairs alone
    /// would say more than they know.
    pub(crate) fn speedup_beside(&self, control: Option<&Control>) -> (f64, (f64, f64)) {
        let (speedup, (low, high)) = self.speedup();
        let Some(Control { low: least, high: most, .. }) = control else { return (speedup, (low, high)) };
        (speedup, (low.min(speedup * least), high.max(speedup * most)))
    }

    /// Whether the pairs agree.
    fn is_narrow(&self) -> bool {
        let (speedup, (low, high)) = self.speedup();
        let width = match high {
            _ if high < SLOWER => NARROW_AND_LOST,
            _ if low > CLEAR || high < 1.0 / CLEAR => NARROW_AND_CLEAR,
            _ => NARROW,
        };
        !self.ratios.is_empty() && high - low <= width * speedup
    }

    /// Whether either side may be the faster one, by more than would matter.
    pub(crate) fn is_undecided(&self) -> bool {
        let (_, (low, high)) = self.speedup();
        !self.is_narrow() && low <= 1.0 && high >= 1.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONTENDERS: [(BaselineKind, Nanoseconds); 2] = [(BaselineKind::Eager, Nanoseconds(10)), (BaselineKind::Compile, Nanoseconds(12))];

    fn samples(baselines: &[&[f64]], candidate: &[f64]) -> Samples {
        Samples { baselines: baselines.iter().map(|times| times.to_vec()).collect(), candidate: candidate.to_vec(), ..Samples::default() }
    }

    fn counted(baseline: &[f64], candidate: &[f64]) -> Counted {
        samples(&[baseline], candidate).counted(&CONTENDERS[..1])
    }

    #[test]
    fn pairs_that_agree_are_enough() {
        let is_narrow = |baseline: f64, one: f64| counted(&[baseline; 6], &[1.0, one, 1.0, 1.005, 1.0, 1.0]).is_narrow();
        assert!(is_narrow(1.0, 1.015) && !is_narrow(1.0, 1.025), "nearly equal sides");
        assert!(is_narrow(2.0, 1.025) && !is_narrow(2.0, 1.05), "one that is faster by far");
        assert!(is_narrow(0.5, 1.08) && !is_narrow(0.5, 1.15) && !is_narrow(0.81, 1.08), "one that has lost");
    }

    #[test]
    fn what_a_baseline_takes_is_told_of_one_draw() {
        let (often, seldom) = (DrawKind::Spiked, DrawKind::Problem);
        let timed =
            Samples { drawn: vec![seldom, often, often, seldom, often], ..samples(&[&[1.0, 5.0, 6.0, 1.0, 7.0], &[9.0; 5]], &[1.0; 5]) };
        let told = |samples: &Samples| samples.beside(&CONTENDERS);
        assert_eq!(told(&timed), Some(Beside { draw: often, baselines: vec![(BaselineKind::Eager, 6.0), (BaselineKind::Compile, 9.0)] }));
        assert_eq!(told(&Samples::none(2)), None);
    }

    #[test]
    fn an_interval_is_no_narrower_than_what_equal_kernels_came_to() {
        let counted = counted(&[2.0; 6], &[1.0, 1.01, 1.0, 1.005, 1.0, 1.0]);
        let with = |low, high| counted.speedup_beside(Some(&Control { ratio: 1.0, low, high }));
        assert_eq!(counted.speedup_beside(None), counted.speedup());
        assert_eq!(with(0.999, 1.0), (2.0, (counted.speedup().1.0, 2.0)));
        assert_eq!(with(0.75, 1.5), (2.0, (1.5, 3.0)));
    }

    #[test]
    fn one_disturbed_batch_in_the_control_wants_a_pair_more() {
        let mut baseline = [2.0; 10];
        baseline[4] = 4.6;
        let of = |pairs: usize| samples(&[&baseline[..pairs]], &[1.0; 10][..pairs]);
        assert!(of(9).counted(&CONTENDERS[..1]).is_narrow() && !of(9).are_enough(&CONTENDERS[..1]));
        assert!(of(10).are_enough(&CONTENDERS[..1]), "it is an exception among nine neighbours, as among nine pairs");
    }

    #[test]
    fn a_clear_speedup_of_which_a_few_pairs_say_much_less_is_disturbed() {
        let with_slow = |slow: usize| samples(&[&[2.0; 30]], &[vec![1.6; slow], vec![1.0; 30 - slow]].concat());
        let ten = samples(&[&[2.0; 10]], &[vec![1.6; 2], vec![1.0; 8]].concat());
        assert!(ten.are_disturbed(&CONTENDERS[..1]) && !ten.counted(&CONTENDERS[..1]).is_undecided());
        assert!(!with_slow(2).are_disturbed(&CONTENDERS[..1]), "two of thirty are exceptions");
        assert!(with_slow(12).are_disturbed(&CONTENDERS[..1]), "twelve of thirty are not");
    }

    #[test]
    fn pairs_that_disagree_about_which_side_is_faster_want_more() {
        let undecided = |candidate: [f64; 6]| counted(&[1.0; 6], &candidate).is_undecided();
        assert!(undecided([0.98, 0.98, 0.98, 0.98, 0.98, 1.1]), "five against one that was disturbed");
        assert!(!undecided([0.5, 0.6, 0.5, 0.5, 0.7, 0.5]), "all say the same, by different figures");
        assert!(!undecided([1.0, 1.01, 1.0, 0.995, 1.0, 1.0]), "a tie");
    }

    #[test]
    fn pairs_that_waited_for_processors_do_not_count_where_enough_others_do() {
        let candidate = [1.0; 9];
        let mut samples = samples(&[&[2.0, 9.0, 2.0, 2.0, 9.0, 2.0, 2.0, 2.0, 9.0]], &candidate);
        for (pair, share) in [(1, 0.9), (4, 0.06), (4, 0.01), (8, 0.5), (2, QUIET)] {
            samples.note_wait(pair, share);
        }
        let counted = samples.counted(&CONTENDERS[..1]);
        assert_eq!((counted.speedup(), counted.ratios.len()), ((2.0, (2.0, 2.0)), 6));
        assert_eq!((samples.wants_quiet(), samples.disturbance()), (false, None));
        samples.note_wait(0, 0.3);
        let counted = samples.counted(&CONTENDERS[..1]);
        assert_eq!((counted.ratios.len(), counted.speedup().0), (6, 2.0), "too few are left: those that were disturbed least");
        assert!(samples.wants_quiet());
        for pair in 0..9 {
            samples.note_wait(pair, 0.1);
        }
        assert_eq!(samples.disturbance(), None, "teams of threads wait as much for their own");
        for pair in 0..9 {
            samples.note_wait(pair, 0.4);
        }
        assert!(!samples.wants_quiet(), "there is no hope");
        assert_eq!(samples.disturbance(), Some(0.4));
    }

    #[test]
    fn only_what_baselines_wait_tells_of_other_work() {
        let mut samples = Samples::none(1);
        samples.note_wait(0, 0.9);
        assert!(!samples.others_are_busy(), "threads of the candidate wait for each other");
        for share in [0.5, 0.1, 0.4] {
            samples.note_baseline(0, share, Duration::ZERO);
        }
        assert!(samples.others_are_busy());
        samples.note_baseline(1, 0.0, Duration::ZERO);
        samples.note_baseline(2, 0.0, Duration::ZERO);
        assert!(!samples.others_are_busy());
    }

    #[test]
    fn asking_takes_what_the_baselines_process_shows() {
        let us = Duration::from_micros;
        let overhead = |asking: [u64; 3], empty: u64| {
            let mut samples = Samples::none(1);
            for asking in asking {
                samples.note_baseline(0, 0.0, us(asking));
            }
            samples.overhead(us(empty))
        };
        assert_eq!(Samples::none(1).overhead(us(170)), us(170), "there was no batch yet");
        assert_eq!((overhead([450, 9_000, 400], 170), overhead([100; 3], 170)), (us(450), us(170)));
        assert_eq!((overhead([900; 3], 170), overhead([900; 3], 700)), (us(600), us(700)), "no more than a clock may lie for");
    }

    #[test]
    fn what_is_far_slower_need_not_be_known_better() {
        let times = [1.0, 1.2, 0.9, 1.1, 0.8, 1.0];
        let disturbed = |baseline: f64| samples(&[&[baseline; 6]], &times).are_disturbed(&CONTENDERS[..1]);
        assert!(disturbed(2.0) && disturbed(0.9) && !disturbed(0.4));
    }

    #[test]
    fn the_baseline_is_the_one_that_was_faster_in_this_session() {
        let counted = samples(&[&[3.0, 3.1, 9.0], &[1.0, 1.2, 1.1]], &[1.0; 3]).counted(&CONTENDERS);
        assert_eq!((counted.baseline, counted.ratios), (BaselineKind::Compile, vec![1.0, 1.2, 1.1]));
    }

    #[test]
    fn the_control_compares_neighbours_of_one_side() {
        // A B | B A | A B | B A | A B | B A: the batches drift, so that only neighbours are nearly equal.
        let baseline = [10.0, 20.0, 20.2, 30.0, 30.3, 40.0];
        let candidate = [1.0, 1.01, 2.0, 2.02, 3.0, 3.03];
        let control = |pairs: usize| samples(&[&baseline[..pairs]], &candidate[..pairs]).control(BaselineKind::Eager, &CONTENDERS);
        let whole = control(6).unwrap();
        assert!((0.985..0.995).contains(&whole.low) && (1.005..1.015).contains(&whole.high), "{whole:?}");
        assert!((0.985..1.015).contains(&whole.ratio), "{whole:?}");
        assert!(control(3).is_none());
    }
}
