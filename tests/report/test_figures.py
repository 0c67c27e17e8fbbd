"""Plots of rankings: they show the given numbers, and they can be drawn for any input."""

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
from graphsieve.report.figures import draw_ranking


@pytest.fixture(autouse=True)
def no_open_figures():
    yield
    plt.close("all")


@dataclass
class Scored:
    """The part of a ranking that a plot uses."""

    scores: np.ndarray
    n_selected: int
    large_is_good: bool = True
    redundancy: np.ndarray | None = None
    closest: np.ndarray | None = None
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
    """Draw the figure and return the axes. Some errors occur only when the figure is drawn."""
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


def test_small_scores_have_long_bars_if_small_is_good():
    ax = drawn(draw_ranking(Scored([0.9, 0.1, 0.4], 1, large_is_good=False, method="laplacian")))
    assert_allclose([bar.get_x() + bar.get_width() for bar in ax.patches], [0.1, 0.4, 0.9])
    lengths = [abs(bar.get_width()) for bar in ax.patches]
    assert lengths == sorted(lengths, reverse=True)
    assert lengths[-1] > 0
    # Better scores are on the right, although they are smaller.
    left, right = ax.get_xlim()
    assert left > right
    assert "small is good" in ax.get_xlabel()


def test_one_far_worse_feature_does_not_hide_the_other_differences():
    ax = draw_ranking(Scored([1, 2, 3, 1e6], 1, large_is_good=False), n=3)
    first, _, last = (abs(bar.get_width()) for bar in ax.patches)
    assert first > 10 * last


@pytest.mark.parametrize(
    ("n_selected", "line"), [(2, [1.5]), (1, [0.5]), (3, []), (4, []), (0, [])]
)
def test_a_line_shows_the_cut_off_if_it_is_visible(n_selected, line):
    ax = draw_ranking(Scored([4, 3, 2, 1], n_selected), n=3)
    level = [
        found.get_ydata()[0] for found in ax.lines if found.get_ydata()[0] == found.get_ydata()[1]
    ]
    assert level == line


def test_the_pale_part_is_the_redundancy():
    ranking = Scored(
        [4, 2, 1],
        2,
        redundancy=np.array([0.0, 0.25, 0.999]),
        closest=np.array([-1, 0, 1]),
        names=("a", "b", "c"),
    )
    ax = drawn(draw_ranking(ranking))
    pale = [collection.get_paths()[0].get_extents() for collection in ax.collections]
    assert_allclose([[part.x0, part.x1] for part in pale], [[4, 4], [1.5, 2], [0.001, 1]])
    notes = [text for text in texts(ax) if "closest" in text]
    assert notes == ["25 % (closest: a)", "99.90 % (closest: b)"]


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
    # In the direction of the axis, no bar is longer than that of a better feature.
    forward = lengths if large_is_good else -lengths
    assert (np.diff(forward) <= 0).all()


def test_infinite_and_missing_scores_are_named():
    ax = draw_ranking(Scored([3, np.inf, np.nan, -np.inf], 1))
    assert texts(ax) == ["∞", "3", "−∞", "not scored"]
    assert [bar.get_width() for bar in ax.patches] == [3, 3, 0, 0]


def test_names_are_escaped_and_shortened():
    ax = drawn(draw_ranking(Scored([4, 3, 2, 1], 2, names=("$x_1$", "a" * 300, "line\nbreak", ""))))
    labels = [label.get_text() for label in ax.get_yticklabels()]
    assert labels == [r"\$x_1\$", "a" * 31 + "…", "line·break", "(no name)"]


def test_plots_use_the_given_axes():
    _, axes = plt.subplots(1, 2)
    assert draw_ranking(Scored([2, 1], 1), ax=axes[1]) is axes[1]
    assert not axes[0].patches


@pytest.mark.parametrize("n", [0, -1, "3", 2.0, True])
def test_an_invalid_number_of_features_is_refused(n):
    with pytest.raises(InputError, match="n must be an integer of at least 1"):
        draw_ranking(Scored([2, 1], 1), n=n)


def test_the_result_of_rank_is_drawn():
    rng = np.random.default_rng(0)
    ranking = rank(rng.normal(size=(40, 6)), np.arange(40) % 2, n_features_to_select=2)
    ax = drawn(draw_ranking(ranking, n=4))
    assert [label.get_text() for label in ax.get_yticklabels()] == ranking.best(4)
    assert_allclose([bar.get_width() for bar in ax.patches], ranking.scores[ranking.order[:4]])


def test_without_matplotlib_the_extra_is_named(monkeypatch):
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name.split(".")[0] == "matplotlib":
            raise ModuleNotFoundError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=r'pip install "graphsieve\[plot\]"'):
        draw_ranking(Scored([2, 1], 1))


def test_the_axis_label_of_an_iterative_search():
    X = np.random.default_rng(0).normal(size=(30, 4))
    assert (
        rank(X, method="iterative").plot().get_xlabel().startswith("iterative score (small is good")
    )
    assert rank(X).plot().get_xlabel().startswith("share explained alone")
