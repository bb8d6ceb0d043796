//! Inputs that differ from call to call by where their rows and elements stand: what a supervisor can do that only moves bytes.
//!
//! The last rows of a dense floating tensor come in front of the others. Rows are counted over as many of the leading dimensions as it takes to
//! have some dozens of them, or a batch would see the same inputs again and again. Of many functions the answer then only has its rows elsewhere,
//! too, and of reductions it is the same. So the tensor is stirred as well: a run of elements and single ones in all parts of it come in the place
//! of others, and no call's answer says what another's is. The trusted worker does the same (`recipes.py`), so that it can compute what a call
//! should have given.

use kernelwright_harness::{Filling, Piece, Window};
use serde_json::Value;

use crate::problem::{Inputs, Places, Recipe};

/// Leading dimensions are counted together until there are this many rows.
const ROWS: u64 = 64;

/// How many single elements are stirred at most.
const SPOTS: u64 = 512;

/// Whether inputs can be made to differ: elements of some tensor can be moved.
pub(crate) fn is_possible(inputs: &Inputs) -> bool {
    inputs.tensors.iter().enumerate().any(|(index, tensor)| match inputs.places(index) {
        Some(places) => !places.elements.is_empty(),
        None => has_rows(tensor),
    })
}

/// Whether its elements can be moved anywhere, rows and runs of them together.
fn has_rows(tensor: &Value) -> bool {
    is_floating(tensor) && elements(tensor) > 1 && is_dense(tensor)
}

/// What the window of one of the inputs' tensors is to hold: the tensor, rotated and stirred by a recipe.
pub(crate) fn filling(window: Window, inputs: &Inputs, index: usize, recipe: Recipe) -> Filling {
    let pieces = inputs.tensors.get(index).map(|tensor| pieces(window.bytes, tensor, inputs.places(index), recipe));
    Filling { window, pieces: pieces.unwrap_or_default() }
}

fn pieces(bytes: u64, tensor: &Value, places: Option<&Places>, recipe: Recipe) -> Vec<Piece> {
    let (by, stir) = match recipe {
        Recipe::Rotated { by, stir } => (by, stir),
        Recipe::Changed { .. } | Recipe::Redrawn { .. } => (0, 0),
    };
    let offset = tensor["offset"].as_u64().unwrap_or_default();
    let is_movable = places.is_none() && has_rows(tensor);
    let rows = if is_movable { rows(tensor) } else { 1 };
    let moved = (u64::from(by) % rows * (bytes / rows)).min(bytes);
    let front = Piece { to: 0, from: offset + bytes - moved, bytes: moved };
    let behind = Piece { to: moved, from: offset, bytes: bytes - moved };
    let mut pieces = vec![front, behind];
    let of = |unit: u64| move |Stirred { from, to, count }| Piece { to: to * unit, from: offset + from * unit, bytes: count * unit };
    if stir != 0
        && let Some(places) = places
    {
        pieces.extend(stirred_in_places(places, stir).map(of(places.unit)));
    } else if stir != 0 && is_movable {
        let elements = elements(tensor);
        let (run, spots) = stirred(elements, rows, stir);
        pieces.extend(std::iter::once(run).chain(spots).map(of(bytes / elements)));
    }
    pieces.retain(|piece| piece.bytes > 0);
    pieces
}

/// Rows are counted over as many of the leading dimensions as it takes to have enough of them.
fn rows(tensor: &Value) -> u64 {
    let mut rows = 1;
    for length in numbers(tensor, "shape") {
        if rows >= ROWS {
            break;
        }
        rows *= length;
    }
    rows
}

/// Elements that come in the place of others.
#[derive(Debug, PartialEq, Eq)]
struct Stirred {
    from: u64,
    to: u64,
    count: u64,
}

/// A run of an eighth of all elements, then one element in each of up to [`SPOTS`] segments.
fn stirred(elements: u64, rows: u64, stir: u32) -> (Stirred, impl Iterator<Item = Stirred>) {
    let run = elements / 8;
    let [from, to] = [0, 1].map(|kind| mixed(stir, 0, kind) % (elements - run + 1));
    (Stirred { from, to, count: run }, spots(elements, rows, stir))
}

/// Single elements in the place of others, of so many, in up to so many segments.
fn spots(among: u64, most: u64, stir: u32) -> impl Iterator<Item = Stirred> {
    let spots = most.min(SPOTS);
    let segment = among / spots.max(1);
    let spot =
        move |index| Stirred { from: mixed(stir, index, 3) % among, to: index * segment + mixed(stir, index, 2) % segment, count: 1 };
    (0..spots).map(spot)
}

/// Elements of a tensor with a structure in the place of others of their group and of their mirror images.
fn stirred_in_places(places: &Places, stir: u32) -> impl Iterator<Item = Stirred> {
    let groups = places.groups.max(1);
    let among = places.elements.len().min(places.mirrors.len()) / groups;
    let group = mixed(stir, 0, 4) as usize % groups;
    let [elements, mirrors] = [&places.elements, &places.mirrors].map(|all| &all[group * among..][..among]);
    spots(among as u64, among as u64, stir).flat_map(|Stirred { from, to, count }| {
        let (from, to, mirror) = (elements[from as usize], elements[to as usize], mirrors[to as usize]);
        [to, mirror].into_iter().take(if mirror == to { 1 } else { 2 }).map(move |to| Stirred { from, to, count })
    })
}

/// A number below 2^31 - 1 that follows from the three in no obvious way.
fn mixed(stir: u32, index: u64, kind: u64) -> u64 {
    const PRIME: u64 = (1 << 31) - 1;
    let mixed = (u64::from(stir) % PRIME * 48271 + index * 69621 + kind * 16807 + 1) % PRIME;
    let mixed = (mixed * mixed + 12345) % PRIME;
    mixed * mixed % PRIME
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
        let pieces = pieces(tensor["nbytes"].as_u64().unwrap(), &tensor, None, Recipe::Rotated { by, stir: 0 });
        let found: Vec<_> = pieces.into_iter().map(|piece| (piece.to, piece.bytes, piece.from)).collect();
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

    fn inputs(tensors: &[&Value], structures: Vec<Option<Places>>) -> Inputs {
        let tensors = tensors.iter().copied().cloned().collect();
        Inputs { tree: Value::Null, tensors, arena: None, label: String::new(), decides: false, structures: structures.into() }
    }

    /// Which element of 16 comes in the place of each.
    fn sources(inputs: &Inputs, stir: u32) -> Vec<u64> {
        let mut values: Vec<u64> = vec![99; 16];
        for piece in filling(Window { address: 0, bytes: 64 }, inputs, 0, Recipe::Rotated { by: 3, stir }).pieces {
            (0..piece.bytes / 4).for_each(|i| values[(piece.to / 4 + i) as usize] = (piece.from - 1000) / 4 + i);
        }
        values
    }

    /// The same figures as in the trusted worker's tests (`test_structure.py`).
    #[test]
    fn elements_stay_in_their_group_and_which_one_is_moved_changes() {
        let columns: Vec<u64> = (0..4).flat_map(|column| (0..4).map(move |row| 4 * row + column)).collect();
        let form = Places { shape: vec![4, 4], strides: vec![4, 1], ..Places::default() };
        let places = Places { elements: columns.clone(), mirrors: columns, groups: 4, unit: 4, ..form };
        let inputs = inputs(&[&tensor("int32", &[4, 4], &[4, 1])], vec![Some(places)]);
        assert_eq!(sources(&inputs, 7), [0, 1, 14, 3, 4, 5, 6, 7, 8, 9, 2, 11, 12, 13, 2, 15]);
        assert_eq!(sources(&inputs, 8), [0, 1, 2, 7, 4, 5, 6, 11, 8, 9, 10, 7, 12, 13, 14, 3]);
    }

    /// The same figures as in the trusted worker's tests (`test_structure.py`).
    #[test]
    fn only_elements_with_a_place_are_moved_and_their_mirror_images_too() {
        // Of a symmetric matrix of four rows without its corners.
        let form = Places { shape: vec![4, 4], strides: vec![4, 1], ..Places::default() };
        let places = Places { elements: vec![0, 1, 5, 6, 10, 15], mirrors: vec![0, 4, 5, 9, 10, 15], groups: 1, unit: 4, ..form.clone() };
        let inputs = inputs(&[&tensor("float32", &[4, 4], &[4, 1])], vec![Some(places)]);
        assert!(is_possible(&inputs));
        assert_eq!(sources(&inputs, 7), [6, 1, 2, 3, 1, 5, 5, 7, 8, 5, 1, 11, 12, 13, 14, 0]);
        let fixed = Inputs { structures: vec![Some(form)].into(), ..inputs };
        assert!(!is_possible(&fixed));
        let other = Inputs { tensors: vec![tensor("float32", &[2, 8], &[8, 1])], ..fixed };
        assert!(is_possible(&other), "what is known of one form is not known of another");
    }

    /// The same figures as in the trusted worker's tests (`test_values.py`).
    #[test]
    fn elements_come_in_the_place_of_others() {
        let pieces = pieces(64, &tensor("float32", &[16], &[1]), None, Recipe::Rotated { by: 3, stir: 7 });
        let found: Vec<_> = pieces.into_iter().map(|piece| (piece.to / 4, piece.bytes / 4, (piece.from - 1000) / 4)).collect();
        assert_eq!(found[..2], [(0, 3, 13), (3, 13, 0)]);
        let mut values: Vec<u64> = vec![99; 16];
        for (to, count, from) in found {
            (0..count).for_each(|i| values[(to + i) as usize] = from + i);
        }
        assert_eq!(values, [15, 5, 0, 4, 15, 12, 13, 15, 10, 0, 13, 8, 1, 3, 3, 2]);
    }

    #[test]
    fn only_dense_floating_tensors_are_rotated() {
        let dense = tensor("float32", &[4, 2], &[2, 1]);
        let transposed = tensor("float32", &[4, 2], &[1, 4]);
        let integers = tensor("int32", &[4, 2], &[2, 1]);
        let possible = |tensors: &[&Value]| is_possible(&inputs(tensors, vec![]));
        assert!(possible(&[&dense]) && possible(&[&dense, &integers]));
        assert!(possible(&[&dense, &transposed]) && !possible(&[&transposed]) && !possible(&[&integers]) && !possible(&[]));
        assert_eq!(pieces(32, &integers, None, Recipe::Rotated { by: 1, stir: 5 }).len(), 1);
    }
}
