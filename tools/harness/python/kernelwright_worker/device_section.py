"""The device's code of a library, exchanged for that of an object: a library that differs from another one in nothing else need not be linked.

Both files are what compilers have made of a candidate's sources and flags: where they are of another form, nothing is exchanged.
"""

from __future__ import annotations

import struct
from pathlib import Path

_NAME = b".nv_fatbin"
_MAGIC = b"\x7fELF\x02\x01"
#: Of an ELF file: where its section headers lie, how long one of them is, how many there are and which one has their names.
_HEADERS, _COUNTS = struct.Struct("<Q"), struct.Struct("<HHH")
_HEADERS_AT, _COUNTS_AT = 0x28, 0x3A
#: Of a section header: its name, kind, flags, address, place in the file and length.
_SECTION = struct.Struct("<IIQQQQ")


def exchange(library: Path, device: Path) -> bool:
    """Puts the device's code of the object `device` into `library`; whether each has one such section, and both are equally long."""
    whole, code = bytearray(library.read_bytes()), device.read_bytes()
    try:
        (to,), (source,) = _sections(whole), _sections(code)
    except (struct.error, ValueError):
        return False
    if to.stop - to.start != source.stop - source.start or to.stop > len(whole) or source.stop > len(code):
        return False
    whole[to] = code[source]
    library.write_bytes(whole)
    return True


def _sections(file: bytes | bytearray) -> list[slice]:
    """Where the sections with device code lie in an ELF file of 64 bits."""
    if not file.startswith(_MAGIC):
        return []
    (start,) = _HEADERS.unpack_from(file, _HEADERS_AT)
    size, count, names = _COUNTS.unpack_from(file, _COUNTS_AT)
    headers = [_SECTION.unpack_from(file, start + number * size) for number in range(count)]
    if names >= count:
        return []
    _name, _kind, _flags, _address, names_at, names_length = headers[names]
    text = bytes(file[names_at : names_at + names_length])
    return [slice(at, at + length) for name, _kind, _flags, _address, at, length in headers if text[name:].startswith(_NAME + b"\0")]
