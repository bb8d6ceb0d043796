//! The few parts of the workers' messages that the supervisor looks into. Trees and descriptions pass through as they are.

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
    fn impossible_claims_are_refused() {
        assert_eq!(windows(&[host(0, u64::MAX), host(0, 2)], 100), Err(ClaimError::TooLarge { bytes: u64::MAX, limit: 100 }));
        assert!(matches!(windows(&[json!({"nbytes": -1})], 100), Err(ClaimError::Unreadable(_))));
        assert_eq!(windows(&vec![host(0, 0); 5000], 100), Err(ClaimError::TooMany(5000)));
    }
}
