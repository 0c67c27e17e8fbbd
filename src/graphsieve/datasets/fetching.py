"""Download of a data set from its public address, with a check and a cached copy."""

from __future__ import annotations

import http.client
import os
import sys
import tempfile
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from graphsieve._base.array_types import Integers
from graphsieve._base.atomic_files import replace_file
from graphsieve._base.errors import InputError, warn
from graphsieve._base.parameters import one_line
from graphsieve._base.progress import Progress
from graphsieve._base.warning_filters import warnings_ignored
from graphsieve.datasets.catalog import Addresses, Source
from graphsieve.datasets.dataset import Dataset, DataUnavailableError, content_hash, numbered
from graphsieve.datasets.ready import ready_file, shown
from graphsieve.datasets.recipes import Prepared

TIMEOUT = 10.0  # seconds without any data
MOST_BYTES = 128 * 2**20  # bytes per file
AT_ONCE = 2**16  # bytes per read


class _FailedError(Exception):
    """The reason why an address failed, as text for the brackets of a message."""


def cache_folder() -> Path:
    """Return the folder for downloaded data sets.

    This is the folder in GRAPHSIEVE_CACHE, or a folder in the user's cache directory.
    """
    named = os.environ.get("GRAPHSIEVE_CACHE")
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or "~/AppData/Local"
    elif sys.platform == "darwin":
        base = "~/Library/Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    folder = Path(named) if named else Path(base) / "graphsieve"
    try:
        return folder.expanduser()
    except RuntimeError:  # The user has no home folder.
        return Path(tempfile.gettempdir()) / "graphsieve"


def fetch(source: Source, kept_in: Path) -> Dataset:
    """Download a data set from its public address, and store a copy.

    Parameters
    ----------
    source : Source
        Catalog entry with a recipe.
    kept_in : Path
        File for the copy. If it cannot be written, there is only a warning.

    Returns
    -------
    Dataset
        The data set.

    Raises
    ------
    DataUnavailableError
        If the download fails or the numbers do not have the hash of the catalog. No copy is stored.
    """
    with Progress(f"fetching {source.name}") as progress:
        dataset = _tried(source, progress)
    try:
        kept_in.parent.mkdir(parents=True, exist_ok=True)
        replace_file(kept_in, ready_file(dataset))
    except (OSError, InputError) as error:
        warn(
            f"the data set {source.name!r} cannot be stored in {shown(kept_in.parent)} for later "
            f"use ({one_line(str(error))})."
        )
    return dataset


def _tried(source: Source, progress: Progress) -> Dataset:
    """Return the data set from the first addresses that provide the correct data."""
    failures = []
    for addresses in _choices(source.files):
        try:
            return _made(
                source, [_downloaded(address, progress) for address in addresses], addresses
            )
        except _FailedError as error:
            failures.append(str(error))
    raise DataUnavailableError(
        f"the data set {source.name!r} cannot be fetched ({failures[0]}); try again later, or get "
        f"{source.name}.npz elsewhere and set GRAPHSIEVE_DATA to its folder."
    )


def _choices(files: Sequence[Addresses]) -> list[list[str]]:
    """Return the combinations of addresses to try, one address per file in each.

    The first combination has the first address of every file, the second one the second address,
    and so on. A file with fewer addresses keeps its last one.
    """
    return [
        [file[min(at, len(file) - 1)] for file in files]
        for at in range(max(map(len, files), default=0))
    ]


def _downloaded(address: str, progress: Progress) -> bytes:
    request = urllib.request.Request(address, headers={"User-Agent": "graphsieve"})
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT) as response:
            return _read(response, address, progress)
    except HTTPError as error:
        raise _FailedError(
            f"{address} answers {error.code} {one_line(str(error.reason))}"
        ) from None
    except URLError as error:
        raise _FailedError(f"{address} cannot be reached: {one_line(str(error.reason))}") from None
    except (OSError, http.client.HTTPException, ValueError) as error:
        # Invalid addresses and content lengths raise a ValueError.
        raise _FailedError(
            f"the connection to {address} broke: {one_line(str(error)) or type(error).__name__}"
        ) from None


def _read(response: Any, address: str, progress: Progress) -> bytes:
    announced = response.headers.get("Content-Length", "")
    expected = int(announced) if announced.isdecimal() else None
    content = bytearray()
    while part := response.read(AT_ONCE):
        content += part
        if len(content) > MOST_BYTES:
            raise _FailedError(f"{address} sends more than {MOST_BYTES // 2**20} MB")
        progress.tell(
            f"{len(content) / 1e6:.1f} MB" + (f" of {expected / 1e6:.1f} MB" if expected else "")
        )
    if expected is not None and len(content) < expected:
        raise _FailedError(f"{address} sent {len(content)} of {expected} bytes")
    return bytes(content)


def _made(source: Source, contents: Sequence[bytes], addresses: Sequence[str]) -> Dataset:
    """Return the data set in these files after checking its hash."""
    assert source.recipe is not None
    try:
        # The hash detects any problem about which the readers would warn.
        with warnings_ignored():
            dataset = _dataset(source, source.recipe(contents))
    except MemoryError:
        raise
    except Exception as error:  # External readers raise errors of many types.
        what = one_line(str(error)) or type(error).__name__
        raise _FailedError(f"{' and '.join(addresses)} cannot be read: {what}") from error
    found = content_hash(dataset)
    if found != source.sha256:
        raise _FailedError(
            f"{' and '.join(addresses)} has other numbers: SHA-256 {found} instead of "
            f"{source.sha256}"
        )
    return dataset


def _dataset(source: Source, cooked: Prepared) -> Dataset:
    kind = np.float32 if source.single_precision else np.float64
    X = (
        sp.csr_array(cooked.X, dtype=kind)
        if source.sparse
        else np.ascontiguousarray(cooked.X, dtype=kind)
    )
    classes = source.task == "classification"
    return Dataset(
        name=source.name,
        X=X,
        y=class_codes(cooked.wanted, source.class_counts)
        if classes
        else cooked.wanted.astype(np.float64),
        task=source.task,
        feature_names=cooked.feature_names or numbered("x", X.shape[1]),
        class_names=source.class_names if classes else None,
        target_name=source.target_name,
        extras=cooked.extras,
    )


def class_codes(labels: NDArray[Any], class_counts: Sequence[int]) -> Integers:
    """Return codes for class labels such that code c has ``class_counts[c]`` samples.

    Codes follow the ascending order of the labels if the counts agree. Otherwise classes are
    assigned by their sizes, because sources number their classes differently. Classes of equal size
    are assigned in ascending order.
    """
    _, codes, found = np.unique(labels, return_inverse=True, return_counts=True)
    if sorted(found) != sorted(class_counts):
        raise ValueError(
            f"its classes have {', '.join(map(str, found))} samples, not "
            f"{', '.join(map(str, class_counts))}"
        )
    if list(found) == list(class_counts):
        return codes.astype(np.int64)
    new = np.empty(len(found), dtype=np.int64)
    new[np.argsort(found, kind="stable")] = np.argsort(class_counts, kind="stable")
    return new[codes]
