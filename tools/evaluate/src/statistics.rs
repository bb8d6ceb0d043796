//! Medians and their intervals, without assumptions about how times are distributed.

/// The median of the values; 0 for none.
pub(crate) fn median(values: &[f64]) -> f64 {
    quantile(&sorted(values), 0.5)
}

/// The interquartile range over the median: how much the values spread; 0 where it is not defined.
pub(crate) fn spread(values: &[f64]) -> f64 {
    let values = sorted(values);
    let middle = quantile(&values, 0.5);
    if middle > 0.0 { (quantile(&values, 0.75) - quantile(&values, 0.25)) / middle } else { 0.0 }
}

/// A 95 % interval of the median from order statistics: between the k-th smallest and the k-th largest value, with the largest k for
/// which at most 2.5 % of samples of this size have fewer than k values below the median. With fewer than six values it is their
/// range, which is less than 95 %.
pub(crate) fn median_interval(values: &[f64]) -> (f64, f64) {
    let values = sorted(values);
    let Some(last) = values.len().checked_sub(1) else { return (0.0, 0.0) };
    let outside = values_outside(values.len());
    (values[outside], values[last - outside])
}

/// How many of `n` sorted values lie outside the interval at each end.
fn values_outside(n: usize) -> usize {
    // The number of values below the median is binomial with p = 1/2.
    let mut probability = 0.5_f64.powf(n as f64);
    let mut cumulative = probability;
    let mut outside = 0;
    while cumulative <= 0.025 && outside < n / 2 {
        probability *= (n - outside) as f64 / (outside + 1) as f64;
        cumulative += probability;
        if cumulative > 0.025 {
            break;
        }
        outside += 1;
    }
    outside
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values
}

/// Linear interpolation between neighbours, as numpy does by default.
fn quantile(sorted: &[f64], q: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else { return 0.0 };
    let position = q * last as f64;
    let low = position.floor() as usize;
    let high = (low + 1).min(last);
    sorted[low] + (sorted[high] - sorted[low]) * (position - low as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_and_spreads() {
        let medians = [&[3.0, 1.0, 2.0][..], &[4.0, 1.0, 2.0, 3.0], &[]].map(median);
        assert_eq!(format!("{medians:?}"), "[2.0, 2.5, 0.0]");
        let spreads = [&[8.0, 9.0, 10.0, 11.0, 12.0][..], &[5.0], &[]].map(spread);
        assert_eq!(format!("{spreads:?}"), "[0.2, 0.0, 0.0]");
    }

    /// Against the tables for the sign test: ranks of the 95 % interval of a median.
    #[test]
    fn intervals_follow_the_binomial_tables() {
        for (n, rank) in [(1, 1), (5, 1), (6, 1), (8, 1), (9, 2), (12, 3), (15, 4), (20, 6), (25, 8)] {
            assert_eq!(values_outside(n) + 1, rank, "n = {n}");
        }
        let values: Vec<f64> = (1..=9).map(f64::from).collect();
        assert_eq!(median_interval(&values), (2.0, 8.0));
        assert_eq!(median_interval(&[5.0]), (5.0, 5.0));
    }
}
