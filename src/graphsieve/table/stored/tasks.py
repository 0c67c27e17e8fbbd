"""What a worker does with its blocks of a distributed table: cut, put together, work; and how the
work travels to it.

Nothing here knows Dask. What is refused and what is warned of comes back as a value, so that it can
be raised where somebody reads it, in its own words.
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

LARGE = 2**16  # bytes of an array that travels by itself


@dataclass(frozen=True)
class Place:
    """Which part of a block is wanted, of one that ought to have this shape; None for all of it."""

    shape: tuple[int, int]
    rows: Group | None
    columns: Group | None


@dataclass(frozen=True)
class Manner:
    """How pieces are made and worked on."""

    axis: int  # along which there are groups
    is_sparse: bool | None  # None for one block alone, as it is
    # Groups that are worked on at the same time in one process; None to leave threads alone
    threads: int | None


@dataclass(frozen=True)
class Outcome:
    """What became of a group: what was found, or why nothing was, and what there is to warn of.

    An error of the work comes back like that, too. So whatever Dask raises is of the blocks, or of
    Dask.
    """

    found: Any = None
    refused: Exception | None = None
    warned: list[Warned] = field(default_factory=list)


def received(outcomes: Sequence[Outcome]) -> list[Any]:
    """What was found, where it is asked for: the first refusal is raised, and each warning given
    once.
    """
    refused = next((outcome.refused for outcome in outcomes if outcome.refused is not None), None)
    if refused is not None:
        raise refused
    for one in dict.fromkeys(one for outcome in outcomes for one in outcome.warned):
        warn(one.message, category=one.category)
    return [outcome.found for outcome in outcomes]


def cut(block: Any, place: Place) -> Any:
    """The part of a block that a group needs; an `Outcome` where the block is none that can be
    used.
    """
    try:
        check_block(block, place.shape)
    except InputError as error:
        return Outcome(refused=error)
    if sp.issparse(block) and block.format not in ("csr", "csc"):
        block = sp.csr_array(block)
    part = block if place.rows is None else block[place.rows]
    part = part if place.columns is None else part[:, place.columns]
    # A view would keep all of the block in memory.
    return part if part is block or sp.issparse(part) else np.array(part)


def check_block(block: Any, shape: tuple[int, int]) -> None:
    """Blocks are plain arrays or scipy's sparse matrices, of numbers, and as large as the table
    believes.
    """
    plain = isinstance(block, np.ndarray) and not isinstance(block, np.ma.MaskedArray)
    if not plain and not sp.issparse(block):
        kind = f"{type(block).__module__.partition('.')[0]}.{type(block).__name__}"
        raise InputTypeError(
            f"X has blocks of type {kind}; expected NumPy arrays or SciPy's CSR matrices, so "
            "convert by map_blocks."
        )
    if block.dtype.kind not in "biuf":
        raise InputError(f"X holds values of type {block.dtype}; every feature must be numeric.")
    if tuple(block.shape) != shape:
        raise InputError(
            f"X has a block of shape {tuple(block.shape)} where its chunks promise {shape}; call "
            "X.compute_chunk_sizes() first."
        )
    if sp.issparse(block):
        refuse_unsound(block, "a block of X")


def worked(
    parts: list[list[Any]], manner: Manner, work: Work, given: Sequence[Any], shared: Sequence[Any]
) -> Outcome:
    """The work on one group, of which `parts` are the parts of all blocks, row by row of blocks."""
    refused = next((part for row in parts for part in row if isinstance(part, Outcome)), None)
    if refused is not None:
        return refused
    jobs = None if manner.threads is None else max(1, cores() // manner.threads)
    with held_back() as warned, at_most_jobs(jobs):
        try:
            return Outcome(work(joined(parts, manner), *given, *shared), warned=warned)
        except Exception as error:
            if not isinstance(error, InputError):  # a fault of ours, which happened elsewhere
                error.add_note(traceback.format_exc())
            return Outcome(refused=error)


def joined(parts: list[list[Any]], manner: Manner) -> Any:
    """The parts as one piece, as those who work on pieces expect them; never to be written to."""
    if manner.is_sparse is None:
        return parts[0][0]
    if manner.is_sparse:
        wanted = "csr" if manner.axis == 0 else "csc"
        compressed = [
            [part if sp.issparse(part) else sp.csr_array(part) for part in row] for row in parts
        ]
        piece = (
            sp.block_array(compressed, format=wanted)
            if len(parts) * len(parts[0]) > 1
            else compressed[0][0]
        )
        return usual(sp.csr_array(piece) if manner.axis == 0 else sp.csc_array(piece))
    dense = [
        [part.toarray() if sp.issparse(part) else np.asarray(part) for part in row] for row in parts
    ]
    if len(dense) * len(dense[0]) > 1:
        return usual(np.block(dense))
    alone = np.require(usual(dense[0][0]), requirements=["ALIGNED"]).view()
    alone.flags.writeable = False  # it may be the caller's own array
    return alone


def count_entries(block: Any) -> tuple[bool, int]:
    """Whether a block is sparse, and how many numbers other than zero it has."""
    return (True, int(block.nnz)) if sp.issparse(block) else (False, int(np.count_nonzero(block)))


def columns_of(block: Any, columns: Sequence[Integers], block_id: tuple[int, int]) -> Any:
    """Some columns of a block, by its place among the blocks of columns."""
    return block[:, columns[block_id[1]]]


def name_of(work: Work, shared: Sequence[Any] = ()) -> str:
    """How a dashboard is to call some work: as the function that does it, or the one that is shared
    with all groups.

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
    # Dask takes a word of eight letters that begins with one from a to f for a hash, and does not
    # show it.
    return "-".join(
        ["graphsieve", *(word[:7] if re.fullmatch("[a-f].{7}", word) else word for word in words)]
    )


def _innermost(work: Any) -> Any:
    """Behind `partial`, and behind what a view does to a piece before it passes it on."""
    while isinstance(work, partial):
        behind = work.args[0] if work.args and callable(work.args[0]) else work.func
        work = behind
    return work


def packed(value: Any) -> tuple[bytes, list[NDArray[Any]]]:
    """A value as it travels: a few bytes, and the large arrays in it, each by itself so that
    none travels twice.
    """
    arrays: list[NDArray[Any]] = []
    buffer = io.BytesIO()
    _packer(buffer, arrays).dump(value)
    return buffer.getvalue(), arrays


def unpacked(packet: bytes, arrays: Sequence[NDArray[Any]]) -> Any:
    """The value again, given its arrays."""
    return _Unpacker(io.BytesIO(packet), arrays).load()


def worked_afar(
    parts: list[list[Any]],
    manner: Manner,
    packets: tuple[bytes, bytes],
    n_shared: int,
    *arrays: Any,
) -> Outcome:
    """As `worked`, of work that has travelled: first the arrays that it shares with other
    groups, then those of this one.
    """
    work, shared = unpacked(packets[0], arrays[:n_shared])
    return worked(parts, manner, work, unpacked(packets[1], arrays[n_shared:]), shared)


def _packer(buffer: io.BytesIO, arrays: list[NDArray[Any]]) -> Any:
    import cloudpickle  # noqa: PLC0415 - it comes with Dask, and closures need it

    class Packer(cloudpickle.Pickler):  # type: ignore[misc]
        """Puts large arrays aside."""

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
    """Puts them back."""

    def __init__(self, buffer: io.BytesIO, arrays: Sequence[NDArray[Any]]) -> None:
        super().__init__(buffer)
        self._arrays = arrays

    def persistent_load(self, place: Any) -> Any:
        # What comes over a network may begin anywhere
        return np.require(self._arrays[place], requirements=["ALIGNED"])
