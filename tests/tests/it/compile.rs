//! `compile_kernel` without a GPU, through the real worker in its sandbox. That the figures are the compilers' own is checked beside the worker
//! (`tools/harness/python/tests/test_compile.py`).

use kernelwright_evaluate::{CompileRequest, KernelCompiler};
use kernelwright_protocol::{CompilationStatus, CompileOutcome, Compiled};

const PROBLEM: &str = "
import torch
class Model(torch.nn.Module):
    def forward(self, a, b):
        return a @ b
def get_inputs():
    return [torch.randn(512, 512, dtype=torch.float16), torch.randn(512, 512, dtype=torch.float16)]
";

/// A matrix product with four stages of tiles in shared memory: 96 KiB and more.
const MATMUL: &str = r"
import torch, triton, triton.language as tl
@triton.jit
def matmul(a, b, c, K, N, M: tl.constexpr, BLOCK: tl.constexpr, STEP: tl.constexpr):
    rows, cols, inner = tl.program_id(0) * M + tl.arange(0, M), tl.program_id(1) * BLOCK + tl.arange(0, BLOCK), tl.arange(0, STEP)
    total = tl.zeros((M, BLOCK), tl.float32)
    for k in range(0, K, STEP):
        left = tl.load(a + rows[:, None] * K + (k + inner)[None, :])
        total += tl.dot(left, tl.load(b + (k + inner)[:, None] * N + cols[None, :]))
    tl.store(c + rows[:, None] * N + cols[None, :], total.to(tl.float16))
class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        c = torch.empty_like(a)
        matmul[(4, 4)](a, b, c, 512, 512, M=128, BLOCK=128, STEP=64, num_warps=8, num_stages=4)
        return c
";

#[tokio::test]
async fn a_kernel_that_fits_one_part_and_not_another_says_so_and_leaves_its_code() {
    let cache = tempfile::tempdir().unwrap();
    let subject = KernelCompiler::new(kernelwright_tests::settings(cache.path()));
    let targets = ["h200", "gfx942"].map(|name| name.parse().unwrap()).to_vec();
    let request = CompileRequest { problem_source: PROBLEM.to_owned(), candidate_source: MATMUL.to_owned(), targets };
    let report = subject.compile(&request, &|_| {}).await.unwrap();
    assert_eq!(report.status, CompilationStatus::ExceedsLimits, "{report:#?}");
    let [hopper, cdna] = report.architectures.as_slice() else { panic!("{report:#?}") };
    assert_eq!(hopper.status, CompilationStatus::Ok);
    let CompileOutcome::Ok(compiled) = &hopper.kernels[0].outcome else { panic!("{hopper:#?}") };
    let Compiled { figures, occupancy, artifacts, .. } = compiled;
    assert!(figures.shared().0 >= 96 << 10 && figures.registers.is_some() && occupancy.is_some(), "{compiled:#?}");
    let kinds: Vec<_> = artifacts.iter().map(|artifact| artifact.kind.as_str()).collect();
    assert_eq!(kinds, ["ttgir", "llir", "ptx", "sass", "cubin"]);
    let sass = artifacts[3].uri.rsplit('/').next().unwrap();
    let text = std::fs::read_to_string(subject.artifact_folder().join(sass)).unwrap();
    assert!(text.contains("HGMMA"), "{}", &text[..500.min(text.len())]);
    let CompileOutcome::ExceedsLimits { exceeds, compiled } = &cdna.kernels[0].outcome else { panic!("{cdna:#?}") };
    assert!(exceeds[0].starts_with("shared memory: ") && exceeds[0].ends_with(" of 64.0 KiB"), "{exceeds:?}");
    assert_eq!(compiled.artifacts[2].kind, "amdgcn");
}
