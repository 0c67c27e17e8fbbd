"""Pictures: that they show the numbers they are given, and can be drawn of anything."""

from __future__ import annotations

import builtins
from dataclasses import dataclass
from functools import cached_property

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_rgba
from numpy.testing import assert_allclose

from graphsieve import rank
from graphsieve._base.errors import InputError
from graphsieve.report import figures as plots
from graphsieve.report.figures import draw_portraits, draw_ranking
from graphsieve.report.portraits import portray
from graphsieve.supervision.value import Supervision
from graphsieve.table.columns import MemoryTable


@pytest.fixture(autouse=True)
def no_open_figures():
    yield
    plt.close("all")


@dataclass
class Scored:
    """What a picture asks of a ranking."""

    scores: np.ndarray
    n_selected: int
    large_is_good: bool = True
    redundancy: np.ndarray | None = None
    duplicate_of: np.ndarray | None = None
    method: str = "fisher"
    names: tuple[str, ...] = ()

    def __post_init__(self):
        self.scores = np.array(self.scores, dtype=np.float64)
        self.names = self.names or tuple(f"x{j}" for j in range(len(self)))

    def __len__(self):
        return len(self.scores)

    @cached_property
    def order(self):
        signed = -self.scores if self.large_is_good else self.scores
        return np.lexsort((np.arange(len(self)), signed, np.isnan(signed)))

    @property
    def selected(self):
        return np.isin(np.arange(len(self)), self.order[: self.n_selected])


def texts(ax):
    return [text.get_text() for text in ax.texts]


def drawn(axes):
    """The axes, after all was drawn: some failures come only then."""
    first = axes.flat[0] if isinstance(axes, np.ndarray) else axes
    first.figure.canvas.draw()
    return axes


# Rankings


def test_bars_have_the_length_of_the_scores_and_the_colour_of_the_selected():
    ax = drawn(draw_ranking(Scored([0.5, 4, 3, 1], 2)))
    assert [bar.get_width() for bar in ax.patches] == [4, 3, 1, 0.5]
    assert [bar.get_x() for bar in ax.patches] == [0] * 4
    colors = [plots.SELECTED] * 2 + [plots.REST] * 2
    assert [bar.get_facecolor() for bar in ax.patches] == [to_rgba(color) for color in colors]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["x1", "x2", "x3", "x0"]
    assert texts(ax) == ["4", "3", "1", "0.500"]
    assert ax.get_title(loc="left") == "2 of 4 features selected"
    assert ax.yaxis_inverted()


def test_small_scores_have_the_long_bars_where_small_is_good():
    ax = drawn(draw_ranking(Scored([0.9, 0.1, 0.4], 1, large_is_good=False, method="laplacian")))
    assert_allclose([bar.get_x() + bar.get_width() for bar in ax.patches], [0.1, 0.4, 0.9])
    lengths = [abs(bar.get_width()) for bar in ax.patches]
    assert lengths == sorted(lengths, reverse=True)
    assert lengths[-1] > 0
    # Forward is to the right, although the numbers fall.
    left, right = ax.get_xlim()
    assert left > right
    assert "small is good" in ax.get_xlabel()


def test_one_far_worse_feature_does_not_make_the_others_alike():
    ax = draw_ranking(Scored([1, 2, 3, 1e6], 1, large_is_good=False), n=3)
    first, _, last = (abs(bar.get_width()) for bar in ax.patches)
    assert first > 10 * last


@pytest.mark.parametrize(
    ("n_selected", "line"), [(2, [1.5]), (1, [0.5]), (3, []), (4, []), (0, [])]
)
def test_a_line_shows_the_cut_if_it_is_in_view(n_selected, line):
    ax = draw_ranking(Scored([4, 3, 2, 1], n_selected), n=3)
    level = [
        found.get_ydata()[0] for found in ax.lines if found.get_ydata()[0] == found.get_ydata()[1]
    ]
    assert level == line


def test_the_pale_part_is_what_is_already_said():
    ranking = Scored(
        [4, 2, 1],
        2,
        redundancy=np.array([0.0, 0.25, 0.999]),
        duplicate_of=np.array([-1, 0, 1]),
        names=("a", "b", "c"),
    )
    ax = drawn(draw_ranking(ranking))
    pale = [collection.get_paths()[0].get_extents() for collection in ax.collections]
    assert_allclose([[part.x0, part.x1] for part in pale], [[4, 4], [1.5, 2], [0.001, 1]])
    notes = [text for text in texts(ax) if "most like" in text]
    assert notes == ["25 %, most like a", "99.90 %, most like b"]


@pytest.mark.parametrize("n_features", [1, 2, 50])
def test_any_number_of_features_fits(n_features):
    ax = drawn(draw_ranking(Scored(np.arange(60.0)[:n_features], 1), n=50))
    assert len(ax.patches) == n_features


def test_the_best_20_are_shown():
    assert len(draw_ranking(Scored(np.arange(60.0), 5)).patches) == 20


@pytest.mark.parametrize("large_is_good", [True, False])
@pytest.mark.parametrize(
    "scores",
    [
        [np.inf, 3, 2, -np.inf, np.nan],
        [np.nan, np.nan],
        [np.inf, np.inf],
        [-np.inf, np.nan],
        [0, 0],
        [0.5, 0.5],
        [-0.1, -0.3],
        [0.2, -0.3],
        [1.7e308, 1e308, -1.7e308],
        [1e-310, 2e-310, 0],
        [5e-324],
        [1e8, 1e8 + 1],
    ],
)
def test_any_scores_can_be_drawn(scores, large_is_good):
    ranking = Scored(scores, 1, large_is_good=large_is_good)
    ax = drawn(draw_ranking(ranking))
    lengths = np.array([bar.get_width() for bar in ax.patches])
    assert np.isfinite(lengths).all()
    assert len(lengths) == len(scores)
    limits = np.sort(ax.get_xlim())
    assert limits[0] < limits[1]
    ends = [bar.get_x() + bar.get_width() for bar in ax.patches]
    assert limits[0] <= min(ends) <= max(ends) <= limits[1]
    # In direction of the axis, no bar is longer than a better one.
    forward = lengths if large_is_good else -lengths
    assert (np.diff(forward) <= 0).all()


def test_infinite_and_missing_scores_are_named():
    ax = draw_ranking(Scored([3, np.inf, np.nan, -np.inf], 1))
    assert texts(ax) == ["∞", "3", "−∞", "not scored"]
    assert [bar.get_width() for bar in ax.patches] == [3, 3, 0, 0]


def test_names_are_text_of_moderate_length():
    ax = drawn(draw_ranking(Scored([4, 3, 2, 1], 2, names=("$x_1$", "a" * 300, "line\nbreak", ""))))
    labels = [label.get_text() for label in ax.get_yticklabels()]
    assert labels == [r"\$x_1\$", "a" * 31 + "…", "line·break", "(no name)"]


def test_drawn_where_asked():
    _, axes = plt.subplots(1, 2)
    assert draw_ranking(Scored([2, 1], 1), ax=axes[1]) is axes[1]
    assert not axes[0].patches


@pytest.mark.parametrize("n", [0, -1, "3", 2.0, True])
def test_a_number_of_features_is_a_whole_number(n):
    with pytest.raises(InputError, match="n must be a whole number of at least 1"):
        draw_ranking(Scored([2, 1], 1), n=n)


def test_a_ranking_of_ours_is_drawn():
    rng = np.random.default_rng(0)
    ranking = rank(rng.normal(size=(40, 6)), np.arange(40) % 2, n_features_to_select=2)
    ax = drawn(draw_ranking(ranking, n=4))
    assert [label.get_text() for label in ax.get_yticklabels()] == ranking.best(4)
    assert_allclose([bar.get_width() for bar in ax.patches], ranking.scores[ranking.order[:4]])


# Portraits


@pytest.fixture
def X():
    rng = np.random.default_rng(1)
    return np.stack(
        [
            rng.normal(size=60),
            rng.integers(0, 3, 60),
            np.full(60, 7.0),
            rng.normal(size=60) * 1e300,
            np.arange(60),
        ],
        1,
    )


def heights_above(stairs):
    values, _, baseline = stairs.get_data()
    return values - baseline


def test_classes_get_a_histogram_each(X):
    known = Supervision.from_labels(np.array(["a", "b", None], dtype=object)[np.arange(60) % 3])
    facts = portray(MemoryTable(X), known, range(5))
    axes = drawn(draw_portraits(facts))
    assert len(axes) == 5
    for ax, feature in zip(axes, facts["features"], strict=True):
        assert ax.get_title(loc="left") == feature["feature"]
        assert len(ax.patches) == 3
        for stairs, counts in zip(ax.patches, feature["histogram"]["counts"], strict=True):
            # As high as its fullest bin, whatever that is.
            assert_allclose(
                heights_above(stairs) / heights_above(stairs).max(), np.array(counts) / max(counts)
            )
    assert [label.get_text() for label in axes[0].get_yticklabels()] == ["a", "b", "unknown"]
    assert axes[0].patches[2].get_facecolor()[:3] == to_rgba(plots.UNKNOWN)[:3]


def test_a_target_gets_dots(X):
    facts = portray(MemoryTable(X), Supervision.from_targets(X[:, 0]), range(5), target_name="fat")
    axes = drawn(draw_portraits(facts))
    for ax, feature in zip(axes, facts["features"], strict=True):
        dots = ax.collections[0].get_offsets()
        assert_allclose(dots, np.transpose([feature["scatter"]["x"], feature["scatter"]["y"]]))
        # The histogram lies below all dots.
        assert ax.patches[0].get_data().values.max() < 0
        counts = np.array(feature["histogram"]["counts"][0])
        assert_allclose(
            heights_above(ax.patches[0]) / heights_above(ax.patches[0]).max(), counts / counts.max()
        )
    assert axes[0].get_ylabel() == "fat"


def test_where_nothing_is_known_dots_are_along_the_graph(X):
    facts = portray(MemoryTable(X), Supervision.nothing(60), [0, 4], scale="rank")
    axes = drawn(draw_portraits(facts))
    for ax, feature in zip(axes, facts["features"], strict=True):
        along = feature["along_graph"]
        assert_allclose(ax.collections[0].get_offsets(), np.transpose([along["x"], along["y"]]))
        assert texts(ax) == [f"r² {along['share']:.2f}"]
    assert "all columns" in axes[0].figure.get_supxlabel()


@pytest.mark.parametrize("n_features", [1, 4, 24])
def test_any_number_of_portraits_fits(n_features):
    X = np.random.default_rng(2).normal(size=(30, 24))
    facts = portray(MemoryTable(X), Supervision.from_labels(np.arange(30) % 8), range(n_features))
    axes = drawn(draw_portraits(facts))
    assert len(axes) == len(axes[0].figure.axes) == n_features


@pytest.mark.parametrize(
    ("values", "labels"),
    [
        ([7, 7], ["7"]),
        ([0, 0], ["0"]),
        ([0, 1680], ["0", "1,680"]),
        ([-0.25, 12.345], ["−0.250", "12.3"]),
        ([1000, 1001], ["1,000", "1,001"]),
        ([1e8 + 0.5, 1e8 + 0.75], ["100,000,000.50", "+ 0.250"]),  # 8 digits in common, and 3 more
        ([-1.5e308, 1.5e308], ["−1.50e+308", "1.50e+308"]),
        ([0, 5e-324], ["0", "4.94e−324"]),
    ],
)
def test_the_ends_of_a_range_are_told_apart(values, labels):
    facts = portray(
        MemoryTable(np.array(values)[:, None]), Supervision.from_labels(["a", "b"]), [0]
    )
    ax = drawn(draw_portraits(facts))[0]
    assert [label.get_text() for label in ax.get_xticklabels()] == labels


def test_tails_that_are_cut_off_are_marked():
    values = np.concatenate([np.linspace(0, 1, 1000), [1e6]])
    facts = portray(MemoryTable(values[:, None]), Supervision.from_labels(["a"] * 1001), [0])
    assert facts["features"][0]["clipped"]
    low, high = (label.get_text() for label in draw_portraits(facts)[0].get_xticklabels())
    assert low.startswith("≤ ")
    assert high.startswith("≥ ")


def test_portraits_are_drawn_where_asked(X):
    facts = portray(MemoryTable(X), Supervision.nothing(60), [0, 1])
    _, axes = plt.subplots(1, 2)
    assert list(draw_portraits(facts, axes=axes)) == list(axes)
    with pytest.raises(InputError, match="axes must be one for each of the 2 features, got 1"):
        draw_portraits(facts, axes=axes[0])


def test_no_features_no_portraits():
    with pytest.raises(InputError, match="no features to draw"):
        draw_portraits(portray(MemoryTable([[0], [1]]), Supervision.nothing(2), []))


@pytest.mark.parametrize(
    "draw", [lambda: draw_ranking(Scored([2, 1], 1)), lambda: draw_portraits(PORTRAIT)]
)
def test_without_matplotlib_the_extra_is_named(monkeypatch, draw):
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name.split(".")[0] == "matplotlib":
            raise ModuleNotFoundError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=r'pip install "graphsieve\[plot\]"'):
        draw()


PORTRAIT = portray(MemoryTable([[0], [1]]), Supervision.nothing(2), [0])


def test_the_score_of_a_search_in_rounds_is_no_share():
    X = np.random.default_rng(0).normal(size=(30, 4))
    assert (
        rank(X, method="iterative").plot().get_xlabel().startswith("iterative score (small is good")
    )
    assert rank(X).plot().get_xlabel().startswith("share explained alone")
