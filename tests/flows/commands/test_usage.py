"""A wrong use of a verb is answered with what is to be typed, word for word."""

import pytest

from flows.cli import cli
from ssi_core.command.verb import run

pytestmark = pytest.mark.usefixtures("own_root")

ANSWERS = {
    ("search", "m", "old", "boats"): (
        "Got unexpected extra argument (boats). If it belongs to TEXT, put quotes around all of it:"
        " 'old boats'"
    ),
    ("search", "m", "old", "sailing boats", "here"): (
        "Got unexpected extra arguments (sailing boats here). If it belongs to TEXT, put quotes"
        " around all of it: 'old sailing boats here'"
    ),
    ("search", "m"): (
        "Missing argument 'TEXT'. For example: ssi search models:/ssi@champion \"old automobile\""
    ),
    ("search", "m", "boats", "-k"): "Option '-k' requires an argument. Type: -k N",
    ("fit", "a.csv", "--export", "x"): (
        "Option '--export' requires 2 arguments. Type: --export TARGET DIR"
    ),
    ("search", "--sng", "x"): "No such option '--sng'. Did you mean '--json'?",
    ("search", "m", "boats", "--qzzx"): "No such option '--qzzx'.",
    ("serch", "m"): "No such command 'serch'. Did you mean 'ssi search'?",
    ("lab", "qzzx"): "No such command 'qzzx'. Known: evaluate, neighbours, pipeline, train, "
    "estimate, export-trec.",
}


@pytest.mark.parametrize(("words", "answer"), ANSWERS.items())
def test_a_wrong_use_is_answered_with_what_is_to_be_typed(words, answer, capsys):
    assert run(cli, words) == 2
    said = capsys.readouterr().err.partition("Error: ")[2]
    assert " ".join(said.split()) == answer
