"""Names of Python parameters on the command line, and advice that differs there."""

from __future__ import annotations

import shlex

from graphsieve._base.messages import Message, Part

OPTIONS = {
    # reading a table
    "id_column": "--id-column",
    "categorical": "--categorical",
    "numeric": "--numeric",
    "exclude": "--exclude",
    "keep_counter": "--keep-counter",
    "missing": "--missing",
    "na_values": "--na-values",
    "decimal": "--decimal",
    "thousands": "--thousands",
    "feature_groups": "--feature-groups",
    "keep": "--keep-feature",
    "candidates": "--candidates",
    "cost": "--costs",
    "sep": "--sep",
    "encoding": "--encoding",
    "header": "--no-header",
    "comment": "--comment",
    "key": "--key",
    "format": "--input-format",
    "max_bytes": "--max-bytes",
    "keep_na_text": "--keep-na-text",
    # supervision
    "target_type": "--target-type",
    "unlabeled": "--unlabeled",
    "normalize": "--normalize-proba",
    "groups": "--subject-column",
    "confidence": "--confidence-column",
    "sample_weight": "--weight-column",
    # ranking
    "method": "--method",
    "n_features_to_select": "--top",
    "max_features": "--max-features",
    "redundancy": "--redundancy",
    "scale": "--scale",
    "metric": "--metric",
    "compress": "--compress",
    "n_prototypes": "--prototypes",
    "n_neighbors": "--neighbors",
    "neighbors": "--neighbor-search",
    "bandwidth": "--bandwidth",
    "method_params": "--param",
    "random_state": "--seed",
    "n_jobs": "--jobs",
    # comparing
    "methods": "--methods",
    "sizes": "--sizes",
    "learners": "--learners",
    "folds": "--folds",
    "repeats": "--repeats",
    # the papers
    "download": "--no-download",
}
# Parameters that are files or columns on the command line, and other phrases of the Python API
WORDS = {
    "X": "the table",
    "y": "the target",
    "label_proba": "the table of probabilities",
    "feature": "column",
    "features": "columns",
    "samples": "rows",
    "pass": "add",
    "they are NaN": "they have no score",
    "replace it by None": "leave its cells empty, or name it in --na-values for a text file,",
    "X by a constant": "its numbers by a constant",
    "compress is None": "nothing is to be compressed",
    "no supervision is available": (
        "no supervision is available; name a column of labels or targets with --target"
    ),
    "pass y with some of them": "name them by --target",
    "requires y to be passed, but the target y is None; pass y or supervision": (
        "needs a target; name a column of classes by --target"
    ),
    "target_type= sets the kind of y": "--target-type sets the kind of the target",
    "name the columns with classes=": "let its columns have the names of the classes",
    "pass a dict with different names": "name each once",
    "pass groups with a different entry for each sample": (
        "name a column with a different entry for each row in --subject-column"
    ),
}


def for_the_command(message: Message) -> str:
    """Return the message on one line, with options instead of parameters."""
    return " ".join(message.worded(_in_options).split())


def _in_options(part: Part) -> str:
    if part.name not in OPTIONS:
        return WORDS.get(part if part.kind == "phrase" else part.name, part)
    by_prefix = part.kind == "parameter" and isinstance(part.value, str)
    option = OPTIONS[part.name]
    if part.name == "feature_groups" and by_prefix:
        option = "--group-by-prefix"
    if part.kind == "parameter" or part.value is ... or isinstance(part.value, bool):
        return option
    return f"{option} {'none' if part.value is None else _for_the_shell(str(part.value))}"


def _for_the_shell(value: str) -> str:
    """Return the value in quotes if a shell needs them."""
    return f'"{value}"' if value == "'" else shlex.quote(value)
