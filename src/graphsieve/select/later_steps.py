"""A warning if the last step of a pipeline would take the mark of unlabelled samples for a class."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from sklearn.base import is_classifier, is_regressor
from sklearn.pipeline import Pipeline

from graphsieve._base.errors import held_back, warn
from graphsieve.select.labeled import LabeledOnly
from graphsieve.supervision.parsing import marked_samples

READS_MARKS = "sklearn.semi_supervised"  # Its estimators treat −1 as unlabelled.


def warn_of_marks_in_later_steps(y: Any, unlabeled: int | None) -> None:
    """Warn if a pipeline runs, some labels in y are marked as unknown, and its last step is a model.

    Models of scikit-learn take the mark for one more class. Missing labels (NaN, None) need no
    warning, because these models refuse them.
    """
    pipeline = _running_pipeline()
    if pipeline is None or not _takes_marks_for_labels(pipeline.steps[-1][1]):
        return
    with held_back():  # The fit has warned of y already.
        n_marked = int(np.count_nonzero(marked_samples(y, unlabeled)))
    if n_marked:
        model = type(pipeline.steps[-1][1]).__name__
        warn(
            f"{n_marked} samples are unlabelled ({unlabeled}), but {model} takes {unlabeled} for an "
            f"ordinary label; use LabeledOnly({model}(…)) as the last step of the pipeline."
        )


def _running_pipeline() -> Pipeline | None:
    """Return the innermost pipeline that is being fitted, or None.

    A step does not know its pipeline, so the pipeline is found in the call stack.
    """
    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_globals.get("__name__") == "sklearn.pipeline":
            found = frame.f_locals.get("self")
            if isinstance(found, Pipeline):
                return found
        frame = frame.f_back  # type: ignore[assignment]
    return None


def _takes_marks_for_labels(model: Any) -> bool:
    """Whether a model is neither restricted to labelled samples nor able to read the mark."""
    if not hasattr(model, "get_params") or not (is_classifier(model) or is_regressor(model)):
        return False
    parts = [model, *model.get_params().values()]
    return not any(
        isinstance(part, LabeledOnly) or type(part).__module__.startswith(READS_MARKS)
        for part in parts
    )
