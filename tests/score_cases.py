"""Cases for all scores: a function, its supervision and its parameters."""

from __future__ import annotations

from typing import Any

import numpy as np

# Each case has a name, the positional arguments after X, and keywords. The bandwidths are large
# enough for distances to matter.
CASES: list[tuple[str, Any, dict[str, Any]]] = [
    ("laplacian_score", lambda q: (), {}),
    ("laplacian_score", lambda q: (), {"n_neighbors": 1, "bandwidth": 7.0}),
    ("laplacian_score", lambda q: (), {"n_neighbors": 50, "bandwidth": 0.01}),
    ("variance_score", lambda q: (), {}),
    ("spec_score", lambda q: (), {}),
    ("spec_score", lambda q: (), {"form": "phi1", "n_neighbors": 3, "bandwidth": 20.0}),
    ("spec_score", lambda q: (), {"form": "phi1", "power": 3, "bandwidth": 20.0}),
    ("spec_score", lambda q: (), {"form": "phi2", "power": 4, "bandwidth": 20.0}),
    ("spec_score", lambda q: (), {"form": "phi3", "bandwidth": 20.0}),
    ("spec_score", lambda q: (), {"form": "phi3", "power": 2, "bandwidth": 20.0}),
    ("supervised_laplacian_score", lambda q: (np.nan_to_num(q.targets),), {}),
    (
        "supervised_laplacian_score",
        lambda q: (np.nan_to_num(q.targets),),
        {"n_neighbors": 1, "bandwidth": 0.3},
    ),
    ("semi_supervised_laplacian_score", lambda q: (q.targets,), {}),
    (
        "semi_supervised_laplacian_score",
        lambda q: (q.targets,),
        {"n_neighbors": 3, "n_neighbors_supervised": 2, "bandwidth": 2.0, "label_weight": 3.0},
    ),
    ("constraint_score", lambda q: (q.must_link, q.cannot_link), {}),
    (
        "constraint_score",
        lambda q: (q.must_link, q.cannot_link),
        {"form": "difference", "weight": 0.7},
    ),
    ("constrained_laplacian_score", lambda q: (q.must_link, q.cannot_link), {"bandwidth": 5.0}),
    (
        "constrained_laplacian_score",
        lambda q: (q.must_link, q.cannot_link),
        {"n_neighbors": 2, "cut_cannot_link": True},
    ),
    (
        "constrained_laplacian_score",
        lambda q: (q.must_link, np.empty((0, 2), dtype=int)),
        {"bandwidth": 5.0},
    ),
    ("c4_score", lambda q: (q.must_link, q.cannot_link), {"n_neighbors": 3, "bandwidth": 5.0}),
    ("weighted_laplacian_score", lambda q: (q.probabilities,), {}),
    ("weighted_laplacian_score", lambda q: (q.probabilities,), {"class_weight": "balanced"}),
    ("fisher_score", lambda q: (q.labels,), {}),
    ("pearson_score", lambda q: (np.nan_to_num(q.targets),), {}),
    ("relieff_score", lambda q: (q.labels,), {"n_neighbors": 2}),
    ("relieff_score", lambda q: (q.labels,), {}),
    ("sselect_score", lambda q: (q.labels,), {"bandwidth": 5.0}),
    ("sselect_score", lambda q: (q.labels,), {"n_neighbors": 3, "trade_off": 0.6}),
    ("lsdf_score", lambda q: (q.labels,), {}),
    ("lsdf_score", lambda q: (q.labels,), {"n_neighbors": 2, "same_class_weight": 3.0}),
]
# The estimators of mutual information are defined only for values in general position.
TIE_FREE_CASES: list[tuple[str, Any, dict[str, Any]]] = [
    ("mutual_information_score", lambda q: (q.labels,), {}),
    (
        "mutual_information_score",
        lambda q: (np.where(np.isnan(q.targets), 0.123, q.targets) + np.arange(len(q.X)),),
        {},
    ),
    ("mutual_information_score", lambda q: (q.labels,), {"n_neighbors": 1}),
]
