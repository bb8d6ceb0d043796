"""The device part of a CUDA source: what NVRTC can compile without a host compiler and without torch's headers.

The source is cut at its top level. Kernels, device functions, types, constants and macros stay; host functions go, and so do includes of
torch and of the host's library. It is a cut, not a parse: macros that hide a definition are not seen through.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_DEVICE = re.compile(r"__(?:global|device|constant|shared|managed)__")
_HOST_NAMES = re.compile(r"\b(?:torch|at|c10|std|pybind11|py)::|\bcudaStream_t\b|\bPYBIND11_MODULE\b|\bTORCH_LIBRARY\b")
_KEPT = re.compile(r"\s*(?:template\s*<[^{;]*>\s*)?(?:struct|class|union|enum|using|typedef|constexpr|const|static\s+const(?:expr)?)\b")
_INCLUDE = re.compile(r'\s*#\s*include\s*[<"]([^>"]+)[>"]')
_DEVICE_HEADERS = re.compile(r"(?:cuda_(?:fp16|bf16|fp8|fp6|fp4|pipeline|awbarrier)\w*\.h(?:pp)?|mma\.h|cooperative_groups.*|cuda/.*|cub/.*|math_constants\.h)$")
_BLOCK = re.compile(r'\s*(?:inline\s+)?(?:namespace\b[\w\s:]*|extern\s*"C"\s*)$')
_LAUNCH = re.compile(r"([A-Za-z_][\w:]*)\s*(<[^;{}()]*?>)?\s*<<<")
_TEMPLATE_KERNEL = re.compile(r"template\s*<[^{;]*?>[^{;]*?__global__[^{;(]*?\b(\w+)\s*\(", re.DOTALL)
_BOUNDS = re.compile(r"__launch_bounds__\s*\([^)]*\)")
_WORD = re.compile(r"[A-Za-z_]\w*")
_TYPES = {
    "float", "double", "half", "__half", "__half2", "half2", "__nv_bfloat16", "__nv_bfloat162", "int", "unsigned", "long", "short", "char",
    "bool", "true", "false", "float2", "float4", "int4", "uint4", "int8_t", "uint8_t", "int32_t", "uint32_t", "int64_t", "uint64_t", "size_t",
}  # fmt: skip


@dataclass
class DevicePart:
    """What stays of a source."""

    text: str
    #: Instantiations of kernel templates that the host part launches, e.g. `k<float, 128>`.
    instances: list[str] = field(default_factory=list)
    #: Launched templates whose arguments only the host compiler knows.
    unknown: list[str] = field(default_factory=list)


def device_part(source: str) -> DevicePart:
    """Cuts a source; line numbers stay as they were."""
    kept, dropped = _filter(_without_comments(source))
    text = "".join(kept)
    templates = set(_TEMPLATE_KERNEL.findall(_BOUNDS.sub("", text)))
    known = _TYPES | set(re.findall(r"#\s*define\s+(\w+)", text)) | set(re.findall(r"\bconst(?:expr)?\s+[\w\s]+?\b(\w+)\s*=", text))
    known |= set(re.findall(r"\b(?:struct|class|enum|using)\s+(?:class\s+)?(\w+)", text))
    part = DevicePart(text)
    for name, arguments in _LAUNCH.findall("".join(dropped)):
        if name.rpartition("::")[2] not in templates:
            continue
        instance = f"{name}{' '.join(arguments.split())}"
        wanted = part.instances if arguments and set(_WORD.findall(arguments)) <= known else part.unknown
        if instance not in wanted:
            wanted.append(instance)
    launched = {instance.partition("<")[0].rpartition("::")[2] for instance in part.instances + part.unknown}
    part.unknown.extend(sorted(templates - launched))
    return part


def _without_comments(source: str) -> str:
    """Comments become blanks of as many lines; strings stay."""
    pattern = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)
    return pattern.sub(lambda found: found[0] if found[0].startswith('"') else re.sub(r"[^\n]", " ", found[0]), source)


def _filter(source: str) -> tuple[list[str], list[str]]:
    kept: list[str] = []
    dropped: list[str] = []
    for item in _items(source):
        if _stays(item):
            kept.append(item)
            continue
        head, brace, body = item.partition("{")
        if brace and _BLOCK.match(head):
            inner_kept, inner_dropped = _filter(body[: body.rindex("}")])
            kept += [head, "{", *inner_kept, "}"]
            dropped += inner_dropped
        else:
            dropped.append(item)
            kept.append("\n" * item.count("\n"))
    return kept, dropped


def _stays(item: str) -> bool:
    stripped = item.strip()
    if stripped.startswith("#"):
        include = _INCLUDE.match(item)
        return include is None or _DEVICE_HEADERS.match(include[1]) is not None
    head = item.partition("{")[0]
    if _DEVICE.search(head):
        return True
    return _KEPT.match(item) is not None and _HOST_NAMES.search(item) is None


def _items(source: str) -> list[str]:
    """Top-level items: directives, declarations up to `;`, definitions up to their closing brace."""
    items = []
    start = at = 0
    depth = 0
    is_string = False
    while at < len(source):
        char = source[at]
        if is_string:
            at += 2 if char == "\\" else 1
            is_string = char != '"'
            continue
        if char == '"':
            is_string = True
        elif char == "#" and depth == 0 and not source[start:at].strip():
            end = at
            while (end := source.find("\n", end)) != -1 and source[end - 1] == "\\":
                end += 1
            end = len(source) if end == -1 else end + 1
            items.append(source[start:end])
            start = at = end
            continue
        elif char in "{(":
            depth += 1
        elif char in "})":
            depth -= 1
        at += 1
        is_end = depth == 0 and (char == ";" or (char == "}" and _ends(source, start, at)))
        if is_end:
            items.append(source[start:at])
            start = at
    items.append(source[start:])
    return items


def _ends(source: str, start: int, at: int) -> bool:
    """Whether a closing brace ends its item: a type or an initialiser goes on to its semicolon."""
    following = source[at : at + 200].lstrip()
    head = source[start:at].partition("{")[0]
    is_type = re.match(r"\s*(?:template\s*<[^{;]*>\s*)?(?:struct|class|union|enum)\b", head) is not None and "(" not in head
    return not is_type and not following.startswith(";") and "=" not in head.rpartition(")")[2]
