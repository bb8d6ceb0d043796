//! The least time that a problem's memory traffic can take.

use kernelwright_protocol::{BaselineReport, Bytes, Nanoseconds};
use kernelwright_search::Graph;

/// Every input read once and every output written once, at the bandwidth of a large copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Floor {
    pub(crate) bytes: Bytes,
    pub(crate) time: Nanoseconds,
}

/// That of a run's problem on its target; `None` where one of them is not known well enough.
pub(crate) fn of(graph: &Graph) -> Option<Floor> {
    floor(graph.baseline.as_ref()?, graph.target.as_ref()?.copy_bytes_per_second?)
}

/// `None` when a tensor's size is not in its description: half a floor would be a wrong one.
fn floor(report: &BaselineReport, bytes_per_second: f64) -> Option<Floor> {
    let mut total = 0_u64;
    let mut tensors = 0;
    for line in report.inputs.iter().chain(&report.outputs) {
        // Numbers, strings and None are described without a shape and move nothing.
        if line.contains('[') {
            total = total.checked_add(bytes(line)?)?;
            tensors += 1;
        }
    }
    let time = Nanoseconds::from_seconds(total as f64 / bytes_per_second);
    (tensors > 0 && time.0 > 0).then_some(Floor { bytes: Bytes(total), time })
}

/// The size of a tensor described like `float32[4096, 4096] contiguous`, with or without a name in front.
fn bytes(line: &str) -> Option<u64> {
    let (before, rest) = line.split_once('[')?;
    let (shape, _) = rest.split_once(']')?;
    let kind = before.trim_end().rsplit(|c: char| !c.is_alphanumeric() && c != '_').next()?;
    let size = match kind.trim_start_matches("torch.") {
        "complex128" => 16,
        "float64" | "int64" | "complex64" => 8,
        "float32" | "int32" | "uint32" => 4,
        "float16" | "bfloat16" | "int16" | "uint16" => 2,
        "int8" | "uint8" | "bool" => 1,
        name if name.starts_with("float8") => 1,
        _ => return None,
    };
    let dimensions = shape.split(',').map(str::trim).filter(|dimension| !dimension.is_empty());
    dimensions.map(|dimension| dimension.parse::<u64>().ok()).try_fold(size, |product: u64, dimension| product.checked_mul(dimension?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_follow_from_descriptions() {
        assert_eq!(bytes("float32[4096, 4096] contiguous"), Some(64 << 20));
        assert_eq!(bytes("input[0]: float32[8]"), None);
        assert_eq!(bytes("bfloat16[8192, 8192]"), Some(128 << 20));
        assert_eq!(bytes("int64[]"), Some(8));
        assert_eq!(bytes("str"), None);
    }
}
