//! What the machine can do: figures with units, and nothing that was not read or measured.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Bytes, Target};

/// What a target is and can do; every figure was read from the device or measured on it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TargetDescription {
    /// Which target.
    pub target: Target,
    /// The product's own name, e.g. `NVIDIA H200`.
    pub name: String,
    /// The architecture's name for compilers and packs: `sm_90`, `x86_64-avx512`.
    pub arch: String,
    /// Memory that kernels can use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<Bytes>,
    /// Bytes per second of a large copy, counting bytes read plus bytes written; absent when it was not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copy_bytes_per_second: Option<f64>,
    /// Operations per second of torch's own matrix product by dtype of its operands, multiply-adds counted twice.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub matrix_operations_per_second: BTreeMap<String, f64>,
    /// Limits and features, each with its figure and where it comes from.
    pub facts: Vec<TargetFact>,
    /// Versions of what builds and runs kernels here: torch, triton, compilers, driver.
    pub software: Vec<String>,
}

/// One fact of a target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TargetFact {
    /// What it is, e.g. `shared memory per block (opt-in)`.
    pub name: String,
    /// The figure with its unit, e.g. `227 KiB`.
    pub value: String,
    /// `read` from the device or `measured` on it.
    pub source: String,
}
