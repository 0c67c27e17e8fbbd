"""Mutual information: its parts against naive versions, including ties, and simple known cases."""

from __future__ import annotations

import math

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from graphsieve.scores.information import (
    _count_within,
    _distance_to_neighbor,
    information_with_classes,
    information_with_target,
)
from strategies import grid_values

vectors = hnp.arrays(np.float64, st.integers(2, 20), elements=grid_values(-6, 6))


@given(values=vectors, k=st.integers(1, 5))
def test_distance_to_the_kth_neighbor(values, k):
    k = min(k, len(values) - 1)
    expected = [np.sort(np.delete(np.abs(values - v), i))[k - 1] for i, v in enumerate(values)]
    assert_array_equal(_distance_to_neighbor(values, k), expected)


@given(values=vectors, seed=st.integers(0, 99), scale=st.sampled_from([1.0, 0.1, 1 / 3, 1e-9]))
def test_count_within_a_radius_is_by_differences(values, seed, scale):
    """Values such as 0.1 · 3 lie very close to each interval end. The difference itself must
    decide.
    """
    values = values * scale + 0.7
    radius = np.abs(values - np.random.default_rng(seed).permutation(values))
    expected = [(np.abs(values - v) <= r).sum() for v, r in zip(values, radius, strict=True)]
    assert_array_equal(_count_within(values, radius), expected)


def test_a_copy_of_the_classes_has_all_their_information():
    """For a feature equal to the class code, all neighbours coincide. The information is the
    entropy, with digamma in place of log.
    """
    codes = np.repeat([0, 1], 500)
    assert information_with_classes(codes.astype(float), codes, 3) == pytest.approx(
        math.log(2), abs=2e-3
    )


def test_discrete_noise_has_no_information():
    rng = np.random.default_rng(0)
    codes, noise = rng.integers(0, 3, 3000), rng.integers(0, 4, 3000).astype(float)
    assert information_with_classes(noise, codes, 3) < 0.01


def test_gaussian_pair_has_the_information_of_its_correlation():
    rng = np.random.default_rng(1)
    x = rng.normal(size=4000)
    y = 0.8 * x + 0.6 * rng.normal(size=4000)
    assert information_with_target(x, y, 3) == pytest.approx(-0.5 * math.log(1 - 0.64), abs=0.05)


def test_classes_of_one_sample_are_left_out():
    assert information_with_classes(np.arange(4.0), np.arange(4), 3) == 0.0
