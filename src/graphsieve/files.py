"""A file is written whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path
from secrets import token_hex

from graphsieve.errors import InputError


def replace_file(path: Path, content: str | bytes) -> None:
    """Write to a temporary file beside `path` and move it there, so that no reader ever sees half of it."""
    if path.is_dir():
        raise InputError(f"{path} is a folder; name a file in it.")
    if not path.parent.is_dir():
        raise InputError(f"the folder {path.parent} does not exist; create it first, or write elsewhere.")
    data = content.encode("utf-8", errors="backslashreplace") if isinstance(content, str) else content
    mode = _mode(path)
    name = path.parent / f".graphsieve-{token_hex(8)}.part"
    try:
        # Rights as for any new file of this process; or as for the one that is replaced, and until then nobody's but ours.
        with open(name, "xb", opener=lambda path, flags: os.open(path, flags, 0o666 if mode is None else 0o600)) as file:
            file.write(data)
        if mode is not None:
            os.chmod(name, mode)
        os.replace(name, path)
    except BaseException:
        name.unlink(missing_ok=True)
        raise


def _mode(path: Path) -> int | None:
    """Who may read and write the file that is replaced; None where there is none."""
    return path.stat().st_mode & 0o777 if path.is_file() and not path.is_symlink() else None
