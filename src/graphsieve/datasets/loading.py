"""Loading of real data sets by name, from local files or their public addresses."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
from sklearn import datasets as bundled

from graphsieve._base.errors import InputError, InputTypeError
from graphsieve._base.parameters import boolean, nearest, quoted, setting
from graphsieve.datasets.catalog import DATASETS, Source
from graphsieve.datasets.dataset import Dataset, DataUnavailableError, content_hash
from graphsieve.datasets.fetching import cache_folder, fetch
from graphsieve.datasets.ready import read_ready, shown


def load(name: str, *, download: bool = True) -> Dataset:
    """Load a real data set by its name.

    The following places are searched in this order:

    - the folder in the environment variable GRAPHSIEVE_DATA, for a file ``<name>.npz`` (see
      `graphsieve.datasets.ready`);
    - the data sets in scikit-learn;
    - earlier downloads in the folder in GRAPHSIEVE_CACHE, or in the user's cache directory;
    - the public address of the data set.

    The numbers must have the SHA-256 that is listed in `DATASETS`. Only files with a name that is
    not in `DATASETS` are used without this check.

    Parameters
    ----------
    name : str
        A key of `DATASETS`, or the name of a file in the folder GRAPHSIEVE_DATA.
    download : bool
        Whether the data set may be downloaded if it is not available locally.

    Returns
    -------
    Dataset
        The data set.

    Raises
    ------
    DataUnavailableError
        If the data set is not available.

    Examples
    --------
    >>> wine = load("wine")
    >>> wine.X.shape
    (178, 13)
    >>> wine.licence
    'CC BY 4.0 (UCI)'
    """
    boolean()("download", download)
    file, source = _in_data_folder(name), DATASETS.get(name)
    if source is None:
        if file is None:
            raise InputError(
                f"there is no data set called {quoted(name)}{nearest(name, DATASETS)}; "
                "graphsieve.datasets.DATASETS lists all names, or put a file of that name into the "
                "folder that GRAPHSIEVE_DATA names."
            )
        return replace(read_ready(file), source=f"the file {file.name}", licence="unknown")
    if file is not None:
        found = _checked(read_ready(file), source, shown(file))
    elif source.bundled:
        found = _checked(_from_scikit_learn(source), source, "scikit-learn's copy")
    else:
        found = _kept_or_fetched(source, download)
    licence = f"{source.licence}: {source.note}" if source.note else source.licence
    return replace(found, source=f"{source.origin}; {source.author}", licence=licence)


def _in_data_folder(name: str) -> Path | None:
    if not isinstance(name, str):
        raise InputTypeError(f"the name of a data set must be text, got {quoted(name)}.")
    folder = os.environ.get("GRAPHSIEVE_DATA")
    if not folder:
        return None
    folder = os.path.expanduser(folder)
    if not os.path.isdir(folder):
        raise InputError(
            f"GRAPHSIEVE_DATA must name a folder of .npz files, but {quoted(shown(Path(folder)))} "
            "is not a folder; correct or unset it."
        )
    if Path(name).name != name:
        return None  # A name must not be a path that leads out of the folder.
    file = Path(folder) / f"{name}.npz"
    return file if os.path.isfile(file) else None


def _checked(dataset: Dataset, source: Source, where: str) -> Dataset:
    found = content_hash(dataset)
    if found != source.sha256:
        raise DataUnavailableError(
            f"{where} does not hold the data set {source.name!r}: the SHA-256 of its numbers is "
            f"{found}, not {source.sha256}; replace or remove it."
        )
    return dataset


def _kept_or_fetched(source: Source, download: bool) -> Dataset:
    kept = cache_folder() / f"{source.name}.npz"
    can_fetch = download and source.recipe is not None
    if os.path.isfile(kept):
        try:
            return _checked(read_ready(kept), source, shown(kept))
        except DataUnavailableError:
            if not can_fetch:
                raise
    if can_fetch:
        return fetch(source, kept)
    elsewhere = f"put {source.name}.npz into the folder that GRAPHSIEVE_DATA names"
    if source.recipe is None:
        raise DataUnavailableError(
            f"the data set {source.name!r} cannot be fetched automatically: {source.by_hand}, and "
            f"{elsewhere}."
        )
    raise DataUnavailableError(
        f"the data set {source.name!r} is not available locally and may not be fetched (",
        setting("download", False),
        f"); allow downloads, or {elsewhere}.",
    )


def _from_scikit_learn(source: Source) -> Dataset:
    options = {"scaled": False} if source.name == "diabetes" else {}
    found = getattr(bundled, f"load_{source.name}")(**options)
    classes = source.task == "classification"
    return Dataset(
        name=source.name,
        X=np.asarray(found.data, dtype=np.float64),
        y=found.target.astype(np.int64 if classes else np.float64),
        task=source.task,
        feature_names=tuple(map(str, found.feature_names)),
        class_names=source.class_names if classes else None,
        target_name=source.target_name,
    )
