"""Tests of means with standard errors: decisions, formatting and combination."""

from __future__ import annotations

import math

import numpy as np
import pytest

from graphsieve.papers.estimate import (
    Estimate,
    estimates,
    holds,
    listed,
    series,
    together,
    worst,
    written,
)
from graphsieve.papers.results import Cell, Series, Verdict
from graphsieve.report.wording import joined


def test_an_estimate_is_a_mean_with_its_standard_error():
    """Values −1, 0, 1 have a deviation of 1 and a standard error of 1/√3.

    The 97.5 % quantile of Student's t with two degrees of freedom is 4.303.
    """
    found = Estimate.of([2.0, 3.0, 4.0])
    assert found == Estimate(3.0, pytest.approx(3**-0.5), 3)
    assert found.margin() == pytest.approx(4.303 / 3**0.5, abs=1e-3)
    assert not found.clearly_below(5.4)
    assert found.clearly_below(5.5)
    assert found.clearly_above(0.5)
    assert not found.clearly_above(0.6)
    assert math.isnan(Estimate.of([3.0]).error)
    assert math.isnan(Estimate.of([]).mean)


def test_standard_errors_are_counted():
    assert Estimate(2.01, 1.0).above()
    assert not Estimate(1.99, 1.0).above()
    assert Estimate(-3.01, 1.0).below(errors=3)
    assert not Estimate(-2.99, 1.0).below(errors=3)
    assert Estimate(92.01, 1.0).above(90)
    assert Estimate(87.99, 1.0).below(90)


def test_few_repetitions_have_a_wider_margin():
    # Two standard errors of the normal leave 2.275 % on either side; Student's t with 5 degrees of
    # freedom has 2.649 there (and 2.571 at 2.5 % in every table), with 10,000 degrees 2.0.
    assert Estimate(2.01, 1.0, 10_001).clearly_above(0, 2)
    assert not Estimate(1.99, 1.0, 10_001).clearly_above(0, 2)
    assert not Estimate(2.6, 1.0, 6).clearly_above(0, 2)
    assert Estimate(2.7, 1.0, 6).clearly_above(0, 2)
    assert Estimate(-2.7, 1.0, 6).clearly_below(0, 2)
    assert not Estimate(2.7, 1.0, 6).clearly_below(0, 2)
    assert Estimate(2.6, 1.0, 6).clearly_above(0)  # beyond the interval of 95 %
    assert Estimate(2.6, 1.0).margin(3) == pytest.approx(3)
    assert not Estimate(5.0, math.nan, 1).clearly_above(0, 2)  # one repetition proves nothing
    assert not Estimate(-5.0, math.nan, 1).clearly_below(0, 2)


def test_together():
    """(1 + 3) / 2, and √(3² + 4²) / 2."""
    assert together([Estimate(1, 3, 9), Estimate(3, 4, 5)]) == Estimate(2.0, 2.5)
    of_both = together([Estimate.of([1.0, 3.0]), Estimate.of([2.0, 2.0])])
    assert (of_both.mean, of_both.error) == pytest.approx((2.0, 0.5))


def test_cells_and_curves_have_errors_where_there_are_repetitions():
    columns = estimates(np.array([[1.0, 5.0], [3.0, 5.0]]))
    assert columns == [Estimate(2.0, pytest.approx(1.0), 2), Estimate(5.0, 0.0, 2)]
    assert columns[0].cell("row", "column", 7.0) == Cell(
        "row", "column", 7.0, 2.0, pytest.approx(1.0)
    )
    assert series("name", (10, 20), columns) == Series(
        "name", (10.0, 20.0), (2.0, 5.0), (pytest.approx(1.0), 0.0)
    )
    once = estimates(np.array([[1.0, 5.0]]))
    assert once[0].cell("row", "column") == Cell("row", "column", None, 1.0, None)
    assert series("name", (1, 2), once) == Series("name", (1.0, 2.0), (1.0, 5.0), None)


def test_prose():
    assert str(Estimate(1.26, 0.52)) == f"{Estimate(1.26, 0.52)}" == "+1.3 ± 0.5"
    assert str(-Estimate(1.26, 0.52)) == "−1.3 ± 0.5"
    assert f"{Estimate(71.256, 0.52):.2f}" == "71.26 ± 0.52"
    assert [written(value) for value in (-1.26, -0.04, 0.0, 0.04, 0.06)] == [
        "−1.3",
        "0.0",
        "0.0",
        "0.0",
        "+0.1",
    ]
    assert [written(value, ".0f") for value in (-10.0, -0.4, 20.0)] == ["−10", "0", "20"]
    assert [joined(range(1, end)) for end in (1, 2, 3, 4)] == ["", "1", "1 and 2", "1, 2 and 3"]
    assert (
        listed({"one": Estimate(1, 0.5), "two": Estimate(-2, 0.5)})
        == "one +1.0 ± 0.5; two −2.0 ± 0.5"
    )


def test_verdicts():
    assert (holds(True), holds(False)) == (Verdict.HOLDS, Verdict.FAILS)
    assert worst([Verdict.HOLDS, Verdict.CORRECTED]) is Verdict.CORRECTED
    assert worst([Verdict.FAILS, Verdict.CORRECTED, Verdict.HOLDS]) is Verdict.FAILS
    assert worst([Verdict.HOLDS]) is Verdict.HOLDS
