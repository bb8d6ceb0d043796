"""Files that a compilation leaves for its reader: written into the worker's own folder, fetched from there by the supervisor."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

#: Longer ones are cut; the supervisor would refuse them.
LIMIT = 8 << 20


class Artifacts:
    """A folder of files named by their content."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(exist_ok=True)

    def put(self, kind: str, content: str | bytes) -> str:
        """Keeps a file of a kind (`ptx`, `sass`, `log`, ...); its name in the folder."""
        data = content.encode() if isinstance(content, str) else bytes(content)
        if len(data) > LIMIT and isinstance(content, str):
            data = data[: LIMIT - 64].rpartition(b"\n")[0] + b"\n[cut here]\n"
        name = f"{hashlib.sha256(data).hexdigest()[:16]}.{kind}"
        path = self._folder / name
        if not path.exists():
            partial = path.with_suffix(f".{os.getpid()}")
            partial.write_bytes(data)
            partial.rename(path)
        return name
