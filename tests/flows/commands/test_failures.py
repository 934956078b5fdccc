"""An error that a verb raises: its kind, its exit code, and what is said of it."""

import errno
import json
import os

import click
import pytest

from ssi_core.command.verb import Verb, Verbs, run
from ssi_core.types import BadInput, Refused

ROOM = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "/a/file")


def caused(error, cause):
    error.__cause__ = cause
    return error


ERRORS = {
    "unforeseen": (ZeroDivisionError("by\nzero"), 1, "failed", "ZeroDivisionError: by zero"),
    "bad input": (BadInput("a.csv: line 3"), 3, "bad input", "a.csv: line 3"),
    "bad input of a part": (caused(RuntimeError("a part"), BadInput("a.csv")), 3, "bad input", "a"),
    "bad input for want of room": (
        *(caused(BadInput("a.csv: line 3"), ROOM), 3, "bad input", "a.csv: line 3"),
    ),
    "refused": (Refused("too large"), 4, "refused", "too large"),
    "no room": (ROOM, 4, "refused", "What was whole is left as it was."),
    "no room for a part": (caused(RuntimeError("a part"), ROOM), 4, "refused", "What was whole is"),
    "no right": (PermissionError(errno.EACCES, "no", "/a/file"), 4, "refused", "Give this user"),
    "no such disk": (
        FileNotFoundError(errno.ENOENT, "no", "/proc/x"),
        4,
        "refused",
        "/proc: nothi",
    ),
    "no such file": (FileNotFoundError(errno.ENOENT, "no", "/tmp/x"), 1, "failed", "FileNotFound"),
    "files": (OSError(errno.EMFILE, "no", "/a/file"), 4, "refused", "/a/file: too many files are"),
    "memory": (MemoryError(), 4, "refused", "memory"),
}


@pytest.mark.parametrize("error", ERRORS)
def test_an_error_is_told_by_its_kind_and_its_exit_code(error, capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("SSI_ROOT", str(tmp_path))
    raised, code, kind, said = ERRORS[error]

    @click.group(cls=Verbs)
    def made():
        """Verbs of this test."""

    @made.command(cls=Verb, name="work")
    def work():
        raise raised

    assert run(made, ["work", "--json"]) == code
    out, log = capsys.readouterr()
    told = json.loads(out)["error"]
    assert told["kind"] == kind
    assert said in told["message"]
    assert f"ssi: {kind}: " in log
