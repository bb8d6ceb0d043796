"""What of torch's builds is told, what is taken from outside, and nvcc's passes."""

from __future__ import annotations

import json
import os
import stat
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from support import Failed, Worker

from kernelwright_worker import extension_build, nvcc_passes

NINJA = """ninja_required_version = 1.3
cxx = c++
cflags = {flags}
ldflags = -shared

rule compile
  command = $cxx $cflags -c $in -o $out

rule link
  command = $cxx $in $ldflags -o $out

build main.o: compile {folder}/main.cpp
build a.so: link main.o
default a.so
"""


class BuildTest(unittest.TestCase):
    def setUp(self) -> None:
        self.home = Path(self.enterContext(tempfile.TemporaryDirectory()))
        # ninja lies beside the interpreter, as it does for workers.
        path = os.pathsep.join([os.path.dirname(sys.executable), os.environ.get("PATH", os.defpath)])
        self.enterContext(mock.patch.dict(os.environ, {"HOME": str(self.home), "TMPDIR": str(self.home), "PATH": path}))

    def folder(self, name: str, source: str = "int answer() { return 42; }", flags: str = "-O1") -> Path:
        folder = self.home / name
        folder.mkdir(exist_ok=True)
        (folder / "main.cpp").write_text(source)
        (folder / "build.ninja").write_text(NINJA.format(folder=folder, flags=flags))
        return folder

    def test_a_build_reads_the_same_in_every_folder(self) -> None:
        text = extension_build.text_of(str(self.folder("one")))
        self.assertIsNotNone(text)
        self.assertEqual(text, extension_build.text_of(str(self.folder("two"))))
        build = json.loads(text or "")
        self.assertEqual(build["units"][0]["argv"], ["c++", "-O1", "-c", "@BUILD@/main.cpp", "-o", "main.o"])
        self.assertEqual(build["link"], {"argv": ["c++", "main.o", "-shared", "-o", "a.so"], "library": "a.so"})
        for other in (self.folder("three", source="int answer() { return 43; }"), self.folder("four", flags="-O2")):
            self.assertNotEqual(text, extension_build.text_of(str(other)))

    def test_what_others_cannot_repeat_has_no_text(self) -> None:
        self.folder("one")
        (self.home / "one" / "own.h").write_text("")
        refused = {
            "a header beside the source": self.folder("one", source='#include "own.h"\n'),
            "a path into the scratch folder": self.folder("two", flags=f"-I{self.home}/include"),
            "a source that names it": self.folder("three", source=f'#include "{self.home}/x.h"\n'),
            "words for a shell": self.folder("four", flags="`pkg-config --cflags x`"),
            "no build": self.home,
        }
        for what, folder in refused.items():
            with self.subTest(what):
                self.assertIsNone(extension_build.text_of(str(folder)))

    def test_what_was_built_is_taken_and_the_rest_is_left_to_torch(self) -> None:
        from torch.utils import cpp_extension

        built = self.home / "built"
        built.mkdir()
        ran: list[str] = []
        self.enterContext(mock.patch.object(cpp_extension, "_run_ninja_build", lambda folder, verbose, error_prefix: ran.append(folder)))
        extension_build.use_built(str(built))

        def named(folder: Path) -> Path:
            return built / extension_build.digest_of(extension_build.text_of(str(folder)) or "")

        here, refused, absent = self.folder("here"), self.folder("refused", flags="-O2"), self.folder("absent", flags="-O3")
        named(here).with_suffix(".so").write_bytes(b"library")
        named(refused).with_suffix(".log").write_text("main.cpp:1: error: no")
        cpp_extension._run_ninja_build(str(here), False, error_prefix="Error building extension 'a'")
        self.assertEqual((here / "a.so").read_bytes(), b"library")
        with self.assertRaisesRegex(RuntimeError, "^Error building extension 'a': main.cpp:1: error: no$"):
            cpp_extension._run_ninja_build(str(refused), False, "Error building extension 'a'")
        cpp_extension._run_ninja_build(str(absent), False, "Error")
        self.assertEqual(ran, [str(absent)])


class BuilderTest(unittest.TestCase):
    def test_a_candidate_is_followed_to_its_builds_and_no_further(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            worker = Worker("builder", folder, {"HOME": folder, "TMPDIR": folder, "TORCH_EXTENSIONS_DIR": f"{folder}/extensions"})
            self.addCleanup(worker.close)
            path = Path(folder, "candidate.py")
            path.write_text(
                "from torch.utils.cpp_extension import load_inline\n"
                "a = load_inline('a', cpp_sources='int one() { return 1; }', functions=['one'])\n"
                "b = load_inline('b', cpp_sources='int two() { return 2; }', functions=['two'])\n"
                "a.one()\nload_inline('c', cpp_sources='', functions=[])\n"
            )
            builds = [json.loads(text) for text in worker.ask("collect", path=str(path), problem="problem")["builds"]]
            self.assertEqual([build["link"]["library"] for build in builds], ["a.so", "b.so"])
            made = worker.ask("make", folder=f"{folder}/build", argv=["c++", "-c", "@BUILD@/x.cpp", "-o", "x.o"], sources={"x.cpp": "int x = y;"})
            self.assertNotEqual(made["status"], 0)
            self.assertTrue(made["output"].startswith("x.cpp:1:9: error: "), made["output"])
            with self.assertRaisesRegex(Failed, "no-such-compiler does not start"):
                worker.ask("make", folder=f"{folder}/build", argv=["no-such-compiler"])


class PassesTest(unittest.TestCase):
    PROGRAMS = ("cudafe++", "cicc", "ptxas", "fatbinary", "gcc")

    def compiler(self, folder: Path, extra: str = "") -> Path:
        """An nvcc that says what it would run, with programs that only note that they ran; `FAILS` names one that fails."""
        for name in self.PROGRAMS:
            self.script(folder / name, f'echo {name} "$@" >> ran\n[ "$FAILS" != {name} ] || {{ echo "{name}: error: no"; exit 2; }}')
        lines = [
            f"PATH={folder}:$PATH",
            "gcc -E x.cu -o passes/x.cpp4.ii",
            'cudafe++ --gen_module_id_file --module_id_file_name "passes/x.module_id" passes/x.cpp4.ii',
            "gcc -E x.cu -o passes/x.cpp1.ii",
            'cicc --module_id_file_name "passes/x.module_id" passes/x.cpp1.ii',
            "ptxas x.ptx",
            "fatbinary x.cubin",
            "gcc -c passes/x.cudafe1.cpp -o x.o",
            *([extra] if extra else []),
        ]
        said = "\n".join(f"echo '#$ {line}' >&2" for line in lines).replace("$PATH", os.environ["PATH"])
        return self.script(folder / "nvcc", said)

    def script(self, path: Path, text: str) -> Path:
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return path

    def test_both_sides_run_and_then_the_last_pass(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            (folder / "x.cu").write_text("")
            passes = nvcc_passes.split(nvcc_passes.dry_run([str(self.compiler(folder)), "-MD", "-MF", "x.d", "-c", "x.cu"], folder))
            assert passes is not None
            self.assertEqual(nvcc_passes.run(passes, folder, folder / "x.cu").status, 0)
            ran = (folder / "ran").read_text().splitlines()
            self.assertEqual(len(ran), 7)
            self.assertEqual(ran[-1], "gcc -c passes/x.cudafe1.cpp -o x.o")
            self.assertNotIn("--gen_module_id_file", " ".join(ran))
            self.assertRegex((folder / "passes" / "x.module_id").read_text(), r"^_[0-9a-f]{8}_4_x_cu_[0-9a-f]{8}$")
            passes.environment["FAILS"] = "cicc"
            self.assertEqual(nvcc_passes.run(passes, folder, folder / "x.cu"), nvcc_passes.Done(2, "cicc: error: no\n"))

    def test_another_sequence_is_left_to_nvcc(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            (folder / "x.cu").write_text("")
            for extra in ("nvlink x.o", "ptxas another.ptx"):
                self.assertIsNone(nvcc_passes.split(nvcc_passes.dry_run([str(self.compiler(folder, extra)), "-c", "x.cu"], folder)))


if __name__ == "__main__":
    unittest.main()
