//! Questions over the built-in packs, as someone writing a kernel would put them, with the entry that has to be among the first three.
//!
//! Search is by words: a question that shares none with its entry is not found, and none is asked here. They are a floor that changes to
//! tokens, fields and boosts must keep, not a measure of quality.

use kernelwright_knowledge::{Library, Query, Settings};

/// The questions of one language whose entry is not among the first three passages, each with what was found instead.
fn missed(language: &str, questions: &[(&str, &str)]) -> Vec<String> {
    let library = Library::open(Settings::default());
    let mut missed = Vec::new();
    for (question, expected) in questions {
        let query = Query { text: (*question).to_owned(), language: Some(language.to_owned()), limit: 3, ..Query::default() };
        let found: Vec<String> = library.search(&query).unwrap().passages.into_iter().map(|passage| passage.entry).collect();
        if !found.iter().any(|entry| entry == expected) {
            missed.push(format!("{question}: expected {expected}, found {found:?}"));
        }
    }
    missed
}

#[test]
fn cpu_questions_find_their_entry() {
    let questions = [
        ("avoid read for ownership when writing a big array", "x86-cpu/streaming-stores"),
        ("Illegal instruction (core dumped)", "x86-cpu/illegal-instruction"),
        ("undefined symbol: _ZGVdN8v_expf", "x86-cpu/undefined-symbol-zgv"),
        ("how do I vectorise expf in a loop?", "x86-cpu/vectorised-exp-libmvec"),
        ("why is -ffast-math dangerous with NaN inputs", "x86-cpu/fast-math-nan-and-ftz"),
        ("missed: couldn't vectorize loop", "x86-cpu/loop-not-vectorised"),
        ("parallel for makes a tiny problem slower", "x86-cpu/small-work-parallel-overhead"),
        ("torch::empty page faults first touch of fresh memory dominate", "x86-cpu/fresh-output-page-faults"),
        ("diag(A) @ B without building the diagonal matrix", "x86-cpu/algebra-before-code"),
        ("horizontal sum of a __m512 register", "x86-cpu/simd-reductions"),
        ("call a C function with data_ptr() through ctypes", "x86-cpu/raw-pointer-extension"),
        ("OMP_NUM_THREADS and torch.set_num_threads oversubscription", "x86-cpu/openmp-beside-torch"),
        ("complete softmax kernel in C++", "x86-cpu/cpu-row-softmax"),
    ];
    assert_eq!(missed("cpp", &questions), Vec::<String>::new());
}

#[test]
fn triton_questions_find_their_entry() {
    let questions = [
        ("can I index one element of a tensor, x[i], inside the kernel?", "triton/language-constraints"),
        ("ValueError: arange's range must be a power of 2", "triton/compile-error-messages"),
        ("OutOfResources: out of resource: shared memory, Required: 262144, Hardware limit: 232448", "triton/runtime-error-messages"),
        ("tl.dot on fp32 differs from torch.matmul in the third digit", "triton/dot-shapes-and-precision"),
        ("how many warps and pipeline stages should I choose", "triton/warps-and-stages"),
        ("wrong results for tensors with more than 2 billion elements", "triton/int64-offsets"),
        ("which value should masked out lanes have before a max", "triton/masks-and-padding"),
        ("run a kernel without a GPU", "triton/interpreter-limits"),
        ("loads are not 128 bit wide, ld.global.v4 missing", "triton/vectorised-loads"),
        ("make_tensor_descriptor strides alignment", "triton/tensor-descriptors"),
        ("grouped program ids for L2 reuse in a matmul", "triton/triton-grouped-matmul"),
        ("layer norm that reads its input only once", "triton/row-normalisations"),
        ("benchmark is slow at the first call because of autotune", "triton/autotune-rules"),
        ("softmax example kernel", "triton/triton-row-softmax"),
    ];
    assert_eq!(missed("triton", &questions), Vec::<String>::new());
}

#[test]
fn hopper_questions_find_their_entry() {
    let questions = [
        ("how much HBM bandwidth does an H200 have", "nvidia-hopper/h100-h200-figures"),
        ("cp.async.bulk.tensor descriptor encode", "nvidia-hopper/tma-tensor-maps"),
        ("mbarrier expect_tx bytes with a bulk copy", "nvidia-hopper/bulk-copy-and-mbarrier"),
        ("thread block clusters and distributed shared memory", "nvidia-hopper/clusters"),
        ("bank conflicts when reading a column of a tile", "nvidia-hopper/shared-memory-banks"),
        ("an illegal memory access was encountered", "nvidia-hopper/cuda-runtime-errors"),
        ("are my global memory accesses coalesced?", "nvidia-hopper/coalescing"),
        ("how many threads and registers fit on one SM", "nvidia-hopper/sm-limits-and-occupancy"),
        ("wgmma.mma_async operands in shared memory", "nvidia-hopper/wgmma"),
        ("sum over a block with warp shuffles", "nvidia-hopper/block-reductions"),
        ("small kernels are dominated by launch overhead", "nvidia-hopper/launch-latency-and-graphs"),
        ("local memory spills in the ptxas output", "nvidia-hopper/registers-and-local-memory"),
        ("nvcc flags for sm_90a", "nvidia-hopper/building-for-hopper"),
        ("producer and consumer warps with setmaxnreg", "nvidia-hopper/warp-specialisation"),
    ];
    assert_eq!(missed("cuda", &questions), Vec::<String>::new());
}
