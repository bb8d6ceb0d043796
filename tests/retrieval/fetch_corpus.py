#!/usr/bin/env python3
"""Rebuilds a corpus that questions were written for (OUT/<folder>/<original path>) from git clones at fixed commits.

usage: fetch_corpus.py (documents.toml | unseen.toml) OUT [--clones DIR]

Without --clones each repository is cloned from GitHub into a temporary folder (blobless, only the
commit named). With --clones DIR, DIR/<owner>+<name>/repo, DIR/<name> or DIR/<name>.git is used.
The file set is decided by the corpus's rules alone (patterns over paths, suffix, size, text), so it
is the same wherever it runs, and compared with what the questions were written for at the end.
"""
import argparse
import hashlib
import pathlib
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator

LIMIT = 400_000  # bytes, every file
CODE_LIMIT = 48_000  # bytes, source files that a corpus does not name as `large`
CODE = {".py", ".cu", ".cuh", ".h", ".hpp", ".cpp"}
SUFFIXES = CODE | {".md", ".rst", ".txt", ".ipynb", ".html"}


def git(clone: pathlib.Path, *arguments: str, text: bytes | None = None) -> bytes:
    return subprocess.run(["git", "--git-dir", str(clone), *arguments], check=True, stdout=subprocess.PIPE, input=text).stdout


def clone_of(repository: str, commit: str, clones: pathlib.Path | None, scratch: pathlib.Path) -> pathlib.Path:
    """A git directory that has the commit."""
    name = repository.split("/")[1]
    if clones:
        for known in (clones / repository.replace("/", "+") / "repo", clones / name / ".git", clones / name, clones / (name + ".git")):
            if (known / "HEAD").exists():
                return known
    clone = scratch / (name + ".git")
    subprocess.run(["git", "init", "-q", "--bare", str(clone)], check=True)
    git(clone, "fetch", "-q", "--depth", "1", f"https://github.com/{repository}", commit)
    return clone


def wanted(corpus: dict, source: dict, clone: pathlib.Path) -> list[tuple[str, str]]:
    """Path and object of each file that the rules take."""
    never = re.compile(corpus["never"], re.IGNORECASE)
    take, leave = (re.compile("|".join(f"(?:{pattern})" for pattern in source[key]) or r"(?!)") for key in ("take", "leave"))
    files = []
    for line in git(clone, "ls-tree", "-r", "-l", "-z", source["commit"]).decode().split("\0"):
        if not line:
            continue
        facts, path = line.split("\t", 1)
        mode, kind, name, size = facts.split()
        if kind != "blob" or mode == "120000" or not size.isdigit() or not corpus["smallest"] <= int(size) <= LIMIT:
            continue
        suffix = pathlib.PurePosixPath(path).suffix
        if suffix.lower() not in SUFFIXES or never.search(path):
            continue
        if suffix in CODE and int(size) > CODE_LIMIT and path not in corpus["large"]:
            continue
        if take.match(path) and not leave.match(path):
            files.append((path, name))
    return files


def contents(clone: pathlib.Path, files: list[tuple[str, str]]) -> Iterator[tuple[str, str, bytes]]:
    """Path, object and bytes of those that are text."""
    batch = git(clone, "cat-file", "--batch", text="".join(name + "\n" for _, name in files).encode())
    at = 0
    for path, name in files:
        start = batch.index(b"\n", at) + 1
        size = int(batch[at:start].split()[2])
        data = batch[start:start + size]
        at = start + size + 1
        try:
            data.decode("utf-8")
        except UnicodeDecodeError:
            continue
        if b"\0" not in data:
            yield path, name, data


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("corpus", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--clones", type=pathlib.Path)
    arguments = parser.parse_args()
    corpus = tomllib.loads(arguments.corpus.read_text())
    rows, manifest, seen = [], [], set()
    with tempfile.TemporaryDirectory() as scratch:
        for source in corpus["source"]:
            clone = clone_of(source["repository"], source["commit"], arguments.clones, pathlib.Path(scratch))
            count = size = 0
            for path, name, data in contents(clone, wanted(corpus, source, clone)):
                if corpus["is_distinct"] and name in seen:
                    continue
                seen.add(name)
                place = arguments.out / source["folder"] / path
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(data)
                count, size = count + 1, size + len(data)
                manifest.append(f"{hashlib.sha1(data).hexdigest()}  {source['folder']}/{path}")
            rows.append((source["folder"], source["repository"], source["commit"], source["licence"], count, size))
    print("| folder | repository | commit | licence | files | bytes |\n| --- | --- | --- | --- | --- | --- |")
    for row in rows:
        print("| " + " | ".join(f"{cell:,}" if isinstance(cell, int) else cell for cell in row) + " |")
    print(f"| all | | | | {sum(row[4] for row in rows):,} | {sum(row[5] for row in rows):,} |")
    found = hashlib.sha256(("\n".join(sorted(manifest)) + "\n").encode()).hexdigest()
    if found != corpus["expected"]:
        sys.exit(f"the file set is not the one that the questions were written for: {found}")


if __name__ == "__main__":
    main()
