//! Where the tensors of a batch lie: told for every call, before anybody chooses which of them are looked at.
//!
//! What a candidate says here is a claim like any other. It is made while nobody can know what will be read, and nothing runs between it
//! and the reading; so outputs have to be there, all of them, when it is made.

use std::collections::HashSet;

use serde::Deserialize;
use serde_json::{Map, Value, json};

/// The tensors of a batch's calls: their inputs or their outputs.
#[derive(Debug, Deserialize)]
pub(crate) struct Locations {
    forms: Vec<Form>,
    /// For each call the number of its form, then the address of each tensor.
    calls: Vec<Vec<u64>>,
    #[serde(default)]
    blocks: Vec<Block>,
    /// Where the process counts the calls that have begun, if it was asked for the tensors of calls that are still to come.
    #[serde(default)]
    pub(crate) counter: Option<u64>,
}

/// What the values of some calls look like.
#[derive(Debug, Deserialize)]
struct Form {
    outputs: Value,
    tensors: Vec<Map<String, Value>>,
}

/// An allocation of device memory.
#[derive(Debug, Deserialize)]
struct Block {
    address: u64,
    nbytes: u64,
    handle: String,
    device: u32,
}

impl Locations {
    pub(crate) fn count(&self) -> usize {
        self.calls.len()
    }

    /// The tree of a call and its located tensors; none where the claim contradicts itself.
    pub(crate) fn call(&self, index: usize) -> Option<(&Value, Vec<Value>)> {
        let (form, addresses) = self.calls.get(index)?.split_first()?;
        let form = self.forms.get(usize::try_from(*form).ok()?)?;
        if form.tensors.len() != addresses.len() {
            return None;
        }
        let located = form.tensors.iter().zip(addresses).map(|(tensor, &address)| self.locate(tensor, address));
        Some((&form.outputs, located.collect::<Option<_>>()?))
    }

    fn locate(&self, tensor: &Map<String, Value>, address: u64) -> Option<Value> {
        let mut located = tensor.clone();
        let on_device = tensor.get("device")? == "cuda" && bytes(tensor) > 0;
        let memory = if on_device {
            let block = self.blocks.iter().find(|block| block.address <= address && address - block.address < block.nbytes)?;
            json!({"cuda_ipc": {
                "handle": block.handle, "handle_offset": address - block.address, "address": address, "device": block.device,
            }})
        } else {
            json!({"host": {"address": if bytes(tensor) > 0 { address } else { 0 }}})
        };
        located.insert("memory".to_owned(), memory);
        Some(located.into())
    }

    /// Which calls' tensors are still there at the end of the batch: no later call's lie in the same place.
    pub(crate) fn lasting(&self) -> Vec<bool> {
        let mut taken = HashSet::new();
        let mut lasting: Vec<bool> = self
            .calls
            .iter()
            .rev()
            .map(|call| {
                let Some((form, addresses)) = call.split_first() else { return true };
                let form = usize::try_from(*form).ok().and_then(|form| self.forms.get(form));
                let sizes = form.map(|form| form.tensors.iter().map(bytes).collect::<Vec<_>>()).unwrap_or_default();
                let own: HashSet<u64> = addresses.iter().zip(sizes).filter(|(_, bytes)| *bytes > 0).map(|(&address, _)| address).collect();
                let free = taken.is_disjoint(&own);
                taken.extend(own);
                free
            })
            .collect();
        lasting.reverse();
        lasting
    }
}

fn bytes(tensor: &Map<String, Value>) -> u64 {
    tensor.get("nbytes").and_then(Value::as_u64).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn locations(calls: &Value) -> Locations {
        let tensor =
            |device: &str, nbytes: u64| json!({"dtype": "float32", "shape": [1], "strides": [1], "nbytes": nbytes, "device": device});
        serde_json::from_value(json!({
            "forms": [
                {"outputs": {"tensor": 0}, "tensors": [tensor("cpu", 4)]},
                {"outputs": {"tensor": 0}, "tensors": [tensor("cuda", 4)]},
                {"outputs": {"tensor": 0}, "tensors": [tensor("cpu", 0)]},
            ],
            "calls": calls,
            "blocks": [{"address": 4096, "nbytes": 512, "handle": "h", "device": 1}],
        }))
        .unwrap()
    }

    #[test]
    fn a_call_is_located_in_host_memory_or_in_its_block() {
        let told = locations(&json!([[0, 64], [1, 4100], [1, 9000], [7, 64], [0, 64, 64], []]));
        let memory = |index| Some(told.call(index)?.1[0]["memory"].clone());
        assert_eq!(memory(0), Some(json!({"host": {"address": 64}})));
        assert_eq!(memory(1).unwrap()["cuda_ipc"]["handle_offset"], 4);
        assert_eq!((told.count(), [2, 3, 4, 5].map(memory)), (6, [None, None, None, None]));
    }

    #[test]
    fn what_a_later_call_has_overwritten_does_not_last() {
        assert_eq!(locations(&json!([[0, 64], [0, 128], [0, 64]])).lasting(), [false, true, true]);
        assert_eq!(locations(&json!([[2, 64], [2, 64]])).lasting(), [true, true], "nothing lies where there are no bytes");
    }
}
