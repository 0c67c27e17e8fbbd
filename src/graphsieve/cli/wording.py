"""Messages of the library in the words of the command line: a person there sees options, not keyword arguments."""

from __future__ import annotations

_WORDS = (
    ("pass unlabeled=None", "add --unlabeled none"),
    ("target_type='classes' or target_type='continuous'", "--target-type classes or --target-type continuous"),
    ("pass normalize=True to accept", "add --normalize-proba to accept"),
    ("n_features_to_select", "--top"),
    ("max_features", "--max-features"),
    ("n_neighbors", "--neighbors"),
    ("method_params", "--param"),
    ("random_state", "--seed"),
    ("label_proba", "the table of probabilities"),
    ("y must hold", "the target must hold"),
    ("pass y with some of them", "name them by --target"),
    ("X has ", "the table has "),
    ("; key chooses", "; --key chooses"),
    ("; sep ", "; --sep "),
    ("; encoding ", "; --encoding "),
    ("; header ", "; --no-header "),
    ("; comment ", "; --comment "),
    ("sep must be", "--sep must be"),
    ("comment must be", "--comment must be"),
    ("format must be one of", "--input-format must be one of"),
)


def for_the_command(message: str) -> str:
    """The message with options in the place of keyword arguments; on one line."""
    for ours, theirs in _WORDS:
        message = message.replace(ours, theirs)
    return " ".join(message.split())
