"""From what a person names (a path, ``-``, a stream) to bytes: decompressed, counted, bounded,
and never taken from a device.
"""

from __future__ import annotations

import errno
import gzip
import importlib
import io
import os
import re
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from graphsieve._base.errors import InputError, InputTypeError, UsageError
from graphsieve._base.optional import needed
from graphsieve._base.parameters import boolean, count, either, nearest, one_line, quoted
from graphsieve._base.progress import Progress
from graphsieve._base.warning_filters import warnings_ignored

HEAD = 2**16  # bytes that tell the format
AT_ONCE = 2**18
NAME = 100  # bytes in memory of the name of a column that the file does not name
ZSTD_AT_ONCE = 2**9  # compressed bytes; a block of a few can stand for 128 kB

# Not all on every system
_DISK = {getattr(errno, name) for name in ("EIO", "ESTALE", "EREMOTEIO") if hasattr(errno, name)}

Source = str | os.PathLike[str] | IO[bytes]


class ByteSource(io.RawIOBase):
    """The bytes of the table, from its first one, decompressed; `head` is what it begins with."""

    def __init__(self, name: str, stream: Any, most: int, seekable: Any = None) -> None:
        super().__init__()
        self.name = name
        self.offset = 0  # bytes given out
        self._stream = stream
        self._most = most
        self._file = seekable
        # Bytes taken from the stream, of which the first are looked at before they are given out
        self._read = 0
        self.head = _read_fully(self._guarded, HEAD)
        self._ahead = memoryview(self.head)

    def readable(self) -> bool:
        """It can be read."""
        return True

    def readinto(self, target: Any) -> int:
        """The next bytes; an error where there are more than anybody wants."""
        if len(self._ahead):
            part: Any = self._ahead[: len(target)]
            self._ahead = self._ahead[len(part) :]
        else:
            part = self._guarded(min(len(target), AT_ONCE))
            self.check_size(self._read)
        target[: len(part)] = part
        self.offset += len(part)
        return len(part)

    def check_size(self, n_bytes: int) -> None:
        """Raise if what is to come into memory is too much."""
        if n_bytes > self._most:
            raise InputError(
                f"{self.name} holds more than {self._most:,} bytes once it is decompressed; "
                "raise --max-bytes if it is meant to be so large."
            )

    def seekable_file(self) -> Any:
        """A file that can be read in any order: the one on the disk, or all bytes in memory."""
        if self._file is None:
            self._file = io.BytesIO()
            while part := self.read(AT_ONCE):
                self._file.write(part)
        self.check_size(self._file.seek(0, io.SEEK_END))
        self._file.seek(0)
        return self._file

    def _guarded(self, size: int) -> bytes:
        try:
            part = bytes(self._stream.read(size) or b"")
            self._read += len(part)
            return part
        except InputError:
            raise
        except OSError as error:
            if isinstance(error, gzip.BadGzipFile):
                raise InputError(f"{self.name} is damaged: {words(error)}; get it again.") from None
            raise InputError(
                f"{self.name} cannot be read beyond byte {self._read}: "
                f"{error.strerror or words(error)}; get it again."
            ) from None
        except Exception as error:  # whatever a decompressor says
            raise InputError(f"{self.name} is damaged: {words(error)}; get it again.") from None


class _Counted:
    """The bytes as they lie on the disk, and a word about how many were read."""

    def __init__(self, stream: Any, size: int | None, progress: Progress) -> None:
        self._stream, self._size, self._progress = stream, size, progress
        self._read = 0

    def read(self, size: int = -1) -> bytes:
        part = self._stream.read(size)
        if not isinstance(part, bytes | type(None)):
            raise InputTypeError("the stream gives text; open it in binary mode, or name the file.")
        part = part or b""
        self._read += len(part)
        of_all = "" if self._size is None else f" of {self._size / 1e6:.1f} MB"
        self._progress.tell(f"{self._read / 1e6:.1f} MB{of_all}")
        return bytes(part)


class _ZstdFrames:
    """Frames of the package zstandard, one after the other; its own reader takes a file that was
    cut for a whole one.
    """

    def __init__(self, name: str, stream: Any, package: Any) -> None:
        self._name, self._stream, self._package = name, stream, package
        self._frame: Any = None
        self._waiting = bytearray()  # compressed
        self._ready = bytearray()

    def read(self, size: int) -> bytes:
        while not self._ready and self._more():
            pass
        part = bytes(self._ready[:size])
        del self._ready[:size]
        return part

    def _more(self) -> bool:
        """Decompress a little; False at the end."""
        if not self._waiting:
            self._waiting += self._stream.read(AT_ONCE)
        if not self._waiting:
            if self._frame is not None:
                raise InputError(
                    f"{self._name} is damaged: its last zstd frame is cut; get it again."
                )
            return False
        part = bytes(self._waiting[:ZSTD_AT_ONCE])
        del self._waiting[:ZSTD_AT_ONCE]
        self._frame = self._frame or self._package.ZstdDecompressor().decompressobj()
        try:
            self._ready += self._frame.decompress(part)
        except self._package.ZstdError as error:
            raise InputError(f"{self._name} is damaged: {words(error)}; get it again.") from None
        if self._frame.eof:
            self._waiting[:0] = self._frame.unused_data
            self._frame = None
        return True


def name_of(source: Source) -> str:
    """What people call the source: a base name without line breaks and the like."""
    if isinstance(source, str) and source == "-":
        return "standard input"
    if isinstance(source, str | os.PathLike):
        name = Path(source).name or str(Path(source))
    else:
        given = getattr(source, "name", None)
        name = (
            Path(given).name
            if isinstance(given, str) and not given.startswith("<")
            else "the stream"
        )
    try:
        readable = os.fsencode(name).decode("utf-8", errors="backslashreplace")
    except UnicodeError:
        raise UsageError(
            f"there is no file {quoted(name)}, since no name of a file can hold half a character."
        ) from None
    return "".join(character if character.isprintable() else "·" for character in readable)


@contextmanager
def opened(source: Source, *, max_bytes: int | None, progress: bool | None) -> Iterator[ByteSource]:
    """The bytes of the source; where a file has changed by the end, an error."""
    max_bytes, progress = (
        either(None, count(0))("max_bytes", max_bytes),
        either(None, boolean())("progress", progress),
    )
    name, most = name_of(source), default_max_bytes() if max_bytes is None else max_bytes
    with Progress(f"reading {name}", progress) as said:
        if isinstance(source, str) and source == "-":
            if sys.stdin is None:
                raise UsageError("there is no standard input; name a file.")
            yield _bytes_of(name, _Counted(sys.stdin.buffer, None, said), most)
        elif isinstance(source, str | os.PathLike):
            with _file(source, name) as file:
                before = os.fstat(file.fileno())
                regular = stat.S_ISREG(before.st_mode)
                counted = _Counted(file, before.st_size if regular else None, said)
                yield _bytes_of(name, counted, most, file if regular else None)
                after = os.fstat(file.fileno())
                if regular and (before.st_size, before.st_mtime_ns) != (
                    after.st_size,
                    after.st_mtime_ns,
                ):
                    raise InputError(
                        f"{name} changed while it was read; read it again once it is complete."
                    )
        elif hasattr(source, "read"):
            yield _bytes_of(name, _Counted(source, None, said), most)
        else:
            raise InputTypeError(
                f"the table is named by a {type(source).__name__}; expected a path, '-' or a "
                "binary stream."
            )


@contextmanager
def damage_reported(name: str, kind: str) -> Iterator[None]:
    """The readers of foreign formats raise whatever they like; a person gets one sentence."""
    try:
        with warnings_ignored():
            yield
    except (InputError, MemoryError):
        raise
    except Exception as error:
        check_disk(name, error)
        raise InputError(
            f"{name} cannot be read as {kind} ({words(error)}); write it again, or get it again."
        ) from error


def check_disk(name: str, error: Exception) -> None:
    """Raise where it was the disk that failed, not what is in the file."""
    told = re.search(r"\[Errno (\d+)\]", str(error))  # Arrow hands over the text alone
    number = int(told[1]) if told and isinstance(error, OSError) else None
    if number is not None and number in _DISK:
        raise InputError(f"{name} cannot be read: {os.strerror(number)}; get it again.") from None


def default_max_bytes() -> int:
    """Twice the memory of the machine."""
    try:
        return 2 * os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # not on every system
        return 2**36


def _file(source: str | os.PathLike[str], name: str) -> Any:
    """The file opened for reading, if it is one."""
    try:
        mode = os.stat(source).st_mode
        if stat.S_ISDIR(mode):
            raise UsageError(f"{name} is a folder; name a file in it.")
        if stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
            raise UsageError(
                f"{name} is a device; name a file, or pipe into standard input and name '-'."
            )
        return open(source, "rb")
    except FileNotFoundError:
        raise UsageError(f"there is no file {quoted(name)}{_neighbour(source)}.") from None
    except (OSError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise UsageError(
            f"{name} cannot be opened: {getattr(error, 'strerror', None) or words(error)}."
        ) from None


def _neighbour(source: str | os.PathLike[str]) -> str:
    """A file in the same folder whose name is almost the one given."""
    try:
        return nearest(Path(source).name, sorted(os.listdir(Path(source).parent)))
    except OSError:
        return "; its folder does not exist either"


def _bytes_of(name: str, stream: Any, most: int, file: Any = None) -> ByteSource:
    """As they are, or decompressed where they begin like a compressed file."""
    plain = ByteSource(name, stream, most, file)
    if plain.head.startswith(b"\x1f\x8b"):
        return ByteSource(name, gzip.GzipFile(fileobj=io.BufferedReader(plain, AT_ONCE)), most)
    if plain.head.startswith(b"\x28\xb5\x2f\xfd"):
        return ByteSource(name, _zstd(name, plain), most)
    return plain


def _zstd(name: str, stream: Any) -> Any:
    if sys.version_info >= (3, 14):
        return importlib.import_module("compression.zstd").ZstdFile(stream)
    package = needed(
        "zstandard",
        f"{name} is compressed by zstd; install the package zstandard to read it, or decompress it "
        "first.",
    )
    return _ZstdFrames(name, stream, package)


def _read_fully(read: Any, size: int) -> bytes:
    """As many bytes, or all there are; a pipe gives a few at a time."""
    content = b""
    while len(content) < size and (part := read(size - len(content))):
        content += part
    return content


def words(error: BaseException) -> str:
    """What an error of somebody else says, for the middle of a sentence."""
    return one_line(str(error)).removesuffix(".") or type(error).__name__
