//! The words of the field that mean the same, and words that mean nothing.

use std::sync::LazyLock;

use crate::tokenize::forms;

/// Words that fit every question and say nothing about any.
pub(super) const STOP_WORDS: [&str; 62] = [
    "a", "an", "and", "any", "are", "as", "at", "be", "been", "but", "by", "can", "could", "did", "do", "does", "for", "from", "get",
    "had", "has", "have", "how", "i", "if", "in", "into", "is", "it", "its", "me", "my", "of", "on", "or", "our", "s", "should", "so", "t",
    "than", "that", "the", "their", "them", "then", "there", "these", "they", "this", "to", "was", "we", "were", "what", "when", "which",
    "why", "will", "with", "would", "you",
];

/// Words that say a little: how a question is put rather than what it is about.
pub(super) const FILLERS: [&str; 40] = [
    "about", "actually", "after", "all", "before", "between", "both", "does", "each", "happen", "happens", "instead", "just", "like",
    "make", "makes", "mean", "means", "more", "much", "must", "need", "needs", "no", "not", "one", "only", "out", "over", "same", "some",
    "still", "take", "takes", "use", "used", "using", "want", "where", "without",
];

/// How questions for an explanation begin.
pub(super) const QUESTION_WORDS: [&str; 20] = [
    "how",
    "why",
    "what",
    "which",
    "when",
    "where",
    "who",
    "does",
    "do",
    "is",
    "are",
    "can",
    "could",
    "should",
    "will",
    "would",
    "has",
    "have",
    "difference",
    "meaning",
];

/// How questions for instructions begin.
pub(super) const DOING_WORDS: [&str; 44] = [
    "add",
    "allocate",
    "avoid",
    "build",
    "call",
    "change",
    "check",
    "choose",
    "compare",
    "compile",
    "compute",
    "configure",
    "convert",
    "copy",
    "create",
    "debug",
    "disable",
    "dump",
    "enable",
    "find",
    "fix",
    "get",
    "inspect",
    "install",
    "keep",
    "launch",
    "limit",
    "load",
    "make",
    "measure",
    "pass",
    "print",
    "profile",
    "reduce",
    "replace",
    "run",
    "see",
    "set",
    "step",
    "test",
    "tune",
    "turn",
    "use",
    "view",
];

/// What is asked for when a question names a thing that is written.
pub(super) const CODE_WORDS: [&str; 12] =
    ["kernel", "kernels", "implementation", "example", "code", "source", "gemm", "gemv", "matmul", "class", "function", "template"];

/// What is written both ways: an abbreviation, and the words that it stands for.
const EQUIVALENTS: [(&str, &[&str]); 34] = [
    ("smem", &["shared", "memory"]),
    ("gmem", &["global", "memory"]),
    ("tmem", &["tensor", "memory"]),
    ("dsmem", &["distributed", "shared", "memory"]),
    ("tma", &["tensor", "memory", "accelerator"]),
    ("cta", &["thread", "block"]),
    ("cta", &["threadblock"]),
    ("workgroup", &["thread", "block"]),
    ("sm", &["streaming", "multiprocessor"]),
    ("cu", &["compute", "unit"]),
    ("lds", &["local", "data", "share"]),
    ("vgpr", &["vector", "register"]),
    ("sgpr", &["scalar", "register"]),
    ("gemm", &["matmul"]),
    ("gemm", &["matrix", "multiplication"]),
    ("matmul", &["matrix", "multiplication"]),
    ("mma", &["matrix", "multiply", "accumulate"]),
    ("wgmma", &["warpgroup", "mma"]),
    ("hbm", &["high", "bandwidth", "memory"]),
    ("fma", &["fused", "multiply", "add"]),
    ("simt", &["single", "instruction", "multiple", "thread"]),
    ("ilp", &["instruction", "level", "parallelism"]),
    ("pdl", &["programmatic", "dependent", "launch"]),
    ("oom", &["out", "memory"]),
    ("fp16", &["float16"]),
    ("fp16", &["half"]),
    ("bf16", &["bfloat16"]),
    ("fp32", &["float32"]),
    ("fp8", &["float8"]),
    ("fp64", &["float64"]),
    ("rng", &["random", "number"]),
    ("jit", &["just", "time"]),
    ("aot", &["ahead", "time"]),
    ("sfu", &["special", "function", "unit"]),
];

/// The table as terms.
static TERMS: LazyLock<Vec<(String, Vec<String>)>> = LazyLock::new(|| {
    let term = |word: &str| forms(word).whole;
    EQUIVALENTS.iter().map(|(short, long)| (term(short), long.iter().map(|word| term(word)).collect())).collect()
});

/// The terms that mean what the words at the start of `rest` (as terms) mean: the abbreviation of a phrase, or the words of one.
pub(super) fn equivalents(rest: &[String]) -> Vec<String> {
    let mut found = Vec::new();
    for (short, long) in TERMS.iter() {
        if rest.starts_with(long) {
            found.push(short.clone());
        }
        if rest.first() == Some(short) {
            found.extend(long.iter().cloned());
        }
    }
    found
}
