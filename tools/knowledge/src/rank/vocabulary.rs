//! Words that mean little or nothing, and words that show what is asked for.

use std::collections::HashSet;
use std::sync::LazyLock;

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

/// Words of everyday language: rare in documentation, and no less beside the point for that. Their rareness would make them weigh much.
pub(super) static EVERYDAY_WORDS: LazyLock<HashSet<&str>> = LazyLock::new(|| {
    "again against ago almost alone along already also although always am among another anyone anything around ask asked away back \
     bad based because become being believe best better big bit bring call called came care case change clear close come comes coming \
     common complete course current day days deal different difficult doing done down due during easy either else end enough entire \
     especially etc even ever every everyone everything exactly except expect fact far feel few find follow following found full \
     further gave general getting give given gives giving go goes going gone good got great guess half happened happening hard hear \
     help her here high his hold huge idea important include included including inside interesting itself keep kept kind knew know \
     known knows large last late later learn least leave left less let likely little live long longer look looking looks lot lots \
     made main maintain making many matter may maybe meant met might mind most mostly move moving myself name near nearly needed \
     never new next nice normal normally nothing now number off often oh ok old once ones open order other others own part particular \
     past people perhaps person piece place places please point possible pretty probably problem problems provide put question quite \
     rather reading ready real really reason recent recently related rest right run running runs said say says second see seeing seem \
     seems seen sense serious set several show shown shows side similar simple simply since single small someone something sometimes \
     soon sort special start started starting stop story stuff such sure taken taking talk tell telling thank thanks thing things \
     think thinking third though thought through time times today together told too took toward towards trouble true try trying turn \
     turns under understand until up upon us useful usually various very via wanted wants watch way ways well went whatever whether \
     while who whole whose wish within wonder work worked working works worse worst worth write writing written wrong wrote year \
     years yet your yourself"
        .split_ascii_whitespace()
        .collect()
});

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
