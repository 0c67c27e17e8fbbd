"""Fetches a data set from where it is published, checks it, and keeps it for the next time."""

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
from graphsieve.datasets.recipes import Cooked

TIMEOUT = 10.0  # seconds without a byte
MOST_BYTES = 128 * 2**20  # of one file
AT_ONCE = 2**16


class _FailedError(Exception):
    """Says why an address did not serve, in brackets of a sentence."""


def cache_folder() -> Path:
    """Where fetched data sets are kept: what GRAPHSIEVE_CACHE names, or a folder among the
    user's caches.
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
    except RuntimeError:  # a user without a home
        return Path(tempfile.gettempdir()) / "graphsieve"


def fetch(source: Source, kept_in: Path) -> Dataset:
    """The data set from its public address; a copy that passed the check is written to `kept_in`.

    Parameters
    ----------
    source : Source
        With a recipe.
    kept_in : Path
        The file for the copy. Where it cannot be written, that is only a warning.

    Returns
    -------
    Dataset
        Whose numbers have the hash of the catalog; otherwise `DataUnavailableError`, and nothing is
        written.
    """
    with Progress(f"fetching {source.name}") as progress:
        dataset = _tried(source, progress)
    try:
        kept_in.parent.mkdir(parents=True, exist_ok=True)
        replace_file(kept_in, ready_file(dataset))
    except (OSError, InputError) as error:
        warn(
            f"the data set {source.name!r} cannot be kept in {shown(kept_in.parent)} for the next "
            f"time ({one_line(str(error))})."
        )
    return dataset


def _tried(source: Source, progress: Progress) -> Dataset:
    """By the first set of addresses that gives the right data."""
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
        f"{source.name}.npz elsewhere and let GRAPHSIEVE_DATA name its folder."
    )


def _choices(files: Sequence[Addresses]) -> list[list[str]]:
    """All files at their best addresses, then all at their second ones, and so on; a file with
    fewer stays at its last.
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
        # ValueError: of addresses and lengths that are none
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
    """The data set in these files, checked."""
    assert source.recipe is not None
    try:
        with warnings_ignored():  # what they would warn of, the hash says
            dataset = _dataset(source, source.recipe(contents))
    except MemoryError:
        raise
    except Exception as error:  # the readers of foreign formats raise whatever they like
        what = one_line(str(error)) or type(error).__name__
        raise _FailedError(f"{' and '.join(addresses)} cannot be read: {what}") from error
    found = content_hash(dataset)
    if found != source.sha256:
        raise _FailedError(
            f"{' and '.join(addresses)} has other numbers: SHA-256 {found} instead of "
            f"{source.sha256}"
        )
    return dataset


def _dataset(source: Source, cooked: Cooked) -> Dataset:
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
    """Codes of class labels, so that code c has ``class_counts[c]`` samples.

    Labels in ascending order, if that fits; otherwise, since sources number their classes as they
    like, in the order of the sizes, those of the same size in ascending order.
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
