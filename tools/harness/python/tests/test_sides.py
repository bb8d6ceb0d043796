"""CUDA sources whose sides are compiled apart: what the host's side depends on, and which commands run."""

from __future__ import annotations

import ctypes
import shutil
import stat
import subprocess
import tempfile
import unittest
from pathlib import Path

import support  # noqa: F401  # the path of the package

from kernelwright_worker import builder, device_bodies, device_section, nvcc_sides

HEADER = '# 1 "/cuda/header.h" 1\n__attribute__((device)) float of_header(float x) { return x; }\n# 2 "cuda.cu" 2\n'
KERNEL = "__attribute__((global)) void k(float* x) { x[0] = 1; }\nvoid run(float* x) { k<<<1, 1>>>(x); }\n"


def without(text: str) -> str:
    return device_bodies.without(f'# 1 "cuda.cu"\n{text}', "cuda.cu")


class Bodies(unittest.TestCase):
    def test_what_a_kernel_does_and_where_it_stands_is_left_out(self) -> None:
        other = HEADER + "\n\n" + KERNEL.replace("x[0] = 1;", '\n#pragma unroll\n for (int i = 0; i < 4; i++) { x[i] = f("}"); }\n# 20 "cuda.cu"\n')
        self.assertEqual(without(HEADER + KERNEL), without(other))
        self.assertTrue(without(HEADER + KERNEL).endswith("void k(float* x) {}\nvoid run(float* x) { k<<<1, 1>>>(x); }\n"))
        self.assertIn("of_header(float x) { return x; }", without(HEADER + KERNEL))

    def test_what_the_host_has_is_not(self) -> None:
        for before, after in (("<<<1, 1>>>", "<<<2, 1>>>"), ("float* x) {", "float* y) {"), ("void k(", "void other(")):
            self.assertNotEqual(without(HEADER + KERNEL), without(HEADER + KERNEL.replace(before, after, 1)))
        self.assertNotEqual(without(HEADER + KERNEL), without(HEADER.replace("return x", "return 2 * x") + KERNEL))

    def test_bodies_of_the_device_alone_are_left_out(self) -> None:
        device, both = "__attribute__((device))", "__attribute__((host)) __attribute__((device))"
        for function in (
            f"template <int N = 4> static {device} float f(float (&x)[N]) {{ return x[N - 1]; }}",
            f"struct S {{ public: {device} inline __attribute__((always_inline)) float operator()(float x) const noexcept {{ return x; }} }};",
            "namespace { __attribute__((global)) void __attribute__((launch_bounds(128))) f(float* x) { if (x) { return; } } }",
        ):
            self.assertIn("{}", without(function))
            self.assertNotIn("return", without(function))
        for function in (
            f"{both} float f(float x) {{ return x; }}",
            f"constexpr {device} int f() {{ return 4; }}",
            f"{device} auto f(float x) {{ return x; }}",
            f"struct S {{ {device} S(int a) : a(a) {{ f(); }} int a; }};",
            f"auto f = [] {device} (float x) {{ return x; }};",
            f"{device} float table[] = {{ 1.0f }};",
            f"{device} float f(float x) {{\n#pragma GCC diagnostic push\n return x; }}",
            f"std::integral_constant<int, int{{}}> {device} f() {{ return {{}}; }}",
            f'const char* text = R"({{)"; {device} void f() {{ g(); }}',
        ):
            self.assertEqual(without(function).split("\n", 1)[1].strip(), function)

    def test_a_source_that_can_ask_for_its_lines_keeps_them(self) -> None:
        text = f'# 1 "cuda.cu"\nint line = __builtin_LINE();\n{KERNEL}'
        self.assertEqual(device_bodies.without(text, "cuda.cu"), text)

    def test_what_goes_on_behind_a_header_is_left_alone(self) -> None:
        text = "__attribute__((host))\n" + HEADER + "__attribute__((device)) float f(float x) { return x; }\n"
        self.assertIn("float f(float x) { return x; }", without(text))


class Commands(unittest.TestCase):
    """An nvcc that says what it would run, with programs that are the shell's."""

    def make(self, folder: Path, body: str, make_host: bool, fails: str = "", said: str | None = None) -> tuple[dict, dict | None]:
        programs = folder / "programs"
        programs.mkdir(exist_ok=True)
        compiler = 'for last; do :; done\ncase "$*" in *-E*) cp cuda.cu "$last" ;; *) echo object > "$last" ;; esac'
        front = 'cp "$1" "$2"; cat host/cuda.module_id >> "$2"'
        cicc = f"grep -c global cuda.cu > passes/cuda.cudafe1.stub.c; echo '# 7 \"cuda.cu\"' >> passes/cuda.cudafe1.stub.c; grep . {folder}/extra >> passes/cuda.cudafe1.stub.c; true"
        for name, text in {"gcc": compiler, "cudafe++": front, "cicc": cicc, "ptxas": "true", "fatbinary": "echo code > passes/cuda.fatbin"}.items():
            self.script(programs / name, f"echo {name} >> {folder}/ran\n[ {name} != '{fails}' ] || {{ echo '{name}: error: no'; exit 2; }}\n{text}")
        lines = [
            "gcc -E cuda.cu -o passes/cuda.cpp4.ii",
            'cudafe++ passes/cuda.cpp4.ii passes/cuda.cudafe1.cpp --gen_module_id_file --module_id_file_name "passes/cuda.module_id"',
            "gcc -E cuda.cu -o passes/cuda.cpp1.ii",
            'cicc --module_id_file_name "passes/cuda.module_id" passes/cuda.cpp1.ii',
            "ptxas cuda.ptx",
            "fatbinary cuda.cubin",
            "gcc -c passes/cuda.cudafe1.cpp -o cuda.o",
        ]
        nvcc = self.script(folder / "nvcc", f"echo nvcc >> {folder}/ran\necho '#$ PATH={programs}:'\"$PATH\" >&2\n" + "\n".join(f"echo '#$ {line}' >&2" for line in lines))
        source = f"# 1 \"cuda.cu\"\n__attribute__((global)) void k(float* x) {{ {body} }}\nvoid run() {{ }}\n"
        (folder / "ran").write_text("")
        (folder / "extra").touch()
        (folder / "build").mkdir(exist_ok=True)
        for left in (folder / "build").glob("*.o"):
            left.unlink()
        apart = builder._Apart()
        request = {"folder": f"{folder}/build", "argv": [str(nvcc), "-c", "@BUILD@/cuda.cu"], "sources": {"cuda.cu": source}, "device_object": "cuda.device.o"}
        request["said"] = said
        begun = apart.begin(request, [])
        return begun, apart.finish({"make_host": make_host}, []) if begun["text"] else None

    def script(self, path: Path, text: str) -> Path:
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return path

    def test_another_body_needs_the_devices_side_alone(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            objects = lambda: sorted(path.name for path in (folder / "build").glob("*.o"))  # noqa: E731
            first = self.make(folder, "x[0] = 1;", make_host=True)
            self.assertEqual(first[1]["status"], 0, first)
            self.assertEqual(objects(), ["cuda.device.o", "cuda.o"])
            second = self.make(folder, "x[0] = 2;\n", make_host=False)
            self.assertEqual((first[0], first[1]), second)
            self.assertEqual(objects(), ["cuda.device.o"])
            self.assertNotIn("cudafe++", (folder / "ran").read_text())
            # A kernel more, to launch or to register, is another stub.
            (folder / "extra").write_text("another\n")
            self.assertNotEqual(self.make(folder, "x[0] = 2;", make_host=False)[1]["stub"], first[1]["stub"])

    def test_what_nvcc_would_run_is_asked_once(self) -> None:
        with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as another:
            begun, ended = self.make(Path(one), "x[0] = 1;", make_host=True)
            self.assertNotIn(one + "/build", begun["said"])
            known = begun["said"].replace(one, another)
            self.assertEqual(self.make(Path(another), "x[0] = 1;", make_host=True, said=known), ({**begun, "said": known}, ended))
            self.assertIn("nvcc", (Path(one) / "ran").read_text())
            self.assertNotIn("nvcc", (Path(another) / "ran").read_text())

    def test_each_side_may_fail(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            self.assertEqual(self.make(folder, "", True, fails="cudafe++")[1], {"status": 0, "output": "", "stub": None})
            refused = self.make(folder, "", True, fails="ptxas")[1]
            self.assertEqual((refused["status"], refused["output"]), (2, "ptxas: error: no\n"))
            self.assertEqual(self.make(folder, "", True, fails="cicc")[1]["status"], 2)

    def test_options_that_tie_the_sides_together(self) -> None:
        self.assertTrue(nvcc_sides.can_be_apart(["nvcc", "-O3", "--use_fast_math", "-gencode=arch=compute_90,code=sm_90", "-DG", "--expt-relaxed-constexpr"]))
        for option in ("-g", "-G", "-lineinfo", "--extended-lambda", "-rdc=true", "-dc", "--relocatable-device-code=true"):
            self.assertFalse(nvcc_sides.can_be_apart(["nvcc", option]), option)

    def test_the_host_finds_the_code_of_the_device(self) -> None:
        """The two texts that stand for what nvcc embeds, with the host's compiler itself."""
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            (folder / "fatbinary_section.h").write_text("typedef struct { int magic, version; const unsigned long long* data; void* more; } __fatBinC_Wrapper_t;\n")
            (folder / "code").write_bytes(b"\1" + bytes(7))
            (folder / "host.cpp").write_text(nvcc_sides._FATBIN.format(name="_code") + 'extern "C" int first() { return (int)*__fatDeviceText.data; }\n')
            (folder / "device.s").write_text(nvcc_sides._DEVICE_OBJECT.format(name="_code", fatbin="code", rest=3))
            subprocess.run(["c++", "-shared", "-fPIC", "-I.", "host.cpp", "device.s", "-o", "x.so"], cwd=folder, check=True)
            self.assertEqual(ctypes.CDLL(f"{folder}/x.so").first(), 1)


class Sections(unittest.TestCase):
    """Libraries whose device code is exchanged, made by the compiler that is there."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def device(self, name: str, code: bytes) -> Path:
        """An object as the device's side makes one."""
        (self.folder / "code").write_bytes(code)
        text = nvcc_sides._DEVICE_OBJECT.format(name="device_code", fatbin="code", rest=nvcc_sides._room(len(code)) - len(code))
        (self.folder / "device.s").write_text(text)
        subprocess.run(["gcc", "-c", "device.s", "-o", name], cwd=self.folder, check=True)
        return self.folder / name

    def library(self, device: Path) -> Path:
        host = 'extern const char device_code[] __attribute__((visibility("hidden")));\nconst char* code() { return device_code; }\n'
        (self.folder / "host.c").write_text(host)
        subprocess.run(["gcc", "-shared", "-fPIC", "host.c", device.name, "-o", "library.so"], cwd=self.folder, check=True)
        return self.folder / "library.so"

    def code_of(self, library: Path) -> bytes:
        # A copy: what is loaded must not be written to any more.
        code = ctypes.CDLL(shutil.copy(library, self.folder / f"{len(list(self.folder.iterdir()))}.so")).code
        code.restype = ctypes.c_char_p
        return bytes(code())

    def test_another_body_is_what_the_library_then_has(self) -> None:
        library = self.library(self.device("a.o", b"one body"))
        linked = library.read_bytes()
        self.assertTrue(device_section.exchange(library, self.device("b.o", b"another")))
        self.assertEqual(self.code_of(library), b"another")
        self.assertTrue(device_section.exchange(library, self.folder / "a.o"))
        self.assertEqual(library.read_bytes(), linked)

    def test_what_does_not_fit_is_left_as_it_is(self) -> None:
        library = self.library(self.device("a.o", b"one body"))
        linked = library.read_bytes()
        longer, none = self.device("b.o", b"x" * nvcc_sides._LEAST_ROOM), self.folder / "none.o"
        subprocess.run(["gcc", "-c", "host.c", "-o", none.name], cwd=self.folder, check=True)
        text, cut = self.folder / "text", self.folder / "cut"
        text.write_text("no object")
        cut.write_bytes((self.folder / "a.o").read_bytes()[:-100])
        for device in (longer, none, text, cut):
            self.assertFalse(device_section.exchange(library, device), device.name)
        self.assertEqual(library.read_bytes(), linked)

    def test_bodies_of_about_one_size_are_equally_long(self) -> None:
        self.assertEqual([nvcc_sides._room(size) for size in (1, 40_000, 50_000, 80_000, 90_000)], [1 << 16, 1 << 16, 1 << 17, 1 << 17, 1 << 18])


if __name__ == "__main__":
    unittest.main()
