"""The promise of test_bad_input, for what is public beside the sieves and scores: an answer, or our own error in one line."""

from __future__ import annotations

import os
import socket
import stat

import numpy as np
import pytest

from graphsieve import InputError, InputTypeError, rank
from graphsieve.tables import write_table
from strategies import frozen

N = 24
RNG = np.random.default_rng(3)
X = frozen(RNG.normal(size=(N, 4)) + np.outer(np.arange(N) % 2, [3, 0, 1, 0]))
Y = frozen(np.arange(N) % 2)


# ---------------------------------------------------------------------------------------------------------------------------
# Files that are written
# ---------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("link", [False, True], ids=["named", "linked"])
@pytest.mark.parametrize("kind", ["pipe", "socket"])
def test_what_is_no_ordinary_file_is_never_replaced(tmp_path, kind, link):
    """A file moved to the place of a device would take it from everybody; a pipe and a socket stand for it here."""
    there = tmp_path / "there.csv"
    if kind == "pipe":
        os.mkfifo(there)
    else:
        with socket.socket(socket.AF_UNIX) as bound:
            bound.bind(str(there))
    before = there.stat()
    named = there
    if link:
        named = tmp_path / "link.csv"
        named.symlink_to(there)
    ranking = rank(X, Y, method="fisher")
    for write in (lambda: ranking.to_html(named), lambda: write_table(named, {"a": [1.0]})):
        if link:  # the link is replaced, as everywhere; what it leads to is not
            write()
        else:
            with pytest.raises(InputError, match="is no ordinary file; write elsewhere"):
                write()
    assert (there.stat().st_ino, stat.S_IFMT(there.stat().st_mode)) == (before.st_ino, stat.S_IFMT(before.st_mode))
    assert not list(tmp_path.glob(".graphsieve-*"))


@pytest.mark.parametrize("name", [b"a.csv", 5, "a\0.csv", object()], ids=["bytes", "number", "NUL", "object"])
def test_what_cannot_name_a_file(name):
    ranking = rank(X, Y, method="fisher")
    for write in (lambda: ranking.to_html(name), lambda: write_table(name, {"a": [1.0]})):
        with pytest.raises(InputError, match=r"^(a file must be named by|the name of a file holds)") as caught:
            write()
        assert "\n" not in str(caught.value)


def test_a_comparison_that_is_none():
    ranking = rank(X, Y, method="fisher")
    for other in (5, "fisher", ranking, {}):
        with pytest.raises(InputTypeError, match=r"comparison must be what graphsieve\.compare gives"):
            ranking.to_html(comparison=other)
