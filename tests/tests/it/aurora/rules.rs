//! The constraints of Aurora-1 that can be seen in a kernel's text. What needs the addresses (alignment, the length of transfers) is checked by
//! the header itself: a kernel is run with `AUR_STRICT` for that.

/// Stands in front of each of the two texts that a candidate holds.
const OPENING: &str = " = r\"\"\"\n";

/// The text of one of the candidate's C++ strings.
fn part<'a>(candidate: &'a str, name: &str) -> Option<&'a str> {
    let start = candidate.find(&format!("\n{name}{OPENING}"))? + 1 + name.len() + OPENING.len();
    candidate[start..].split_once("\"\"\"").map(|(text, _)| text)
}

/// The candidate with everything checked that the host can check.
pub fn strict(candidate: &str) -> String {
    let strict = candidate.replacen("FLAGS = [", "FLAGS = [\"-DAUR_STRICT\", ", 1);
    assert_ne!(strict, candidate, "the candidate names its flags");
    strict
}

/// The rules that a candidate breaks, by their entries in the pack.
pub fn broken(candidate: &str, header: &str) -> Vec<&'static str> {
    let (Some(brought), Some(kernel)) = (part(candidate, "AURORA_H"), part(candidate, "KERNEL")) else {
        return vec!["where-to-begin"];
    };
    let code = without_comments(kernel);
    let rules = [
        ("where-to-begin", brought == header),
        ("constraints", only_intrinsics(&code)),
        ("vectors", whole_vectors(&code)),
        ("alignment", pads_of_the_core(&code)),
        ("division", !code.contains(['/', '%']) && one_newton_step(&code)),
        ("fence", fenced(&code)),
        ("launch", code.contains("aur_launch(") && !["pragma", "thread", "omp"].iter().any(|word| code.contains(word))),
    ];
    rules.into_iter().filter(|(_, kept)| !kept).map(|(rule, _)| rule).collect()
}

fn without_comments(kernel: &str) -> String {
    kernel.lines().map(|line| line.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

/// No other library, no vector unit but Aurora's, and no element of memory read or written past the transfers.
fn only_intrinsics(code: &str) -> bool {
    let foreign = ["#include", "std::", "_mm", "vector_size", "expf", "sqrtf", "memcpy", "asm", "union"];
    let plain = code.replace("[=]", "");
    !foreign.iter().any(|word| code.contains(word)) && !plain.contains('[') && !plain.contains("= *") && !plain.contains("(*")
}

/// Every index that a vector is loaded or stored at steps by whole vectors, wherever it steps.
fn whole_vectors(code: &str) -> bool {
    let mut calls = code.split("aur_load(").skip(1).chain(code.split("aur_store(").skip(1));
    calls.all(|rest| {
        let address = rest.split([',', ')']).next().unwrap_or_default();
        let Some((_, index)) = address.split_once('+') else { return true };
        let step = format!("{} += ", index.trim());
        let mut steps = code.split(&step).skip(1).peekable();
        steps.peek().is_some() && steps.all(|rest| rest.starts_with("AUR_LANES)"))
    })
}

/// Pads come from the core, never from the stack.
fn pads_of_the_core(code: &str) -> bool {
    code.contains("core.alloc(") && !code.contains("alignas") && !code.contains("alloca") && !code.contains("new ")
}

/// Every `r = aur_rcp(d)` is followed by one step, and no estimate is used as it is.
fn one_newton_step(code: &str) -> bool {
    code.matches("aur_rcp(").count()
        == code
            .lines()
            .filter_map(estimate)
            .filter(|(name, of)| code.matches(&format!("aur_mul({name}, aur_nmsub({of}, {name}, aur_splat(2.0f)))")).count() == 1)
            .count()
}

/// `r` and `d` of a line `aur_v24 r = aur_rcp(d);`.
fn estimate(line: &str) -> Option<(&str, &str)> {
    let (name, rest) = line.trim().strip_prefix("aur_v24 ")?.split_once(" = aur_rcp(")?;
    Some((name, rest.strip_suffix(");")?))
}

/// Between a store and the next transfer out stands a fence.
fn fenced(code: &str) -> bool {
    let mut pending = false;
    let mut rest = code;
    while let Some(at) = rest.find("aur_") {
        rest = &rest[at..];
        if rest.starts_with("aur_store(") {
            pending = true;
        } else if rest.starts_with("aur_fence()") {
            pending = false;
        } else if pending && rest.starts_with("aur_dma_out(") {
            return false;
        }
        rest = &rest["aur_".len()..];
    }
    true
}
