"""The command in this process, in an empty folder."""

from __future__ import annotations

import pytest

from command import Answer
from graphsieve.cli import main


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run(folder, capsys):
    """The command; how it ends is for the test to say."""

    def call(*arguments):
        try:
            code = main([str(one) for one in arguments])
        except SystemExit as end:
            code = end.code
        out, err = capsys.readouterr()
        assert "Traceback" not in err
        return Answer(code, out, err)

    return call


@pytest.fixture
def succeed(run):
    """The command; it must succeed."""

    def call(*arguments):
        answer = run(*arguments)
        assert answer.code == 0, answer.err
        return answer

    return call
