"""The host's processor: topology, caches, vector units and memory as Linux tells them, and two measured rates.

Limits: Linux only. In a virtual machine the topology and the caches are what the hypervisor shows.
"""

from __future__ import annotations

import os
import platform
import re
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import torch

from .describe import output_of
from .figures import Facts, best_seconds, rate, size
from .trees import dtype_name

CPUS = Path("/sys/devices/system/cpu")
MIB = 1024 * 1024

# The extensions for which one writes different code, in rising order; `flags` (x86) or `Features` (Arm) of /proc/cpuinfo.
VECTOR_EXTENSIONS = {
    "x86_64": [
        "sse4_2", "avx", "f16c", "fma", "avx2", "avx_vnni", "avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512_vnni",
        "avx512_bf16", "avx512_fp16", "amx_tile", "amx_int8", "amx_bf16", "amx_fp16",
    ],
    "aarch64": ["asimd", "asimdhp", "asimddp", "i8mm", "bf16", "sve", "sve2", "svebf16", "sme"],
}  # fmt: skip


def describe_cpu(software: list[str]) -> dict:
    """The description of the host's processor; takes one to two seconds of measuring with torch's current number of threads."""
    facts = Facts()
    flags = vector_extensions()
    caches = cache_groups()
    _topology(facts)
    for level in caches:
        facts.read(f"{level.name} cache", level.words())
    facts.read("vector extensions", ", ".join(flags))
    facts.read("clock (maximum)", _maximum_clock())
    facts.read("NUMA nodes", len(list(Path("/sys/devices/system/node").glob("node[0-9]*"))) or None)
    facts.read("transparent huge pages", _huge_pages())
    memory = usable_memory()
    facts.read("memory", memory and size(memory))

    copy = measure_copy(facts, last_level_bytes(caches))
    products = measure_matmuls(facts, flags)
    return {
        "name": _name(),
        "arch": arch(platform.machine(), flags),
        "memory": memory,
        "copy_bytes_per_second": copy,
        "matrix_operations_per_second": products,
        "facts": facts.entries,
        "software": software,
    }


def arch(machine: str, flags: list[str]) -> str:
    """The architecture's name for compilers and packs; what kernels are vectorised by is part of it where they depend on it."""
    if machine == "aarch64" and "sve" in flags:
        return "aarch64-sve"
    if machine != "x86_64":
        return machine
    if {"avx512f", "avx512bw", "avx512dq", "avx512vl"} <= set(flags):
        return "x86_64-avx512"
    return "x86_64-avx2" if {"avx2", "fma"} <= set(flags) else "x86_64"


def vector_extensions() -> list[str]:
    """Those of the known extensions that every processor here has."""
    present = set((_cpuinfo("flags") or _cpuinfo("Features") or "").split())
    return [flag for flag in VECTOR_EXTENSIONS.get(platform.machine(), []) if flag in present]


def _name() -> str:
    """The product's name. Arm's /proc/cpuinfo has only part numbers, which lscpu knows to translate."""
    if name := _cpuinfo("model name"):
        return name
    found = re.search(r"^Model name:\s*(\S.*)$", output_of(["lscpu"]) or "", re.MULTILINE)
    return found.group(1) if found else platform.machine()


def _topology(facts: Facts) -> None:
    usable = os.sched_getaffinity(0)
    online = parse_cpu_list(_text(CPUS / "online") or "")
    facts.read("logical processors", len(online) or None)
    facts.read("physical cores", _cores(online))
    facts.read("processors kernels may use", len(usable))
    facts.read("physical cores kernels may use", _cores(usable))
    quota = cpu_quota()
    facts.read("processor time limit (cgroup)", quota and f"{quota:g} processors")
    facts.read("threads for kernels", torch.get_num_threads())


def _cores(cpus: set[int]) -> int | None:
    """How many physical cores the processors belong to; hyper-threads of a core count once."""
    cores = set()
    for cpu in cpus:
        topology = CPUS / f"cpu{cpu}" / "topology"
        package, core = _text(topology / "physical_package_id"), _text(topology / "core_id")
        if package is None or core is None:
            return None
        cores.add((package, core))
    return len(cores) or None


@dataclass(frozen=True)
class CacheLevel:
    """All instances of one kind of cache: for each, its size in bytes and the processors that share it."""

    name: str
    instances: tuple[tuple[int, frozenset[int]], ...]

    def words(self) -> str:
        """For example `1 MiB, 1 processor each, 2 instances`; a hybrid processor has one part per size."""
        kinds: dict[tuple[int, int], int] = defaultdict(int)
        for nbytes, sharers in self.instances:
            kinds[nbytes, len(sharers)] += 1
        parts = []
        for (nbytes, sharers), count in sorted(kinds.items(), reverse=True):
            shared = f"shared by {sharers} processors" if sharers > 1 else "per processor"
            parts.append(f"{size(nbytes)} {shared}, {count} {'instance' if count == 1 else 'instances'}")
        return "; ".join(parts)


def cache_groups() -> list[CacheLevel]:
    """The caches by level, L1 first."""
    found: dict[str, set[tuple[int, frozenset[int]]]] = defaultdict(set)
    for index in CPUS.glob("cpu[0-9]*/cache/index[0-9]*"):
        level, kind, nbytes = _text(index / "level"), _text(index / "type"), _cache_bytes(_text(index / "size"))
        sharers = frozenset(parse_cpu_list(_text(index / "shared_cpu_list") or ""))
        if level and nbytes and sharers:
            suffix = {"Data": "d", "Instruction": "i"}.get(kind or "", "")
            found[f"L{level}{suffix}"].add((nbytes, sharers))
    return [CacheLevel(name, tuple(sorted(found[name], key=lambda one: sorted(one[1])))) for name in sorted(found)]


def last_level_bytes(caches: list[CacheLevel]) -> int:
    """The size of all last-level caches that the usable processors reach; 0 where nothing is known."""
    if not caches:
        return 0
    usable = os.sched_getaffinity(0)
    return sum(nbytes for nbytes, sharers in caches[-1].instances if sharers & usable)


def _cache_bytes(text: str | None) -> int | None:
    found = re.fullmatch(r"(\d+)([KMG]?)", text or "")
    return int(found.group(1)) << {"": 0, "K": 10, "M": 20, "G": 30}[found.group(2)] if found else None


def parse_cpu_list(text: str) -> set[int]:
    """`0-3,8` as numbers."""
    cpus: set[int] = set()
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        cpus.update(range(int(first), int(last or first) + 1))
    return cpus


def usable_memory() -> int | None:
    """The machine's memory, or what the control group allows where that is less. Bytes."""
    found = re.search(r"^MemTotal:\s*(\d+) kB", _text(Path("/proc/meminfo")) or "", re.MULTILINE)
    limits = [int(text) for text in _cgroup_files("memory", "memory.max", "memory.limit_in_bytes") if text.isdigit()]
    return min([int(found.group(1)) * 1024] + limits) if found else None


def available_memory() -> int | None:
    """What can be allocated now without swapping. Bytes."""
    found = re.search(r"^MemAvailable:\s*(\d+) kB", _text(Path("/proc/meminfo")) or "", re.MULTILINE)
    return int(found.group(1)) * 1024 if found else None


def cpu_quota() -> float | None:
    """The control group's limit in processors; nothing where there is none."""
    quotas = []
    for text in _cgroup_files("cpu", "cpu.max", None):
        quota, _, period = text.partition(" ")
        if quota.isdigit() and period.isdigit():
            quotas.append(int(quota) / int(period))
    for quota, period in zip(_cgroup_files("cpu", None, "cpu.cfs_quota_us"), _cgroup_files("cpu", None, "cpu.cfs_period_us")):
        if quota.isdigit() and int(period) > 0:
            quotas.append(int(quota) / int(period))
    return min(quotas, default=None)


def _cgroup_files(controller: str, unified: str | None, legacy: str | None) -> list[str]:
    """The file's text in this process's control group and every group above it: a limit anywhere on the way binds.

    Inside a container the path in /proc/self/cgroup may be the host's; the groups that cannot be seen then have no file here.
    """
    texts = []
    for line in (_text(Path("/proc/self/cgroup")) or "").splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers == "" and unified:
            root, name = Path("/sys/fs/cgroup"), unified
        elif controller in controllers.split(",") and legacy:
            root, name = Path("/sys/fs/cgroup") / controller, legacy
        else:
            continue
        group = root / path.lstrip("/")
        for folder in [group, *group.parents]:
            if folder == root or root in folder.parents:
                texts.append(_text(folder / name))
    return [text for text in texts if text is not None]


def measure_copy(facts: Facts, last_level: int) -> float:
    """Bytes read plus bytes written per second of a large copy. The buffers are several times the last-level cache where memory allows."""
    room = (available_memory() or 512 * MIB) // 8
    nbytes = max(16 * MIB, min(max(4 * last_level, 64 * MIB), room, 1024 * MIB))
    source = torch.ones(nbytes // 4)
    # Written once before: the first touch of fresh pages measures the kernel's page faults.
    destination = torch.zeros_like(source)

    def once() -> None:
        destination.copy_(source)

    per_second = 2 * source.nbytes / best_seconds(once, budget_s=0.4, at_least=5)
    threads = torch.get_num_threads()
    facts.measured("copy bandwidth", f"{rate(per_second, 'B')} read plus written ({size(source.nbytes)} buffers, {threads} threads)")
    return per_second


def measure_matmuls(facts: Facts, flags: list[str], n: int = 1024) -> dict[str, float]:
    """The rates of torch's own matrix product by dtype; of the short ones, those that the processor has instructions for."""
    rates = {}
    for dtype, instructions in (
        (torch.float32, None),
        (torch.float64, None),
        (torch.bfloat16, {"avx512_bf16", "amx_bf16", "bf16", "svebf16"}),
        (torch.float16, {"avx512_fp16", "amx_fp16", "asimdhp"}),
    ):
        if instructions is None or instructions & set(flags):
            name = dtype_name(dtype)
            rates[name] = _matmul_rate(dtype, n)
            facts.measured(f"{name} matrix product", f"{rate(rates[name], 'FLOP')} (torch, {n} x {n}, {torch.get_num_threads()} threads)")
    return rates


def _matmul_rate(dtype: torch.dtype, n: int) -> float:
    a, b = (torch.randn(n, n).to(dtype) for _ in range(2))
    out = torch.empty(n, n, dtype=dtype)

    def once() -> None:
        torch.mm(a, b, out=out)

    once()
    return 2 * n**3 / best_seconds(once, budget_s=0.2)


def _maximum_clock() -> str | None:
    text = _text(CPUS / "cpu0/cpufreq/cpuinfo_max_freq")
    return f"{int(text) / 1000:.0f} MHz" if text and text.isdigit() and int(text) > 0 else None


def _huge_pages() -> str | None:
    found = re.search(r"\[(\w+)\]", _text(Path("/sys/kernel/mm/transparent_hugepage/enabled")) or "")
    return found.group(1) if found else None


def _cpuinfo(key: str) -> str | None:
    found = re.search(rf"^{re.escape(key)}\s*:\s*(\S.*)$", _text(Path("/proc/cpuinfo")) or "", re.MULTILINE)
    return found.group(1).strip() if found else None


def _text(path: Path) -> str | None:
    try:
        return path.read_text().strip()
    except OSError:
        return None
