"""Reading of R data files (``.RData``, ``.rda``), as far as tables of numbers require it.

The format is described in "R Internals", section "Serialization Formats". No content of a file is
executed. Only vectors, lists and their attributes are accepted.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphsieve._base.array_types import Floats

BEGINNINGS = (b"RDX2\nX\n", b"RDX3\nX\n")
MISSING_INTEGER = -(2**31)

# Codes of the R types, and of the additional types that exist only in files.
SYMBOL, PAIRS, TEXT, LOGICAL, INTEGER, REAL, TEXTS, LIST = 1, 2, 9, 10, 13, 14, 16, 19
NOTHING = {254, 253, 252, 251, 250, 242, 241}
REFERENCE, COMPACT = 255, 238
HAS_ATTRIBUTES, HAS_TAG = 0x200, 0x400


@dataclass(frozen=True, eq=False)
class RVector:
    """An R vector or list with its attributes.

    Attributes
    ----------
    values : array or list
        Numbers (NaN if missing), texts (None if missing), or vectors.
    attributes : dict
        Attributes by name, such as ``names``, ``dim`` and ``levels``. Each is an `RVector`.
    """

    values: Any
    attributes: dict[str, RVector] = field(default_factory=dict)

    def __getitem__(self, name: str) -> RVector:
        """Return the list element, or the column of a data frame, with this name."""
        found: RVector = self.values[list(self.attributes["names"].values).index(name)]
        return found

    @property
    def matrix(self) -> Floats:
        """A matrix, or a data frame of numbers, as a 2-D array."""
        if "dim" in self.attributes:
            return np.reshape(self.values, self.attributes["dim"].values.astype(int), order="F")
        return np.column_stack([column.values for column in self.values])

    @property
    def column_names(self) -> list[str]:
        """The column names of a matrix."""
        return list(self.attributes["dimnames"].values[1].values)

    @property
    def labels(self) -> NDArray[np.str_]:
        """The values of a factor as text."""
        return np.array([self.attributes["levels"].values[int(code) - 1] for code in self.values])


def read_rdata(content: bytes) -> dict[str, RVector]:
    """Read the variables in an uncompressed R data file. Raise a `ValueError` for other content."""
    if not content.startswith(BEGINNINGS):
        raise ValueError("it does not begin like an R data file")
    reader = _Reader(content, len(BEGINNINGS[0]))
    try:
        version, _, _ = reader.integers(3)
        if version >= 3:
            reader.take(reader.integers(1)[0])  # name of the text encoding, which is not used
        variables = reader.item()
    except (struct.error, IndexError, RecursionError):
        raise ValueError("it is damaged or truncated") from None
    if not isinstance(variables, dict):
        raise ValueError("it holds no named variables")
    return variables


class _Reader:
    """Sequential reader of the content. Every call of `item` reads one complete item."""

    def __init__(self, content: bytes, position: int) -> None:
        self._content = content
        self._position = position
        self._seen: list[Any] = []  # symbols, to which later references point by number

    def take(self, count: int) -> bytes:
        start, self._position = self._position, self._position + count
        if count < 0 or self._position > len(self._content):
            raise IndexError
        return self._content[start : self._position]

    def integers(self, count: int) -> tuple[int, ...]:
        return struct.unpack(f">{count}i", self.take(4 * count))

    def item(self) -> Any:
        """Return the next item: a vector, a dict for a pairlist, a str for a symbol, or None."""
        (flags,) = self.integers(1)
        kind = flags & 0xFF
        if kind in NOTHING:
            return None
        if kind == REFERENCE:
            return self._seen[((flags >> 8) or self.integers(1)[0]) - 1]
        if kind in (PAIRS, COMPACT):
            return self._pairs(flags) if kind == PAIRS else self._compact()
        if kind in (SYMBOL, TEXT):
            text = self._text() if kind == TEXT else self.item()
            if kind == SYMBOL:
                self._seen.append(text)
            return text
        values = self._values(kind)
        return RVector(values, (self.item() or {}) if flags & HAS_ATTRIBUTES else {})

    def _text(self) -> str | None:
        (length,) = self.integers(1)
        return None if length == -1 else self.take(length).decode("utf-8", errors="replace")

    def _pairs(self, flags: int) -> dict[str, Any]:
        """Return the names and values of a pairlist, which is stored as a linked list."""
        found: dict[str, Any] = {}
        while flags & 0xFF == PAIRS:
            if flags & HAS_ATTRIBUTES:
                self.item()
            name = self.item() if flags & HAS_TAG else str(len(found))
            found[name] = self.item()
            (flags,) = self.integers(1)
        if flags & 0xFF not in NOTHING:
            raise ValueError("it has a list without an end")
        return found

    def _values(self, kind: int) -> Any:
        (length,) = self.integers(1)
        if kind in (LOGICAL, INTEGER):
            numbers = np.frombuffer(self.take(4 * length), ">i4")
            return np.where(numbers == MISSING_INTEGER, np.nan, numbers)
        if kind == REAL:
            return np.frombuffer(self.take(8 * length), ">f8").astype(np.float64)
        if kind in (TEXTS, LIST):
            return [self.item() for _ in range(length)]
        raise ValueError(f"it holds an object of R type {kind}, which is not a table")

    def _compact(self) -> Any:
        """Return a vector in one of the compact forms that were introduced with R 3.5."""
        kind, state, attributes = self.item(), self.item(), self.item()
        name = kind["0"]
        if name == "compact_intseq":
            count, first, step = state.values
            return RVector(first + step * np.arange(int(count)), attributes or {})
        if name.startswith("wrap_"):
            inner = next(iter(state.values())) if isinstance(state, dict) else state.values[0]
            return RVector(inner.values, {**inner.attributes, **(attributes or {})})
        raise ValueError(f"it holds a vector in the R form {name}, which is not supported")
