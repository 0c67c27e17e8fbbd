"""A file is written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from graphsieve.errors import InputError


def replace_file(path: Path, content: str | bytes) -> None:
    """Write to a temporary file beside `path` and move it there, so that no reader ever sees half of it."""
    if path.is_dir():
        raise InputError(f"{path} is a folder; name a file in it.")
    if not path.parent.is_dir():
        raise InputError(f"the folder {path.parent} does not exist; create it first, or write elsewhere.")
    data = content.encode("utf-8", errors="backslashreplace") if isinstance(content, str) else content
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".graphsieve-", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.chmod(name, _mode(path))
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _mode(path: Path) -> int:
    """Who may read and write: as for the file that is replaced, or else as for any file that this process makes."""
    if path.is_file() and not path.is_symlink():
        return path.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
