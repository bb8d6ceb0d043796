#!/usr/bin/env python3
"""Rebuilds the retrieval corpus (OUT/<repo>/<original path>) from git clones at fixed commits.

usage: fetch_corpus.py OUT [--clones DIR]

Without --clones each repository is cloned from GitHub into a temporary folder (blobless, only the
commit named here). With --clones DIR, DIR/<owner>+<name>/repo, DIR/<name> or DIR/<name>.git is used.
The file set is decided by RULES alone (patterns over paths, suffix, size, text), so it is the same
wherever it runs, and compared with what the questions were written for at the end.
"""
import argparse
import hashlib
import pathlib
import re
import subprocess
import sys
import tempfile

#: Of the sorted lines "SHA-1  path" of all files.
EXPECTED = "2fa62f7f0d97e41d193f9f2720ea6f480c8b6b59cbd2249a3e4d63050d843623"
LIMIT = 400_000  # bytes, every file
CODE_LIMIT = 48_000  # bytes, source files other than those in LARGE
CODE = {".py", ".cu", ".cuh", ".h", ".hpp", ".cpp"}
LARGE = {"python/triton/language/core.py", "python/triton/language/semantic.py", "python/triton/experimental/gluon/language/_layouts.py",
         "include/cute/layout.hpp", "examples/python/CuTeDSL/cute/hopper/kernel/dense_gemm/dense_gemm.py", "include/flashinfer/sampling.cuh",
         "include/flashinfer/vec_dtypes.cuh", "helion/language/memory_ops.py", "helion/autotuner/config_spec.py", "cub/cub/block/block_reduce.cuh",
         "cub/cub/block/block_radix_sort.cuh", "cub/cub/block/block_exchange.cuh", "cub/cub/block/block_load.cuh", "flash_attn/flash_attn_interface.py",
         "tilelang/language/builtin.py", "tilelang/autotuner/tuner.py", "examples/deepseek_mla/README.md", "python/tutorials/gluon/01-attention-forward.py"}
SUFFIXES = {".md", ".rst", ".txt", ".py", ".cu", ".cuh", ".h", ".hpp", ".cpp", ".ipynb", ".html"}
NEVER = re.compile(r"(^|/)(LICENSE|LICENCE|CHANGELOG|CMakeLists|requirements[^/]*|CODE_OF_CONDUCT|NOTICE|conftest)(\.|$)|/generated/|(^|/)tests?/", re.I)

# name: (owner/name, commit, licence, patterns taken, patterns left out); a pattern is a regular
# expression matched from the start of the path.
RULES = {
    "triton-cpu": ("triton-lang/triton-cpu", "910ba2e98deb5180a5fb8f204f57cd6e71d2436a", "MIT",
        [r"docs/", r"README\.md", r"python/tutorials/", r"python/triton/language/", r"python/triton/experimental/gluon/", r"python/triton_kernels/", r"python/triton/runtime/", r"python/triton/tools/(compile|disasm|experimental_descriptor|tensor_descriptor|mxfp|ragged|link)", r"python/triton/(testing|compiler/compiler|errors|knobs)\.py", r"python/examples/gluon/", r"third_party/proton/(README|tutorials|proton)"],
        [r".*/__init__\.py"]),
    "cutlass": ("NVIDIA/cutlass", "7107b05535f8977f5ecb9d01ee203205b1fd9bc4", "BSD-3-Clause",
        [r"README\.md", r"media/docs/", r"python/docs/[^/]*\.html", r"python/docs/externals/00", r"examples/(0[0-9]|1[0-4]|2[3-6]|3[1-9]|4[1-9]|5[0-7]|6[1-7]|7[0-8]|8[0-9]|9[0-9]|1[0-9][0-9])_[^/]*/(README\.md|0|1|2|3|48|49|5[1-8]|6[13]_|7[0-1])[^/]*(\.cu)?$", r"examples/cute/", r"examples/python/CuTeDSL/cute/(ampere/tutorial|ampere/kernel/.*(gemm|element|flash)|hopper/kernel/dense_gemm/|notebooks|blackwell/tutorial/.*[1-4]\.py)", r"examples/python/CuTeDSL/dsl_tutorials/", r"include/cute/(algorithm|container|util)/", r"include/cute/[^/]*\.hpp", r"include/cutlass/(arch|pipeline)/", r"include/cutlass/(barrier|block_striped|cluster_launch|core_io|cutlass|device_kernel|fast_math|float8|float_subbyte|exmy_base)\.(h|hpp)$"],
        [r".*(genindex|py-modindex|search|license|changelog)", r"include/cutlass/arch/mma_s", r"include/cutlass/arch/.*(memory_sm75|simd)", r"examples/(40|52|41|44|13)_.*/.*\.(h)$", r"media/docs/cutlass_compiler/cute_dialect"]),
    "HIP": ("ROCm/HIP", "c5e11fcac8249ce4f7e70157588ff9661a870b59", "MIT",
        [r"docs/", r"README\.md"],
        [r".*license"]),
    "ROCm": ("ROCm/ROCm", "e396b4898f459db094bfd60b876f419f77eb9f09", "MIT",
        [r"docs/(how-to|conceptual|reference|compatibility)/", r"docs/what-is"],
        [r".*(cmake-packages|file-reorg)"]),
    "rocm-blogs": ("ROCm/rocm-blogs", "c9a603f2d10700ba973a4a4150374c6979a8f9d2", "none stated in the repository",
        [r"blogs/(high-performance-computing|software-tools-optimization)/.*\.(md|cpp|hpp|h|py)$", r"blogs/artificial-intelligence/(triton|flash-attention|torch_compile|pytorch-tunableop|automatic-mixed-precision|llm-inference-optimize)[^/]*/.*\.(md|py)$"],
        []),
    "rocm-examples": ("ROCm/rocm-examples", "7dfb7d402794c33031be2847eaa06ee6732f07cb", "MIT",
        [r"README", r"(HIP-Basic|Applications|Tutorials)/", r"Libraries/[^/]*/[^/]*/README", r"Libraries/(rocPRIM|hipCUB)/"],
        []),
    "composable_kernel": ("ROCm/composable_kernel", "8e22e1ae31bbf7086f69d8724e027676791d351a", "MIT",
        [r"README\.md", r"docs/", r"example/ck_tile/", r"example/(0[1-9]|1[0-9]|3[0-9])_[^/]*/(README|run_|[a-z_0-9]*(xdl|wmma)_(fp16|bf16|int8)\.)", r"include/ck_tile/core/", r"include/ck/utility/[a-d]", r"client_example/.*README", r"profiler/README"],
        [r".*/generate\.py", r"example/3[0-9]_.*\.(inc|cpp)$"]),
    "tilelang": ("tile-ai/tilelang", "a35008a42531c62b976ae4cec3855d4383db0f3c", "MIT",
        [r"README\.md", r"docs/", r"examples/(?!kda|gdn|dsa|deepseek_v32|deepseek_nsa|bitnet|dequantize_gemm/.*(mxfp|fp4)|attention_sink|deepseek_mhc|minference|seer|amd|hadamard|fusedmoe|linear)", r"tilelang/language/(?!eager|print|tir)", r"tilelang/(autotuner|carver|profiler|jit)/[^/]*\.py"],
        [r".*/__init__\.py", r".*/conf\.py"]),
    "helion": ("pytorch/helion", "ef091f416a50c443b38e4c8bff2980777f5ff225", "BSD-3-Clause",
        [r"README\.md", r"docs/", r"examples/", r"helion/language/", r"helion/autotuner/(config_fragment|config_spec|effort|pattern|random|finite|de_|differential|settings|logger|README|local_cache|benchmarking|progress)", r"helion/runtime/[a-z]*\.py", r"helion/(exc|_testing)\.py"],
        [r".*/__init__\.py", r".*/conf\.py", r"examples/linear/_", r"examples/distributed", r"helion/language/_"]),
    "cuda-samples": ("NVIDIA/cuda-samples", "c94ff366aed18c797b8a85dfaac7817b0228b420", "BSD-3-Clause",
        [r"README\.md", r"Samples/(0_Introduction|1_Utilities|3_CUDA_Features|6_Performance)/.*\.(md|cu|cuh)$", r"Samples/2_Concepts_and_Techniques/(reduction|scan|shfl_scan|histogram|scalarProd|threadFenceReduction|convolutionSep|radixSort|inlinePTX|streamOrdered|reductionMultiBlockCG|boxFilter)[^/]*/.*\.(md|cu|cuh|h)$", r"Samples/4_CUDA_Libraries/.*\.md$", r"Samples/5_Domain_Specific/(.*S|.*F|n).*README\.md$", r"Samples/5_Domain_Specific/(BlackScholes|FDTD3d|nbody|fastWalsh)[^/]*/.*\.(cu|cuh)$"],
        []),
    "gpu-glossary": ("modal-labs/gpu-glossary", "ec7919a49dc8a06818fb17fea6b1f737ed7f7007", "CC-BY-4.0 (gpu-glossary/), MIT (rest)",
        [r""],
        []),
    "DeepGEMM": ("deepseek-ai/DeepGEMM", "54e22612409371d6364144b69086735beb54e98b", "MIT",
        [r"README\.md", r"docs/", r"deep_gemm/", r"csrc/", r"tests/"],
        []),
    "flashinfer": ("flashinfer-ai/flashinfer", "fb28d7242b3506a2348265962041acc1fb56cca4", "Apache-2.0",
        [r"README\.md", r"(CLAUDE|AGENTS)\.md", r"docs/", r"include/flashinfer/(?!topk|cutlass)[^/]*\.(cuh|h)$", r"include/flashinfer/attention/(cascade|default|mask|state|scheduler|variant|heap|decode|persistent)[^/]*\.cuh", r"flashinfer/triton/", r"flashinfer/(page|norm|activation|cascade|api_logging)\.py", r"benchmarks/README", r".*/README\.md", r"\.claude/skills"],
        []),
    "ThunderKittens": ("HazyResearch/ThunderKittens", "0b55588d2769dde0c7a9a606ffc015b0ca7a9551", "MIT",
        [r"[^/]*\.md", r"docs/", r"include/(ops/thread|ops/group/(mma|memory)|types|common)/", r"kernels/.*\.(cu|cuh|md)$"],
        [r".*flux", r"kernels/(fftconv|mamba2|based|hedgehog|rotary|layernorm|linear|torch_scaled|parallel/(ulysses|ring))"]),
    "cccl": ("NVIDIA/cccl", "571f2fc3bc53cd710e306ad43d58995c1fe4219f", "Apache-2.0 WITH LLVM-exception and others",
        [r"README\.md", r"docs/(cub|thrust|cccl|libcudacxx/(extended_api/(asynch|barr|memory|mdspan|synch|shapes|math|bit)|runtime)|python)", r"docs/libcudacxx/ptx/instructions/[^/]*\.rst", r"cub/cub/(block|warp)/(block|warp)_(reduce|scan|load|store|exchange|radix_sort|histogram|shuffle|merge|discont)[^/]*\.cuh", r"cub/examples/", r"thrust/examples/[^/]*\.cu"],
        [r".*/development/"]),
    "flash-attention": ("Dao-AILab/flash-attention", "0251105a2fb19d2957484b7f023cd8c115286ced", "BSD-3-Clause",
        [r"README\.md", r"AI/", r"usage\.md", r"hopper/(tile_scheduler|softmax|mask|epilogue|named_barrier|utils|pack_gqa|paged_kv|block|seqlen|rotary)[^/]*\.(h|hpp|md|py)$", r"flash_attn/cute/(README|[^/]*\.md|softmax|mask|pipeline|tile_sched|barrier|named|seqlen|utils|fast_math|cache|copy|ampere|hopper)", r"flash_attn/(flash_attn_interface|bert|flash_attn_triton)[^/]*\.py", r"csrc/flash_attn/src/[a-z_]*\.h", r"flash_attn/(ops|utils)/", r"benchmarks/"],
        [r".*/__init__\.py"]),
    "Liger-Kernel": ("linkedin/Liger-Kernel", "ead96b618e5c67bddc6a6e9bcb99bfe6b5ab661c", "BSD-2-Clause",
        [r"README\.md", r"docs/", r"src/liger_kernel/ops/[^/]*\.py", r"src/liger_kernel/chunked_loss/", r"src/liger_kernel/[^/]*\.py", r"benchmark/[^/]*\.(md|py)$", r"\.agents/skills"],
        [r".*/__init__\.py"]),
    "Fuser": ("NVIDIA/Fuser", "81c4b22fd750d377d69e24928c32233162f6b2bd", "BSD-3-Clause",
        [r"README\.md", r"doc/.*\.(md|py|ipynb|rst)$"],
        [r".*/conf\.py"]),
    "numba-cuda": ("NVIDIA/numba-cuda", "b18b944b2f88a4e840424e49a1b0d29488263b40", "BSD-2-Clause",
        [r"README\.md", r"docs/source/"],
        [r".*/conf\.py"]),
    "lectures": ("gpu-mode/lectures", "7cb40f67ad68f59a7c13e9a8c4d8a816a3c68e7a", "Apache-2.0",
        [r"README\.md", r"lecture_0(0|1|25|29|3)"],
        [r".*/tmp/", r".*output_triton_code", r".*test\.py"]),
    "SGEMM_CUDA": ("siboehm/SGEMM_CUDA", "60cba6f9b20a198116c76f18de8047f44df8c8b8", "MIT",
        [r""],
        [r".*benchmark_results"]),
}

def git(d, *a):
    return subprocess.run(["git", "--git-dir", str(d), *a], check=True, stdout=subprocess.PIPE).stdout

def clone(owner_name, commit, clones, tmp):
    name = owner_name.split("/")[1]
    if clones:
        for c in (clones / owner_name.replace("/", "+") / "repo", clones / name / ".git", clones / name, clones / (name + ".git")):
            if (c / "HEAD").exists():
                return c
    d = tmp / (name + ".git")
    subprocess.run(["git", "init", "-q", "--bare", str(d)], check=True)
    subprocess.run(["git", "--git-dir", str(d), "fetch", "-q", "--depth", "1", f"https://github.com/{owner_name}", commit], check=True)
    return d

def main():
    p = argparse.ArgumentParser()
    p.add_argument("out", type=pathlib.Path)
    p.add_argument("--clones", type=pathlib.Path)
    a = p.parse_args()
    rows, manifest = [], []
    with tempfile.TemporaryDirectory() as t:
        for name, (owner_name, commit, licence, take, leave) in RULES.items():
            d = clone(owner_name, commit, a.clones, pathlib.Path(t))
            take_re = re.compile("|".join(f"(?:{x})" for x in take))
            leave_re = re.compile("|".join(f"(?:{x})" for x in leave)) if leave else None
            want = []
            for line in git(d, "ls-tree", "-r", "-l", "-z", commit).decode().split("\0"):
                if not line:
                    continue
                meta, path = line.split("\t", 1)
                mode, kind, sha, size = meta.split()
                if kind != "blob" or mode == "120000" or not size.isdigit() or not 40 <= int(size) <= LIMIT:
                    continue
                if pathlib.PurePosixPath(path).suffix.lower() not in SUFFIXES or NEVER.search(path):
                    continue
                if pathlib.PurePosixPath(path).suffix in CODE and int(size) > CODE_LIMIT and path not in LARGE:
                    continue
                if not take_re.match(path) or (leave_re and leave_re.match(path)):
                    continue
                want.append((path, sha))
            batch = subprocess.run(["git", "--git-dir", str(d), "cat-file", "--batch"], check=True, stdout=subprocess.PIPE,
                                   input="".join(s + "\n" for _, s in want).encode()).stdout
            at, files, size = 0, 0, 0
            for path, sha in want:
                end = batch.index(b"\n", at)
                n = int(batch[at:end].split()[2])
                data = batch[end + 1:end + 1 + n]
                at = end + 2 + n
                try:
                    data.decode("utf-8")
                except UnicodeDecodeError:
                    continue
                if b"\0" in data:
                    continue
                f = a.out / name / path
                f.parent.mkdir(parents=True, exist_ok=True)
                f.write_bytes(data)
                files, size = files + 1, size + n
                manifest.append(f"{hashlib.sha1(data).hexdigest()}  {name}/{path}")
            rows.append((name, owner_name, commit, licence, files, size))
    print("| folder | repository | commit | licence | files | bytes |\n| --- | --- | --- | --- | --- | --- |")
    for r in rows:
        print("| " + " | ".join(f"{x:,}" if isinstance(x, int) else x for x in r) + " |")
    print(f"| all | | | | {sum(r[4] for r in rows):,} | {sum(r[5] for r in rows):,} |")
    text = "\n".join(sorted(manifest)) + "\n"
    if hashlib.sha256(text.encode()).hexdigest() != EXPECTED:
        print("the file set is not the one that the questions were written for", file=sys.stderr)
        sys.exit(1)


if __name__ == "__main__":
    main()
