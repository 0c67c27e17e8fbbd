"""Data sets: generators for the artificial problems of the papers, and real data by name."""

from graphsieve.datasets.artificial import (
    ExpertLabels,
    make_circle,
    make_expert_labels,
    make_regression_problem,
    make_spheres,
    make_squares,
    make_waveform,
    make_y4,
    make_y5,
)
from graphsieve.datasets.catalog import DATASETS
from graphsieve.datasets.dataset import Dataset, DataUnavailableError
from graphsieve.datasets.loading import load

__all__ = [
    "DATASETS",
    "DataUnavailableError",
    "Dataset",
    "ExpertLabels",
    "load",
    "make_circle",
    "make_expert_labels",
    "make_regression_problem",
    "make_spheres",
    "make_squares",
    "make_waveform",
    "make_y4",
    "make_y5",
]
