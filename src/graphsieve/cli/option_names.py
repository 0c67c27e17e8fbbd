"""Messages of the library in the words of the command line: a person there sees options, not
keyword arguments.
"""

from __future__ import annotations

import re
from collections.abc import Callable

_WORDS = (
    ("pass unlabeled=None", "add --unlabeled none"),
    ("pass normalize=True to accept", "add --normalize-proba to accept"),
    ("n_features_to_select", "--top"),
    ("max_features", "--max-features"),
    ("n_neighbors", "--neighbors"),
    ("neighbors", "--neighbor-search"),
    ("method_params", "--param"),
    ("n_prototypes=", "--prototypes "),
    ("n_prototypes", "--prototypes"),
    ("compress is None", "nothing is to be compressed"),
    ("leave compress out", "leave --compress out"),
    ("compress belongs", "--compress belongs"),
    ("target_type= says what y is", "--target-type says what the target is"),
    ("methods names one", "--methods names one"),
    ("sizes holds", "--sizes holds"),
    ("random_state", "--seed"),
    ("label_proba", "the table of probabilities"),
    ("y must hold", "the target must hold"),
    ("pass y with some of them", "name them by --target"),
    (
        "but nothing is known of the samples.",
        "but nothing is known of the samples; name a column of them by --target.",
    ),
    ("they are NaN and rank last", "they have no score and rank last"),
    ("X has ", "the table has "),
    ("; divide X by a constant first", "; divide its numbers by a constant first"),
    ("; multiply X by a constant first", "; multiply its numbers by a constant first"),
    ("name the columns with classes=", "let its columns have the names of the classes"),
    ("pass a dict with different names", "name each once"),
    ("; key chooses", "; --key chooses"),
    ("; sep ", "; --sep "),
    ("; encoding ", "; --encoding "),
    ("; header ", "; --no-header "),
    ("; comment ", "; --comment "),
    ("sep must be", "--sep must be"),
    ("comment must be", "--comment must be"),
    ("format must be one of", "--input-format must be one of"),
)


_SETTING = re.compile(r"\b(method|compress|scale|metric|neighbors|redundancy|target_type)='(\w+)'")
_OTHERWISE = {"neighbors": "neighbor-search"}  # --neighbors is their number
_QUOTED = re.compile(r"""((?<!\w)(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"))""")


def for_the_command(message: str) -> str:
    """The message with options in the place of keyword arguments; on one line. What stands in
    quotes is somebody's data.
    """
    message = _SETTING.sub(
        lambda found: f"--{_OTHERWISE.get(found[1], found[1].replace('_', '-'))} {found[2]}",
        message,
    )
    return " ".join(outside_quotes(message, _in_options).split())


def outside_quotes(message: str, change: Callable[[str], str]) -> str:
    """The message with its own words changed, and nobody's data."""
    parts = _QUOTED.split(message)
    parts[::2] = map(change, parts[::2])
    return "".join(parts)


def _in_options(text: str) -> str:
    for ours, theirs in _WORDS:
        before, after = (
            r"(?<![\w.-])" if ours[0].isalnum() else "",
            r"(?!\.?\w)" if ours[-1].isalnum() else "",
        )
        text = re.sub(before + re.escape(ours) + after, theirs, text)
    return text
