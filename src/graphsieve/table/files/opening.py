"""Opening of a path, standard input or a stream as decompressed bytes.

The number of bytes is limited, and devices are refused.
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
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, NamedTuple

from graphsieve._base.errors import InputError, InputTypeError, UsageError
from graphsieve._base.optional import needed
from graphsieve._base.parameters import boolean, count, either, nearest, one_line, quoted
from graphsieve._base.progress import Progress
from graphsieve._base.warning_filters import warnings_ignored

HEAD = 2**16  # bytes that are used to detect the format
AT_ONCE = 2**18  # bytes per read
NAME = 100  # bytes of memory for a generated column name
# Without --max-bytes, a file may declare a table of this size plus this multiple of its bytes. The
# constant allows 2**20 columns without entries, which is the usual number of hashed features. The
# multiple is more than tables of real data reach by compression, and close to the limit of gzip.
FREE = 2**27  # bytes
PER_BYTE = 1000
MOST_GZIP_RATIO = 1032  # decompressed bytes per compressed byte
ZSTD_AT_ONCE = 2**9  # compressed bytes; a block of a few bytes can decompress to 128 kB

# Some of these errors do not exist on every system.
_DISK = {getattr(errno, name) for name in ("EIO", "ESTALE", "EREMOTEIO") if hasattr(errno, name)}

Source = str | os.PathLike[str] | IO[bytes]


class Limit(NamedTuple):
    """The largest number of bytes, and whether the user has given it."""

    most: int
    is_given: bool


class ByteSource(io.RawIOBase):
    """The decompressed bytes of the table. `head` holds the first bytes.

    Parameters
    ----------
    name : str
        Name of the file for messages.
    stream : binary stream
        The bytes.
    limit : Limit
        The limit of the number of bytes.
    seekable : binary file or None
        The file, if the bytes are those of a file on disk.
    check_unpacked : callable or None
        Raises an error if the bytes exceed the limit. It is given for compressed bytes, because
        their number is otherwise known only at the end.
    """

    def __init__(
        self,
        name: str,
        stream: Any,
        limit: Limit,
        seekable: Any = None,
        check_unpacked: Callable[[], None] | None = None,
    ) -> None:
        super().__init__()
        self.name = name
        self.offset = 0  # bytes returned so far
        self._stream = stream
        self._limit = limit
        self._file = seekable
        self._check_unpacked = check_unpacked
        self._read = 0  # bytes read from the stream, including the head
        self.head = _read_fully(self._guarded, HEAD)
        self._ahead = memoryview(self.head)

    def readable(self) -> bool:
        """Return True, as required by `io.RawIOBase`."""
        return True

    def readinto(self, target: Any) -> int:
        """Read the next bytes into `target`. Raise an error if the size limit is exceeded."""
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
        """Raise an error if this number of bytes exceeds the limit."""
        if n_bytes > self._limit.most:
            raise InputError(
                f"{self.name} holds more than {self._limit.most:,} bytes once it is decompressed; "
                "raise --max-bytes if this size is correct."
            )

    def check_whole_size(self) -> None:
        """Raise an error if all bytes together exceed the limit, before any of them is parsed.

        Parsing takes a hundred times longer than decompression. Only the end of a stream that is
        not compressed remains unknown, and there the cost is in proportion to the bytes read.
        """
        if self._check_unpacked is not None:
            self._check_unpacked()
        elif self._file is not None:
            self.check_size(_size_of(self._file))

    def check_declared(self, n_bytes: int) -> None:
        """Raise an error if a file declares more than it can hold.

        A file of a few bytes can declare a table of any size. The memory and time for it must not
        depend on what is declared, but on what was read, unless --max-bytes allows the size.
        """
        self.check_size(n_bytes)
        n_held = self._read if self._file is None else _size_of(self._file)
        if not self._limit.is_given and n_bytes > FREE + PER_BYTE * n_held:
            raise InputError(
                f"{self.name} declares a table of {n_bytes:,} bytes, but holds only {n_held:,} "
                "bytes; get it again, or set --max-bytes if this size is correct."
            )

    def seekable_file(self) -> Any:
        """Return a seekable file: the file on disk, or a copy of all bytes in memory."""
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
        except (InputError, MemoryError):
            raise
        except OSError as error:
            if isinstance(error, gzip.BadGzipFile):
                raise InputError(f"{self.name} is damaged: {words(error)}; get it again.") from None
            raise InputError(
                f"{self.name} cannot be read beyond byte {self._read}: "
                f"{error.strerror or words(error)}; get it again."
            ) from None
        except Exception as error:  # Decompressors raise errors of many types.
            raise InputError(f"{self.name} is damaged: {words(error)}; get it again.") from None


class _Counted:
    """A stream of bytes as stored on disk, which reports how many were read."""

    def __init__(self, stream: Any, size: int | None, progress: Progress) -> None:
        self._stream, self._size, self._progress = stream, size, progress
        self._read = 0

    def read(self, size: int = -1) -> bytes:
        part = self._stream.read(size)
        if not isinstance(part, bytes | type(None)):
            raise InputTypeError(
                "the stream returns text; open it in binary mode, or pass the path of the file."
            )
        part = part or b""
        self._read += len(part)
        of_all = "" if self._size is None else f" of {self._size / 1e6:.1f} MB"
        self._progress.tell(f"{self._read / 1e6:.1f} MB{of_all}")
        return bytes(part)


class _ZstdFrames:
    """Decompression of successive zstd frames with the package zstandard.

    The reader of that package does not detect truncated files.
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
        """Decompress a small part, or return False at the end of the stream."""
        if not self._waiting:
            self._waiting += self._stream.read(AT_ONCE)
        if not self._waiting:
            if self._frame is not None:
                raise InputError(
                    f"{self._name} is damaged: its last zstd frame is truncated; get it again."
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


def table_bytes(n_rows: int, n_columns: int) -> int:
    """Return the memory for the names and positions of a table, without its values."""
    return 8 * (n_rows + n_columns) + NAME * n_columns


def name_of(source: Source) -> str:
    """Return the base name of the source, with unprintable characters replaced."""
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
            f"there is no file {quoted(name)}, because a file name cannot hold half a character."
        ) from None
    return "".join(character if character.isprintable() else "·" for character in readable)


@contextmanager
def opened(source: Source, *, max_bytes: int | None, progress: bool | None) -> Iterator[ByteSource]:
    """Open the source. Raise an error if a file has changed while it was read."""
    max_bytes, progress = (
        either(None, count(0))("max_bytes", max_bytes),
        either(None, boolean())("progress", progress),
    )
    name = name_of(source)
    limit = Limit(default_max_bytes() if max_bytes is None else max_bytes, max_bytes is not None)
    with Progress(f"reading {name}", progress) as report:
        if isinstance(source, str) and source == "-":
            if sys.stdin is None:
                raise UsageError("there is no standard input; name a file.")
            yield _bytes_of(name, _Counted(sys.stdin.buffer, None, report), limit)
        elif isinstance(source, str | os.PathLike):
            with _file(source, name) as file:
                before = os.fstat(file.fileno())
                regular = stat.S_ISREG(before.st_mode)
                counted = _Counted(file, before.st_size if regular else None, report)
                yield _bytes_of(name, counted, limit, file if regular else None)
                after = os.fstat(file.fileno())
                if regular and (before.st_size, before.st_mtime_ns) != (
                    after.st_size,
                    after.st_mtime_ns,
                ):
                    raise InputError(
                        f"{name} changed while it was read; read it again once it is complete."
                    )
        elif hasattr(source, "read"):
            yield _bytes_of(name, _Counted(source, None, report), limit)
        else:
            raise InputTypeError(
                f"the table is given as a {type(source).__name__}; expected a path, '-' or a "
                "binary stream."
            )


@contextmanager
def damage_reported(name: str, kind: str) -> Iterator[None]:
    """Report any error of an external reader as an `InputError` of one sentence."""
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
    """Raise an error if the disk failed, as opposed to the content of the file."""
    # Errors of Arrow contain the error number only in their text.
    found = re.search(r"\[Errno (\d+)\]", str(error))
    number = int(found[1]) if found and isinstance(error, OSError) else None
    if number is not None and number in _DISK:
        raise InputError(f"{name} cannot be read: {os.strerror(number)}; get it again.") from None


def default_max_bytes() -> int:
    """Return twice the memory of the machine, in bytes."""
    try:
        return 2 * os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # Some systems do not report their memory.
        return 2**36


def _file(source: str | os.PathLike[str], name: str) -> Any:
    """Open a file for reading. Refuse folders and devices."""
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
        raise UsageError(f"there is no file {quoted(name)}{_suggestion(source)}.") from None
    except (OSError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise UsageError(
            f"{name} cannot be opened: {getattr(error, 'strerror', None) or words(error)}."
        ) from None


def _suggestion(source: str | os.PathLike[str]) -> str:
    """Return a hint with the file in the same folder that has the most similar name."""
    try:
        return nearest(Path(source).name, sorted(os.listdir(Path(source).parent)))
    except OSError:
        return "; its folder does not exist either"


def _bytes_of(name: str, stream: Any, limit: Limit, file: Any = None) -> ByteSource:
    """Return the bytes of the stream, decompressed if they start like a compressed file."""
    plain = ByteSource(name, stream, limit, file)
    is_gzip = plain.head.startswith(b"\x1f\x8b")
    if not is_gzip and not plain.head.startswith(b"\x28\xb5\x2f\xfd"):
        return plain
    unpacked = _gzip if is_gzip else _zstd
    # A stream is kept in memory while it is compressed, so that it can be read twice as well.
    packed = plain.seekable_file() if file is None else file
    source = ByteSource(name, packed, limit) if file is None else plain

    def check_unpacked() -> None:
        if is_gzip and MOST_GZIP_RATIO * _size_of(packed) <= limit.most:
            return
        at = packed.tell()
        packed.seek(0)
        whole = ByteSource(name, unpacked(name, ByteSource(name, packed, limit)), limit)
        buffer = bytearray(AT_ONCE)
        while whole.readinto(buffer):
            pass
        packed.seek(at)

    return ByteSource(name, unpacked(name, source), limit, check_unpacked=check_unpacked)


def _gzip(name: str, stream: Any) -> Any:
    return gzip.GzipFile(fileobj=io.BufferedReader(stream, AT_ONCE))


def _zstd(name: str, stream: Any) -> Any:
    if sys.version_info >= (3, 14):
        return importlib.import_module("compression.zstd").ZstdFile(stream)
    package = needed(
        "zstandard",
        f"{name} is compressed with zstd; install the package zstandard to read it, or decompress "
        "it first.",
    )
    return _ZstdFrames(name, stream, package)


def _size_of(file: Any) -> int:
    """Return the number of bytes of a seekable file."""
    at = file.tell()
    size = int(file.seek(0, io.SEEK_END))
    file.seek(at)
    return size


def _read_fully(read: Any, size: int) -> bytes:
    """Read this number of bytes, or all that remain. A pipe returns only a few bytes per call."""
    content = b""
    while len(content) < size and (part := read(size - len(content))):
        content += part
    return content


def decoded(name: str, content: bytes) -> str:
    """Return the text of a small file in UTF-8."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise InputError(
            f"{name} is not UTF-8 text (byte {error.start}, line {line}); save it as UTF-8."
        ) from None


def words(error: BaseException) -> str:
    """Return the message of an external error in a form that fits into a sentence."""
    return one_line(str(error)).removesuffix(".") or type(error).__name__
