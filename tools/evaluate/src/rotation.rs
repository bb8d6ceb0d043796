//! Inputs that differ from call to call by where their rows stand: what a supervisor can do that only moves bytes.
//!
//! The last rows of a dense floating tensor come in front of the others. Rows are counted over as many of the leading dimensions as it takes to
//! have some dozens of them, or a batch would see the same inputs again and again. The trusted worker does the same (`recipes.py`), so that
//! it can compute what a call should have given.

use kernelwright_harness::Window;
use serde_json::Value;

/// Leading dimensions are counted together until there are this many rows.
const ROWS: u64 = 64;

/// Whether inputs can be made to differ: some floating tensor has rows to move, and none has gaps between its elements.
pub(crate) fn is_possible(tensors: &[Value]) -> bool {
    let mut floating = tensors.iter().filter(|tensor| is_floating(tensor) && elements(tensor) > 1).peekable();
    floating.peek().is_some() && floating.all(is_dense)
}

/// The pieces of memory that make up a rotated tensor: windows of the process, each with the offset in the arena that it is written from.
pub(crate) fn pieces(window: Window, tensor: &Value, by: u32) -> Vec<(Window, u64)> {
    let offset = tensor["offset"].as_u64().unwrap_or_default();
    let moved = moved_bytes(tensor, by).min(window.bytes);
    let rest = window.bytes - moved;
    let front = (Window { address: window.address, bytes: moved }, offset + rest);
    let behind = (Window { address: window.address + moved, bytes: rest }, offset);
    [front, behind].into_iter().filter(|(piece, _)| piece.bytes > 0).collect()
}

/// How many bytes come in front.
fn moved_bytes(tensor: &Value, by: u32) -> u64 {
    if !is_floating(tensor) || elements(tensor) < 2 || !is_dense(tensor) {
        return 0;
    }
    let mut rows = 1;
    for length in numbers(tensor, "shape") {
        if rows >= ROWS {
            break;
        }
        rows *= length;
    }
    u64::from(by) % rows * (tensor["nbytes"].as_u64().unwrap_or_default() / rows)
}

/// Floating or complex, of two bytes or more.
fn is_floating(tensor: &Value) -> bool {
    matches!(tensor["dtype"].as_str(), Some("float16" | "bfloat16" | "float32" | "float64" | "complex32" | "complex64" | "complex128"))
}

fn is_dense(tensor: &Value) -> bool {
    let mut expected = 1;
    let lengths: Vec<u64> = numbers(tensor, "shape").collect();
    let strides: Vec<u64> = numbers(tensor, "strides").collect();
    lengths.iter().zip(&strides).rev().all(|(&length, &stride)| {
        let fits = length == 1 || stride == expected;
        expected *= length;
        fits
    })
}

fn elements(tensor: &Value) -> u64 {
    numbers(tensor, "shape").product()
}

fn numbers<'a>(tensor: &'a Value, field: &str) -> impl Iterator<Item = u64> + 'a {
    tensor[field].as_array().into_iter().flatten().filter_map(Value::as_u64)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn tensor(dtype: &str, shape: &[u64], strides: &[u64]) -> Value {
        let nbytes = shape.iter().product::<u64>() * 4;
        json!({"dtype": dtype, "shape": shape, "strides": strides, "nbytes": nbytes, "offset": 1000})
    }

    fn check(shape: &[u64], by: u32, expected: &[(u64, u64, u64)]) {
        let strides: Vec<u64> = (0..shape.len()).map(|dimension| shape[dimension + 1..].iter().product()).collect();
        let tensor = tensor("float32", shape, &strides);
        let window = Window { address: 0, bytes: tensor["nbytes"].as_u64().unwrap() };
        let found: Vec<_> = pieces(window, &tensor, by).into_iter().map(|(piece, from)| (piece.address, piece.bytes, from)).collect();
        assert_eq!(found, expected, "{shape:?} by {by}");
    }

    #[test]
    fn the_last_rows_come_in_front() {
        check(&[100, 2], 3, &[(0, 24, 1000 + 776), (24, 776, 1000)]);
        check(&[100, 2], 200, &[(0, 800, 1000)]);
        check(&[1, 2, 50, 3], 101, &[(0, 12, 1000 + 1188), (12, 1188, 1000)]);
        check(&[5], 6, &[(0, 4, 1016), (4, 16, 1000)]);
        check(&[1], 7, &[(0, 4, 1000)]);
        check(&[0, 4], 7, &[]);
    }

    #[test]
    fn only_dense_floating_tensors_are_rotated() {
        let dense = tensor("float32", &[4, 2], &[2, 1]);
        let transposed = tensor("float32", &[4, 2], &[1, 4]);
        let integers = tensor("int32", &[4, 2], &[2, 1]);
        let possible = |tensors: &[&Value]| is_possible(&tensors.iter().copied().cloned().collect::<Vec<_>>());
        assert!(possible(&[&dense]) && possible(&[&dense, &integers]));
        assert!(!possible(&[&dense, &transposed]) && !possible(&[&integers]) && !possible(&[]));
        assert_eq!(pieces(Window { address: 0, bytes: 32 }, &integers, 1).len(), 1);
    }
}
