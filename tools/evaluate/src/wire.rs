//! The few parts of the workers' messages that the supervisor looks into. Trees and descriptions pass through as they are.

use std::sync::Arc;

use kernelwright_harness::Window;
use serde::Deserialize;
use serde_json::Value;

/// The most tensors one call may return.
const TENSORS: usize = 4096;

/// What a candidate says about its outputs cannot be true.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub(crate) enum ClaimError {
    #[error("its tensors would be {bytes} bytes, over the limit of {limit}")]
    TooLarge { bytes: u64, limit: u64 },
    #[error("it lists {0} tensors")]
    TooMany(usize),
    #[error("a description of a tensor cannot be read: {0}")]
    Unreadable(String),
}

#[derive(Deserialize)]
struct Located {
    nbytes: u64,
    memory: Memory,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Memory {
    Host { address: u64 },
    CudaIpc {},
}

/// The windows of host memory that `tensors` claim to lie in, each with the index of its tensor.
pub(crate) fn windows(tensors: &[Value], limit: u64) -> Result<Vec<(usize, Window)>, ClaimError> {
    if tensors.len() > TENSORS {
        return Err(ClaimError::TooMany(tensors.len()));
    }
    let mut found = Vec::new();
    let mut total = 0_u64;
    for (index, tensor) in tensors.iter().enumerate() {
        let located = Located::deserialize(tensor).map_err(|error| ClaimError::Unreadable(error.to_string()))?;
        if let Memory::Host { address } = located.memory {
            total = total.saturating_add(located.nbytes);
            found.push((index, Window { address, bytes: located.nbytes }));
        }
    }
    if total > limit { Err(ClaimError::TooLarge { bytes: total, limit }) } else { Ok(found) }
}

/// Rewrites host tensors to where their windows now lie in an arena.
pub(crate) fn relocate(tensors: &mut [Value], found: &[(usize, Window)], offsets: &[u64]) {
    for ((index, _), &offset) in found.iter().zip(offsets) {
        if let Some(fields) = tensors.get_mut(*index).and_then(Value::as_object_mut) {
            fields.remove("memory");
            fields.insert("offset".to_owned(), offset.into());
        }
    }
}

/// How many bytes of memory hold `outputs` and none of `inputs`: what one call has to write. What descriptions leave open counts nothing.
pub(crate) fn written_bytes(outputs: &[Value], inputs: &[Value]) -> u64 {
    let given: Vec<_> = inputs.iter().filter_map(place).collect();
    let mut places: Vec<_> = outputs.iter().filter_map(place).filter(|new| !given.iter().any(|old| new.overlaps(old))).collect();
    places.sort_unstable();
    let mut written = 0;
    let mut last: Option<MemoryRange> = None;
    for place in places {
        let seen = last.as_ref().filter(|last| last.device == place.device).map_or(place.start, |last| last.end);
        written += place.end.saturating_sub(place.start.max(seen));
        let end = place.end.max(seen);
        last = Some(MemoryRange { end, ..place });
    }
    written
}

/// Which outputs of the reference lie in the memory of inputs, in the order of their tree; any may where that is not said.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(transparent)]
pub(crate) struct Aliases(Option<Arc<[bool]>>);

impl Aliases {
    /// Whether an output of a call lies in the memory of one of its inputs, and the reference's has memory of its own.
    pub(crate) fn are_others(&self, tree: &Value, outputs: &[Value], inputs: &[Value]) -> bool {
        let Some(known) = &self.0 else { return false };
        let given: Vec<_> = inputs.iter().filter_map(place).collect();
        let mut leaves = vec![];
        collect_leaves(tree, &mut leaves);
        let lies_there = |tensor: u64| {
            let new = usize::try_from(tensor).ok().and_then(|tensor| place(outputs.get(tensor)?));
            new.is_some_and(|new| given.iter().any(|old| new.overlaps(old)))
        };
        leaves.into_iter().enumerate().any(|(at, tensor)| known.get(at) != Some(&true) && lies_there(tensor))
    }
}

/// The tensors of a tree, by number; those of a dict in the order of its keys, which two sides may have inserted in another one. `trees.leaf_tensors` counts alike.
fn collect_leaves(tree: &Value, leaves: &mut Vec<u64>) {
    match tree {
        Value::Array(items) => items.iter().for_each(|item| collect_leaves(item, leaves)),
        Value::Object(fields) => {
            if let Some(tensor) = fields.get("tensor").and_then(Value::as_u64) {
                leaves.push(tensor);
            } else if let Some(Value::Array(pairs)) = fields.get("dict") {
                let mut pairs: Vec<_> = pairs.iter().map(|pair| (pair[0].to_string(), &pair[1])).collect();
                pairs.sort_by(|a, b| a.0.cmp(&b.0));
                for (_, item) in pairs {
                    collect_leaves(item, leaves);
                }
            } else {
                fields.values().for_each(|value| collect_leaves(value, leaves));
            }
        }
        _ => {}
    }
}

/// Where a tensor's window lies.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct MemoryRange {
    /// None in host memory.
    device: Option<u64>,
    start: u64,
    end: u64,
}

impl MemoryRange {
    fn overlaps(&self, other: &Self) -> bool {
        self.device == other.device && self.start < other.end && other.start < self.end
    }
}

fn place(tensor: &Value) -> Option<MemoryRange> {
    let nbytes = tensor.get("nbytes")?.as_u64()?;
    let memory = tensor.get("memory")?;
    let (device, start) = match (memory.get("host"), memory.get("cuda_ipc")) {
        (Some(host), _) => (None, host.get("address")?.as_u64()?),
        (None, Some(shared)) => (Some(shared.get("device")?.as_u64()?), shared.get("address")?.as_u64()?),
        (None, None) => return None,
    };
    Some(MemoryRange { device, start, end: start.saturating_add(nbytes) })
}

/// How many bytes the tensors take; what they say of themselves.
pub(crate) fn total_bytes(tensors: &[Value]) -> u64 {
    tensors.iter().filter_map(|tensor| tensor.get("nbytes").and_then(Value::as_u64)).fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn host(address: u64, nbytes: u64) -> Value {
        json!({"dtype": "float32", "shape": [4], "strides": [1], "nbytes": nbytes, "memory": {"host": {"address": address}}})
    }

    #[test]
    fn host_windows_move_into_the_arena_and_device_memory_stays() {
        let device = json!({"nbytes": 1_u64 << 40, "memory": {"cuda_ipc": {"handle": "", "device": 0}}});
        let mut tensors = vec![host(64, 16), device.clone(), host(4096, 8)];
        let found = windows(&tensors, 24).unwrap();
        assert_eq!(found, [(0, Window { address: 64, bytes: 16 }), (2, Window { address: 4096, bytes: 8 })]);
        relocate(&mut tensors, &found, &[0, 64]);
        assert_eq!((&tensors[0]["offset"], &tensors[2]["offset"], &tensors[1]), (&json!(0), &json!(64), &device));
        assert!(tensors[0].get("memory").is_none());
    }

    #[test]
    fn only_memory_of_their_own_counts_as_written() {
        let device = |address: u64| json!({"nbytes": 8, "memory": {"cuda_ipc": {"handle": "", "device": 0, "address": address}}});
        let outputs = [host(100, 16), host(108, 16), host(500, 8), device(500), json!({"nbytes": 9})];
        assert_eq!(written_bytes(&outputs, &[]), 24 + 8 + 8);
        assert_eq!(written_bytes(&outputs, &[host(504, 400)]), 24 + 8);
        assert_eq!(written_bytes(&[host(0, u64::MAX)], &[device(0)]), u64::MAX);
    }

    #[test]
    fn only_outputs_that_the_reference_has_in_its_inputs_may_lie_there() {
        let known: Aliases = serde_json::from_value(json!([false, true])).unwrap();
        let (input, own) = (host(504, 400), host(4096, 8));
        let others = |tree: Value, outputs: &[Value]| known.are_others(&tree, outputs, std::slice::from_ref(&input));
        let both = json!({"list": [{"tensor": 0}, {"tensor": 1}]});
        assert!(others(both.clone(), &[host(600, 8), own.clone()]) && !others(both.clone(), &[own.clone(), host(600, 8)]));
        assert!(!others(json!({"list": [{"tensor": 0}, {"tensor": 0}]}), std::slice::from_ref(&own)));
        assert!(others(json!({"list": [{"tensor": 0}, {"tensor": 0}]}), &[host(504, 8)]), "one object for both");
        let keyed = |first: &str, second: &str| json!({"dict": [[first, {"tensor": 0}], [second, {"tensor": 1}]]});
        assert!(!others(keyed("b", "a"), &[host(600, 8), own.clone()]) && others(keyed("a", "b"), &[host(600, 8), own.clone()]));
        assert!(
            !Aliases::default().are_others(&both, &[host(600, 8), host(600, 8)], std::slice::from_ref(&input)),
            "a backward pass hands on what it was given"
        );
    }

    #[test]
    fn impossible_claims_are_refused() {
        assert_eq!(windows(&[host(0, u64::MAX), host(0, 2)], 100), Err(ClaimError::TooLarge { bytes: u64::MAX, limit: 100 }));
        assert!(matches!(windows(&[json!({"nbytes": -1})], 100), Err(ClaimError::Unreadable(_))));
        assert_eq!(windows(&vec![host(0, 0); 5000], 100), Err(ClaimError::TooMany(5000)));
    }
}
