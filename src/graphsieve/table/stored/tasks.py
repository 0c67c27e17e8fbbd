"""Tasks of a worker of a distributed table, and the transfer of functions to workers.

A worker cuts parts from its blocks, joins them to a piece, and calls a function with this piece.
The module does not depend on Dask. Errors and warnings are returned as values, so that the process
of the user can raise them unchanged.
"""

from __future__ import annotations

import io
import pickle
import re
import traceback
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from graphsieve._base.array_types import Integers
from graphsieve._base.errors import InputError, InputTypeError, Warned, held_back, warn
from graphsieve._base.threads import at_most_jobs, cores
from graphsieve.table.sparse_checks import refuse_unsound
from graphsieve.table.stored.pieces import Group, Work, itself, usual

LARGE = 2**16  # bytes from which on an array is sent separately


@dataclass(frozen=True)
class Place:
    """The required part of a block, and the expected shape of the block.

    None stands for all rows or all columns.
    """

    shape: tuple[int, int]
    rows: Group | None
    columns: Group | None


@dataclass(frozen=True)
class JoinOptions:
    """Options of how pieces are joined and processed."""

    axis: int  # axis of the groups: 0 for rows, 1 for columns
    is_sparse: bool | None  # None for a single block without conversion
    # Number of groups that share the cores, or None to leave the number of threads unchanged
    threads: int | None


@dataclass(frozen=True)
class Outcome:
    """The result for a group, or the error, and the warnings.

    Errors of the called function are returned as well. Errors that Dask raises therefore come from
    the blocks or from Dask itself.
    """

    found: Any = None
    refused: Exception | None = None
    warned: list[Warned] = field(default_factory=list)


def received(outcomes: Sequence[Outcome]) -> list[Any]:
    """Return the results of all groups, after raising the first error or emitting the warnings.

    Equal warnings are emitted once.
    """
    refused = next((outcome.refused for outcome in outcomes if outcome.refused is not None), None)
    if refused is not None:
        raise refused
    for one in dict.fromkeys(one for outcome in outcomes for one in outcome.warned):
        warn(one.message, category=one.category)
    return [outcome.found for outcome in outcomes]


def cut(block: Any, place: Place) -> Any:
    """Return the part of a block that a group needs, or an `Outcome` if the block is invalid."""
    try:
        check_block(block, place.shape)
    except InputError as error:
        return Outcome(refused=error)
    if sp.issparse(block) and block.format not in ("csr", "csc"):
        block = sp.csr_array(block)
    part = block if place.rows is None else block[place.rows]
    part = part if place.columns is None else part[:, place.columns]
    # A view would keep the whole block in memory.
    return part if part is block or sp.issparse(part) else np.array(part)


def check_block(block: Any, shape: tuple[int, int]) -> None:
    """Raise an error unless a block is a numeric array or sparse matrix of the expected shape."""
    plain = isinstance(block, np.ndarray) and not isinstance(block, np.ma.MaskedArray)
    if not plain and not sp.issparse(block):
        kind = f"{type(block).__module__.partition('.')[0]}.{type(block).__name__}"
        raise InputTypeError(
            f"X has blocks of type {kind}, but NumPy arrays or SciPy CSR matrices are required; "
            "convert them with map_blocks."
        )
    if block.dtype.kind not in "biuf":
        raise InputError(f"X holds values of type {block.dtype}; every feature must be numeric.")
    if tuple(block.shape) != shape:
        raise InputError(
            f"X has a block of shape {tuple(block.shape)}, but its chunks specify {shape}; call "
            "X.compute_chunk_sizes() first."
        )
    if sp.issparse(block):
        refuse_unsound(block, "a block of X")


def worked(
    parts: list[list[Any]],
    options: JoinOptions,
    work: Work,
    given: Sequence[Any],
    shared: Sequence[Any],
) -> Outcome:
    """Return the outcome of a function for one group.

    `parts` contains the parts of all blocks, by rows of blocks.
    """
    refused = next((part for row in parts for part in row if isinstance(part, Outcome)), None)
    if refused is not None:
        return refused
    jobs = None if options.threads is None else max(1, cores() // options.threads)
    with held_back() as warned, at_most_jobs(jobs):
        try:
            return Outcome(work(joined(parts, options), *given, *shared), warned=warned)
        except Exception as error:
            if not isinstance(error, InputError):  # A bug: keep the traceback of this worker.
                error.add_note(traceback.format_exc())
            return Outcome(refused=error)


def joined(parts: list[list[Any]], options: JoinOptions) -> Any:
    """Return the parts as one piece of a supported type, which must not be modified."""
    if options.is_sparse is None:
        return parts[0][0]
    if options.is_sparse:
        wanted = "csr" if options.axis == 0 else "csc"
        compressed = [
            [part if sp.issparse(part) else sp.csr_array(part) for part in row] for row in parts
        ]
        piece = (
            sp.block_array(compressed, format=wanted)
            if len(parts) * len(parts[0]) > 1
            else compressed[0][0]
        )
        return usual(sp.csr_array(piece) if options.axis == 0 else sp.csc_array(piece))
    dense = [
        [part.toarray() if sp.issparse(part) else np.asarray(part) for part in row] for row in parts
    ]
    if len(dense) * len(dense[0]) > 1:
        return usual(np.block(dense))
    alone = np.require(usual(dense[0][0]), requirements=["ALIGNED"]).view()
    alone.flags.writeable = False  # It may be the caller's own array.
    return alone


def count_entries(block: Any) -> tuple[bool, int]:
    """Return whether a block is sparse, and its number of nonzero values."""
    return (True, int(block.nnz)) if sp.issparse(block) else (False, int(np.count_nonzero(block)))


def columns_of(block: Any, columns: Sequence[Integers], block_id: tuple[int, int]) -> Any:
    """Return some columns of a block; `columns` has the positions for every column of blocks."""
    return block[:, columns[block_id[1]]]


def name_of(work: Work, shared: Sequence[Any] = ()) -> str:
    """Return the name of a task for the dashboard of Dask.

    It is the name of the function, or of the first function among the common arguments.

    Examples
    --------
    >>> def _edge_sum(block): ...
    >>> name_of(partial(_edge_sum, power=2))
    'graphsieve-edge-sum'
    >>> name_of(itself)
    'graphsieve-fetch'
    """
    innermost = _innermost(next((one for one in shared if callable(one)), work))
    if innermost is itself:
        return "graphsieve-fetch"
    named = getattr(innermost, "__qualname__", type(innermost).__qualname__)
    words = re.findall("[a-z]+", named.partition(".<locals>")[0].rpartition(".")[2].lower())
    # Dask mistakes a word of eight letters that begins with a to f for a hash and does not show it.
    return "-".join(
        ["graphsieve", *(word[:7] if re.fullmatch("[a-f].{7}", word) else word for word in words)]
    )


def _innermost(work: Any) -> Any:
    """Return the function inside nested `partial` objects, such as those of a view."""
    while isinstance(work, partial):
        behind = work.args[0] if work.args and callable(work.args[0]) else work.func
        work = behind
    return work


def packed(value: Any) -> tuple[bytes, list[NDArray[Any]]]:
    """Serialise a value to bytes and a list of the large arrays that it contains.

    The arrays are separate, so that no array is sent twice.
    """
    arrays: list[NDArray[Any]] = []
    buffer = io.BytesIO()
    _packer(buffer, arrays).dump(value)
    return buffer.getvalue(), arrays


def unpacked(packet: bytes, arrays: Sequence[NDArray[Any]]) -> Any:
    """Return the value of serialised bytes and their arrays."""
    return _Unpacker(io.BytesIO(packet), arrays).load()


def worked_afar(
    parts: list[list[Any]],
    options: JoinOptions,
    packets: tuple[bytes, bytes],
    n_shared: int,
    *arrays: Any,
) -> Outcome:
    """Return the outcome of a serialised function, as in `worked`.

    The first `n_shared` arrays are common to all groups, and the others belong to this group.
    """
    work, shared = unpacked(packets[0], arrays[:n_shared])
    return worked(parts, options, work, unpacked(packets[1], arrays[n_shared:]), shared)


def _packer(buffer: io.BytesIO, arrays: list[NDArray[Any]]) -> Any:
    import cloudpickle  # noqa: PLC0415 - a dependency of Dask, needed for closures

    class Packer(cloudpickle.Pickler):  # type: ignore[misc]
        """A pickler that puts large arrays into a list instead of the stream."""

        def persistent_id(self, value: Any) -> int | None:
            if type(value) is not np.ndarray or value.nbytes < LARGE or value.dtype.hasobject:
                return None
            place = next(
                (place for place, known in enumerate(arrays) if known is value), len(arrays)
            )
            if place == len(arrays):
                arrays.append(value)
            return place

    return Packer(buffer)


class _Unpacker(pickle.Unpickler):
    """An unpickler that inserts the large arrays again."""

    def __init__(self, buffer: io.BytesIO, arrays: Sequence[NDArray[Any]]) -> None:
        super().__init__(buffer)
        self._arrays = arrays

    def persistent_load(self, place: Any) -> Any:
        # Arrays from a network may be unaligned.
        return np.require(self._arrays[place], requirements=["ALIGNED"])
