"""What the host's side of a CUDA source depends on: its preprocessed text without the bodies of functions that only run on the device.

After the preprocessor no macro is left that could hide what a function is for, and a line number that matters is a number in the text. Only what is
certain is left out: a body stays where anything about its function is unusual, and costs time only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_MARKER = re.compile(r'^#(?: |line )\s*\d+ "((?:[^"\\]|\\.)*)".*\n', re.MULTILINE)
_TOKEN = re.compile(
    r"""(?:u8|[uUL])?"(?:\\.|[^"\\\n])*" | (?:u8|[uUL])?'(?:\\.|[^'\\\n])*' | \.?\d(?:[eEpP][+-]|'?[\w.])* | [A-Za-z_]\w* | :: | -> | \S""", re.VERBOSE
)
_RAW_STRING = re.compile(r'(?<!\w)(?:u8|[uUL])?R"')
_BLANK = re.compile(r"[ \t]*\n\s*\n|[ \t]+\n")
#: Ways in which code asks for the line it stands on that are left after the preprocessor.
_LINES = re.compile(r"__builtin_(?:LINE|COLUMN|source_location)")
#: Words of functions whose bodies decide something for the host, or may.
_UNUSUAL = frozenset({"host", "constexpr", "consteval", "auto", "decltype", "requires", "try", "asm", ":", "->", "managed"})
#: What a function's body follows.
_BEFORE_BODY = frozenset({")", "const", "noexcept", "override", "final"})
#: What a declaration cannot begin with: what is taken for one is the rest of something else.
_NO_BEGINNING = frozenset({">", ",", ")", "]"})
_ACCESS = frozenset({"public", "private", "protected"})
#: Pragmas that concern nothing beyond the loop they stand before.
_LOCAL_PRAGMAS = frozenset({"unroll", "nounroll"})


@dataclass(frozen=True)
class _Token:
    text: str
    start: int
    end: int


def without(text: str, source: str) -> str:
    """A source's preprocessed text without those bodies, and without line numbers where nothing can ask for them; `source` is its file's name there."""
    keeps_lines = _LINES.search(text) is not None
    pieces, ends = [], True
    for is_own, piece in _pieces(text, source):
        if is_own and not keeps_lines:
            plain = _MARKER.sub("\n", piece)
            tokens = _tokens(plain)
            shorter = _without(plain, tokens) if ends else None
            if shorter is not None:
                piece = f'# 1 "{source}"\n' + _BLANK.sub("\n", shorter).lstrip()
            # What comes after the next header is the rest of what has begun here.
            ends = not tokens or tokens[-1].text in (";", "}")
        pieces.append(piece)
    return "".join(pieces)


def without_lines(text: str) -> str:
    """A text without markers that say which lines of which files it comes from."""
    return _MARKER.sub("", text)


def _pieces(text: str, source: str) -> Iterator[tuple[bool, str]]:
    """The text in stretches that come from the source itself and such that do not."""
    begin, is_own = 0, False
    for marker in _MARKER.finditer(text):
        own = marker[1] == source
        if own != is_own:
            if marker.start() > begin:
                yield is_own, text[begin : marker.start()]
            begin, is_own = marker.start(), own
    yield is_own, text[begin:]


def _tokens(text: str) -> list[_Token]:
    return [_Token(found[0], found.start(), found.end()) for found in _TOKEN.finditer(text)]


def _without(text: str, tokens: list[_Token]) -> str | None:
    """A stretch of the source without bodies; None where it cannot be read for certain."""
    if _RAW_STRING.search(text):
        return None
    matching = _matching(tokens)
    if matching is None:
        return None
    kept, at, index, beginning = [], 0, 0, 0
    while index < len(tokens):
        word = tokens[index].text
        if word in (";", "{", "}") or word == ":" and index and tokens[index - 1].text in _ACCESS:
            beginning = index + 1
        elif word == "__attribute__" and (opening := _body(tokens, matching, beginning, index)) is not None:
            closing = matching[opening]
            kept.append(text[at : tokens[opening].end])
            at, index, beginning = tokens[closing].start, closing, closing + 1
        index += 1
    return "".join(kept) + text[at:]


def _matching(tokens: list[_Token]) -> dict[int, int] | None:
    """Where each opening bracket is closed; None where they do not match."""
    pairs, found, open_ones = {")": "(", "]": "[", "}": "{"}, dict[int, int](), list[int]()
    for index, token in enumerate(tokens):
        if token.text in ("(", "[", "{"):
            open_ones.append(index)
        elif token.text in pairs:
            if not open_ones or tokens[open_ones[-1]].text != pairs[token.text]:
                return None
            found[open_ones.pop()] = index
    return None if open_ones else found


def _body(tokens: list[_Token], matching: dict[int, int], beginning: int, attribute: int) -> int | None:
    """Where the body begins of a function that this attribute makes one of the device's alone."""
    words = [token.text for token in tokens[attribute : attribute + 6]]
    if words[1:3] != ["(", "("] or words[3:4] not in (["global"], ["device"]) or words[4:] != [")", ")"]:
        return None
    if beginning < attribute and tokens[beginning].text in _NO_BEGINNING or attribute and tokens[attribute - 1].text in ("]", "="):
        return None
    index = attribute
    while index < len(tokens) and tokens[index].text not in ("{", ";", "="):
        index = matching.get(index, index) + 1
    if index >= len(tokens) or tokens[index].text != "{" or tokens[index - 1].text not in _BEFORE_BODY:
        return None
    if any(token.text in _UNUSUAL for token in tokens[beginning:index]):
        return None
    inside = range(index + 1, matching[index])
    pragmas = [tokens[at + 2].text for at in inside if tokens[at].text == "#" and at + 2 < len(tokens)]
    return index if all(pragma in _LOCAL_PRAGMAS for pragma in pragmas) else None
