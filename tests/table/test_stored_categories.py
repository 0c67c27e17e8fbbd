"""Categories and groups in tables that are read in pieces, compared with the table in memory."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from graphsieve import GraphSieve, GraphSieveWarning, InputError, rank, stored
from graphsieve.table.any_table import as_table
from graphsieve.table.columns import MemoryTable
from graphsieve.table.stored import levels
from graphsieve.table.stored.stored_table import StoredTable
from storages import IN_DASK, IN_FILES

N = 90
RNG = np.random.default_rng(8)
Y = np.arange(N) % 3
WORDS = np.array(["red", "green", "blue", "black"])
FRAME = pd.DataFrame(
    {
        "size": RNG.normal(size=N) + Y,
        "colour": WORDS[np.where(RNG.random(N) < 0.7, Y, RNG.integers(0, 4, N))],
        "smoker": RNG.choice(["Y", "N"], N),
        "noise": RNG.normal(size=N).astype(np.float32),
        "stage": pd.Categorical(
            WORDS[RNG.integers(0, 4, N)], ["never", *WORDS[::-1]], ordered=True
        ),
        "kind": pd.Categorical(RNG.choice(["u", "v", "w"], N)),
        "many": [f"w{row * row % 31}" for row in range(N)],
        "ready": RNG.random(N) < 0.3,
        "code": RNG.integers(0, 3, N),
    }
)
GROUPS = {"body": ["size", "noise"], "looks": ["colour", "code"]}
LITTLE = "5 KiB"  # not enough for the table, which is read in pieces
METHODS = [
    "auto",
    "fisher",
    *(
        pytest.param(name, marks=pytest.mark.slow)
        for name in ("variance", "laplacian", "relieff", "lsdf", "mutual_information", "spec")
    ),
]


def parquet(folder, frame=FRAME):
    pa.parquet.write_table(pa.table(frame), folder / "t.parquet", row_group_size=20)
    return folder / "t.parquet"


def dataset(folder, frame=FRAME):
    (folder / "parts").mkdir()
    for place, start in enumerate(range(0, len(frame), 35)):
        part = pa.Table.from_pandas(frame[start : start + 35], preserve_index=False)
        pa.parquet.write_table(part, folder / "parts" / f"{place}.parquet")
    return pa.dataset.dataset(folder / "parts", format="parquet")


SOURCES = {
    "file": lambda folder, memory: stored(parquet(folder), memory=memory),
    "open file": lambda folder, memory: stored(
        pa.parquet.ParquetFile(parquet(folder)), memory=memory
    ),
    "dataset": lambda folder, memory: stored(dataset(folder), memory=memory),
}
every_source = pytest.mark.parametrize("source", SOURCES)


def same_table(found, expected):
    assert found.feature_names == expected.feature_names
    assert_array_equal(found.features.starts, expected.features.starts)
    assert_array_equal(found.features.categorical, expected.features.categorical)
    assert_array_equal(found.corner(np.arange(N)), expected.matrix)


@every_source
def test_pieces_equal_the_table_in_memory(tmp_path, source):
    expected = as_table(FRAME)
    whole = as_table(SOURCES[source](tmp_path, "1 GiB"))
    assert isinstance(whole, MemoryTable)
    same_table(whole, expected)


@every_source
def test_pieces_of_a_large_table_equal_the_table_in_memory(tmp_path, source):
    table, expected = as_table(SOURCES[source](tmp_path, LITTLE)), as_table(FRAME)
    assert isinstance(table, StoredTable)
    assert len(table.stored.column_groups()) > 2
    same_table(table, expected)
    for columns in ([3, 1], [0, 2, 25], list(range(table.n_columns))[::-1]):
        piece = next(iter(table.stored.over_columns([np.array(columns)], np.array)))
        assert_array_equal(piece, expected.matrix[:, columns])
        assert_array_equal(
            table.corner([5, 88], columns), expected.matrix[np.ix_([5, 88], columns)]
        )


@pytest.mark.parametrize("groups", [None, GROUPS], ids=["", "groups"])
@pytest.mark.parametrize("method", METHODS)
def test_scores_equal_those_in_memory(tmp_path, method, groups):
    if method == "mutual_information":
        groups = None  # It is defined for single columns and categories only.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GraphSieveWarning)
        sieve = GraphSieve(method, feature_groups=groups)
        expected = sieve.fit(FRAME, Y)
        scores, ranking = expected.scores_, expected.ranking_
        found = GraphSieve(method, feature_groups=groups).fit(
            stored(parquet(tmp_path), memory="12 KiB"), Y
        )
    assert_allclose(found.scores_, scores, rtol=1e-9, atol=1e-12)
    assert_array_equal(found.ranking_, ranking)


def test_named_categories_of_a_file(tmp_path):
    numbers = FRAME[["size", "noise", "code", "ready"]]
    expected = as_table(numbers, categorical=["code", "ready"])
    for memory in ("1 GiB", "2 KiB"):
        source = stored(parquet(tmp_path, numbers), memory=memory)
        same_table(as_table(source, categorical=["code", "ready"]), expected)
    source = stored(parquet(tmp_path), columns=["size", "colour"])
    with pytest.raises(InputError, match="holds text in column 'colour'; every feature must be"):
        as_table(source, categorical=["size"])
    with pytest.raises(InputError, match="holds text in column 'colour'; every feature must be"):
        as_table(source, categorical=None)
    with pytest.raises(InputError, match=r"no such feature \(did you mean 'colour'\?\)"):
        as_table(source, categorical=["color"])


@pytest.mark.parametrize("method", METHODS)
def test_names_of_levels_make_no_difference_to_the_last_bit(tmp_path, method):
    """For a table in memory and in a file, and for copies of a category with other names."""
    frame = FRAME.drop(columns=["stage", "ready"]).assign(copy=FRAME["colour"])
    other = {"red": "4", "green": "zebra", "blue": "a", "black": "Ä"}
    renamed = frame.assign(
        copy=frame["copy"].map(other),
        kind=frame["kind"].astype(str).map({"u": "w", "v": "u", "w": "v"}).astype("category"),
        many=frame["many"].str[::-1],
        smoker=frame["smoker"].map({"Y": "0no", "N": "yes"}),
    )
    found = {}
    for number, table in enumerate((frame, renamed)):
        (tmp_path / f"{number}").mkdir()
        path = parquet(tmp_path / f"{number}", table)
        for memory in (None, "1 GiB", "12 KiB"):
            held = table if memory is None else stored(path, memory=memory)
            found[number, memory] = GraphSieve(method, progress=False).fit(held, Y)
    for memory in (None, "1 GiB", "12 KiB"):
        one, two = found[0, memory], found[1, memory]
        assert_array_equal(one.scores_, two.scores_)
        assert_array_equal(one.ranking_, two.ranking_)
        if one.gain_ is not None:
            assert_array_equal(one.gain_, two.gain_)
            assert_array_equal(one.redundancy_, two.redundancy_)
        names = list(frame)
        assert two.scores_[names.index("colour")] == two.scores_[names.index("copy")]


# Tables of numbers: three columns of codes (with 4, 2 and 120 levels) among eleven columns
CODES = (1, 4, 9)
CODED = RNG.normal(size=(240, 11)).astype(np.float32)
CODED[:, 1] = RNG.integers(-1, 3, 240) * 0.5
CODED[:, 4] = RNG.random(240) < 0.3
CODED[:, 9] = np.arange(240) * 7 % 120
CLASSES = (CODED[:, 0] + CODED[:, 1] > 0.2).astype(int)
IN_GROUPS = {"both": [0, 1], "late": [8, 9, 10]}  # A group may contain categories.
DENSE = [name for name in IN_FILES | IN_DASK if "CS" not in name]
SPARSE = [name for name in IN_FILES | IN_DASK if "CS" in name]
AMOUNTS = ("1 GiB", "20 KiB")  # in memory, and in pieces


def names_in(source):
    """Return the names of the columns of a stored table, or their positions."""
    names = stored(source).names
    return list(range(CODED.shape[1])) if names is None else list(names)


def described(source, places=CODES, groups=IN_GROUPS):
    """Return the categories and groups of a table, by names if it has names."""
    names = names_in(source)
    return {
        "categorical": None if places is None else [names[place] for place in places],
        "feature_groups": groups
        and {group: [names[place] for place in members] for group, members in groups.items()},
    }


@pytest.mark.parametrize("groups", [None, IN_GROUPS], ids=["", "groups"])
@pytest.mark.parametrize("storage", DENSE)
def test_categories_of_codes_in_every_storage(tmp_path, storage, groups):
    expected = as_table(CODED, categorical=list(CODES), feature_groups=groups)
    assert expected.features.sizes.tolist() == (
        [1, 4, 1, 1, 1, 1, 1, 1, 1, 100, 1] if groups is None else [5, 1, 1, 1, 1, 1, 1, 102]
    )
    source = (IN_FILES | IN_DASK)[storage](CODED, tmp_path)
    for memory in AMOUNTS:
        found = as_table(stored(source, memory=memory), **described(source, groups=groups))
        assert isinstance(found, StoredTable) or memory == AMOUNTS[0]
        assert_array_equal(found.features.starts, expected.features.starts)
        assert_array_equal(found.features.categorical, expected.features.categorical)
        assert_array_equal(found.corner(np.arange(240)), expected.matrix)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    "storage",
    [pytest.param(name, marks=pytest.mark.slow if name in IN_DASK else ()) for name in DENSE],
)
def test_scores_of_codes_and_groups_in_every_storage(tmp_path, storage, method):
    groups = None if method == "mutual_information" else IN_GROUPS
    source = (IN_FILES | IN_DASK)[storage](CODED, tmp_path)
    options = {"n_features_to_select": 3, "progress": False}
    expected = GraphSieve(method, categorical=list(CODES), feature_groups=groups, **options).fit(
        CODED, CLASSES
    )
    sieve = GraphSieve(method, **described(source, groups=groups), **options)
    found = sieve.fit(stored(source, memory=AMOUNTS[1]), CLASSES)
    assert_allclose(found.scores_, expected.scores_, rtol=1e-9, atol=1e-12)
    assert_array_equal(found.ranking_, expected.ranking_)
    assert_array_equal(found.get_support(), expected.get_support())
    columns = np.asarray(found.transform(source))
    assert_array_equal(columns, CODED[:, expected.get_support()])


@pytest.mark.parametrize("storage", SPARSE)
def test_groups_in_every_sparse_storage(tmp_path, storage):
    scarce = np.where(RNG.random(CODED.shape) < 0.3, CODED, 0)
    source = (IN_FILES | IN_DASK)[storage](scarce, tmp_path)
    given = described(source, None) | {"categorical": "auto"}
    expected = GraphSieve("fisher", feature_groups=IN_GROUPS).fit(scarce, CLASSES)
    for memory in AMOUNTS:
        found = GraphSieve("fisher", **given).fit(stored(source, memory=memory), CLASSES)
        assert_allclose(found.scores_, expected.scores_, rtol=1e-9)
        assert_array_equal(found.get_support(), expected.get_support())
    with pytest.raises(InputError, match="categorical needs a table of dense values, but X is sp"):
        GraphSieve(**described(source)).fit(source, CLASSES)


def test_text_in_dask_is_refused_in_one_sentence():
    dd = pytest.importorskip("dask.dataframe")
    with pytest.raises(InputError, match=r"Dask DataFrame; pass a dask\.array\.Array"):
        rank(dd.from_pandas(FRAME, npartitions=2))


@settings(deadline=None, max_examples=10)
@given(st.lists(st.sampled_from("abcde"), min_size=10, max_size=40), st.integers(1, 12))
def test_any_column_of_words(tmp_path_factory, words, group):
    folder = tmp_path_factory.mktemp("words")
    frame = pd.DataFrame({"x": np.arange(len(words)) % 7.0, "word": words})
    pa.parquet.write_table(pa.table(frame), folder / "t.parquet", row_group_size=group)
    found = as_table(stored(folder / "t.parquet", memory="800 bytes"))
    assert_array_equal(found.corner(np.arange(len(words))), as_table(frame).matrix)


def test_more_than_100_levels_share_a_column(tmp_path):
    words = [f"w{row % 150}" for row in range(400)]
    frame = pd.DataFrame({"x": np.arange(400.0), "word": words})
    found = as_table(stored(parquet(tmp_path, frame), memory="20 KiB"))
    assert isinstance(found, StoredTable)
    assert found.features.sizes.tolist() == [1, 100]
    assert_array_equal(found.corner(np.arange(400)), as_table(frame).matrix)


def test_identifiers_are_left_out(tmp_path, monkeypatch):
    frame = FRAME[["size", "kind"]].assign(name=[f"n{row}" for row in range(N)])
    message = r"column 'name': fewer than 2 samples per level"
    for memory in ("1 GiB", LITTLE):
        with pytest.warns(GraphSieveWarning, match=message):
            found = as_table(stored(parquet(tmp_path, frame), memory=memory))
        assert found.features.sizes.tolist() == [1, 3, 1]
        assert_array_equal(found.corner(np.arange(N))[:, 4], np.zeros(N))
    monkeypatch.setattr(levels, "MOST_COUNTED", 10)
    with pytest.warns(GraphSieveWarning, match="column 'many': fewer than 2 samples"):
        as_table(stored(parquet(tmp_path, FRAME[["size", "many"]])))


@pytest.mark.parametrize("memory", ["1 GiB", LITTLE])
def test_bad_columns_are_named(tmp_path, memory):
    missing = FRAME.assign(colour=FRAME["colour"].where(np.arange(N) % 40 != 35))
    as_text = FRAME.assign(size=FRAME["size"].astype(str))
    for frame, message in (
        (missing, "2 NaN .missing. values in column 'colour', first at row 35"),
        (as_text, "numbers as text in column 'size' .such as '"),
        (FRAME.assign(day=pd.Timestamp("2020-01-01")), "holds dates in column 'day'"),
    ):
        for held in (frame, stored_lazily(tmp_path, frame, memory)):
            with pytest.raises(InputError, match=message):
                as_table(held() if callable(held) else held)
    declared = FRAME[["noise"]].assign(
        year=pd.Categorical([f"{1990 + row % 3}" for row in range(N)])
    )
    found = as_table(stored(parquet(tmp_path, declared), memory=memory))
    assert found.features.sizes.tolist() == [1, 3]


def stored_lazily(folder, frame, memory):
    return lambda: stored(parquet(folder, frame), memory=memory)


def test_ordered_levels_must_agree(tmp_path):
    (tmp_path / "parts").mkdir()
    for place, order in enumerate((["a", "b"], ["b", "a"])):
        column = pa.DictionaryArray.from_arrays(pa.array([0, 1] * 5), order, ordered=True)
        table = pa.table({"x": np.arange(10.0), "level": column})
        pa.parquet.write_table(table, tmp_path / "parts" / f"{place}.parquet")
    with pytest.raises(InputError, match="ordered levels in column 'level' that differ between"):
        as_table(pa.dataset.dataset(tmp_path / "parts", format="parquet"))


@every_source
def test_transform_returns_the_columns_of_the_file(tmp_path, source):
    table = SOURCES[source](tmp_path, LITTLE)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GraphSieveWarning)
        sieve = GraphSieve(n_features_to_select=2, keep=["colour", "stage"]).fit(table, Y)
        numbers = GraphSieve(n_features_to_select=1, keep=["size"]).fit(table, Y)
    found = sieve.transform(table)
    assert found.column_names == ["colour", "stage"]
    assert found.column("colour").to_pylist() == FRAME["colour"].tolist()
    assert found.column("stage").to_pylist() == FRAME["stage"].tolist()
    assert_array_equal(numbers.transform(table), FRAME[["size"]])
    framed = sieve.set_output(transform="pandas").transform(table)
    assert framed["stage"].tolist() == FRAME["stage"].tolist()
    assert pl.DataFrame(found).columns == ["colour", "stage"]


@pytest.mark.parametrize("method", ["fisher", "laplacian", "variance", "lsdf"])
def test_gaps_of_categories(tmp_path, method):
    frame = FRAME.copy()
    frame.loc[3:9, "size"] = np.nan
    frame.loc[[0, 5, 40], "colour"] = None
    scale = "standard" if method in ("laplacian", "lsdf") else "auto"
    sieve = GraphSieve(method, scale=scale, n_features_to_select=2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GraphSieveWarning)
        expected = sieve.fit(frame, Y).scores_
        found = sieve.fit(stored(parquet(tmp_path, frame), memory="12 KiB"), Y).scores_
    assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
    table = as_table(stored(tmp_path / "t.parquet", memory="12 KiB"), missing="use")
    assert isinstance(table, StoredTable)
    with pytest.raises(InputError, match="missing"):
        as_table(stored(tmp_path / "t.parquet", memory="12 KiB"), missing="refuse")
