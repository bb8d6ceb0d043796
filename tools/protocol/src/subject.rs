//! What a kernel is about, and how much two such subjects have in common.
//!
//! Runs look for kernels of earlier runs by this, and the knowledge server for lessons. It is a rule of thumb over words that everybody has:
//! the operators a problem calls, its inputs, its device. That two problems are alike does not make a kernel of one right for the other;
//! only an evaluation says so.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Backend;

/// What a kernel is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Subject {
    /// The operators that the problem calls, e.g. `softmax`, `layer_norm`, `matmul`.
    pub operators: Vec<String>,
    /// Its inputs in words, as `measure_baseline` gives them, e.g. `float32[4096, 4096]`.
    #[serde(default)]
    pub inputs: Vec<String>,
    /// The kind of hardware: a kernel for one kind does not run on another.
    pub backend: Backend,
    /// The architecture, as `describe_target` names it, e.g. `sm_90` or `x86_64-avx512`.
    #[serde(default)]
    pub arch: String,
}

/// What two subjects have in common. Both figures are between 0 and 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Likeness {
    /// Operators in both over operators in either.
    pub operators: f64,
    /// How alike dtypes, dimensions and sizes are, over all inputs.
    pub inputs: f64,
    /// Whether the architecture is the same, and not only the kind of device.
    pub same_arch: bool,
}

impl Subject {
    /// What is in common; nothing for another kind of device or without one operator in both.
    #[must_use]
    pub fn likeness(&self, other: &Self) -> Option<Likeness> {
        let both = self.operators.iter().filter(|name| other.operators.contains(name)).count();
        if self.backend != other.backend || both == 0 {
            return None;
        }
        let either = self.operators.len() + other.operators.len() - both;
        Some(Likeness {
            operators: both as f64 / either as f64,
            inputs: alike(&self.inputs, &other.inputs),
            same_arch: self.arch == other.arch,
        })
    }
}

impl Likeness {
    /// One figure between 0 and 1. Operators decide; other sizes and another architecture of the same kind of device take something off.
    #[must_use]
    pub fn score(&self) -> f64 {
        self.operators * (0.5 + 0.5 * self.inputs) * if self.same_arch { 1.0 } else { 0.7 }
    }
}

/// In words: `the same operators, other sizes, the same architecture`.
impl fmt::Display for Likeness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.operators {
            1.0 => f.write_str("the same operators")?,
            share => write!(f, "{:.0} % of the operators", share * 100.0)?,
        }
        f.write_str(match self.inputs {
            1.0 => ", the same inputs",
            near if near >= 0.6 => ", inputs of other sizes",
            _ => ", other inputs",
        })?;
        f.write_str(if self.same_arch { ", the same architecture" } else { ", the same kind of device" })
    }
}

/// Compared in their order: what belongs together has the same place.
fn alike(inputs: &[String], others: &[String]) -> f64 {
    let longest = inputs.len().max(others.len());
    if longest == 0 {
        return 1.0;
    }
    inputs.iter().zip(others).map(|(this, that)| alike_tensors(this, that)).sum::<f64>() / longest as f64
}

fn alike_tensors(this: &str, that: &str) -> f64 {
    if this == that {
        return 1.0;
    }
    let (Some((dtype, sizes)), Some((other_dtype, other_sizes))) = (tensor(this), tensor(that)) else { return 0.0 };
    let dtypes = if dtype == other_dtype { 0.4 } else { 0.0 };
    if sizes.len() != other_sizes.len() {
        return dtypes;
    }
    // Twice as many elements are close, a thousand times as many are not.
    let elements = |sizes: &[u64]| sizes.iter().map(|&size| (size.max(1) as f64).log2()).sum::<f64>();
    let apart = (elements(&sizes) - elements(&other_sizes)).abs();
    dtypes + 0.2 + 0.4 / (1.0 + apart / 4.0)
}

/// `float32[2, 8]` as dtype and sizes; what stands behind the bracket are strides.
fn tensor(text: &str) -> Option<(&str, Vec<u64>)> {
    let (dtype, rest) = text.split_once('[')?;
    let inside = rest.split_once(']')?.0;
    let sizes = inside.split(',').map(str::trim).filter(|size| !size.is_empty()).map(|size| size.parse().ok());
    Some((dtype.rsplit(' ').next()?, sizes.collect::<Option<_>>()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subject(operators: &[&str], inputs: &[&str], arch: &str) -> Subject {
        let owned = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect();
        Subject { operators: owned(operators), inputs: owned(inputs), backend: Backend::Cpu, arch: arch.to_owned() }
    }

    fn score(one: &Subject, other: &Subject) -> f64 {
        one.likeness(other).map_or(0.0, |likeness| likeness.score())
    }

    #[test]
    fn the_nearer_a_problem_the_higher_its_score() {
        let this = subject(&["softmax", "matmul"], &["float32[4096, 4096]"], "x86_64-avx512");
        let falling = [
            this.clone(),
            subject(&["matmul", "softmax"], &["float32[8192, 4096]"], "x86_64-avx512"),
            subject(&["softmax", "matmul"], &["float32[16, 16]"], "x86_64-avx512"),
            subject(&["softmax", "matmul"], &["bfloat16[64]"], "x86_64-avx512"),
            subject(&["softmax", "sum"], &["bfloat16[64]"], "x86_64-avx512"),
            subject(&["softmax", "sum"], &["bfloat16[64]"], "x86_64-avx2"),
            subject(&["conv2d"], &["float32[4096, 4096]"], "x86_64-avx512"),
        ];
        let scores: Vec<f64> = falling.iter().map(|other| score(&this, other)).collect();
        assert!(scores.is_sorted_by(|a, b| a > b), "{scores:?}");
        assert_eq!((scores[0], scores[6]), (1.0, 0.0));
    }

    #[test]
    fn a_kernel_for_another_kind_of_device_is_not_alike() {
        let this = subject(&["softmax"], &[], "sm_90");
        let other = Subject { backend: Backend::Cuda, ..this.clone() };
        assert_eq!(this.likeness(&other), None);
    }

    #[test]
    fn the_reason_is_said_in_words() {
        let this = subject(&["softmax"], &["float32[4, 4] strides [1, 4]"], "x86_64-avx512");
        let said = |operators, inputs, arch| this.likeness(&subject(operators, inputs, arch)).unwrap().to_string();
        assert_eq!(
            said(&["softmax"], &["float32[4, 8]"], "x86_64-avx512"),
            "the same operators, inputs of other sizes, the same architecture"
        );
        assert_eq!(said(&["softmax", "exp"], &["int64[4]"], "x86_64-avx2"), "50 % of the operators, other inputs, the same kind of device");
    }
}
