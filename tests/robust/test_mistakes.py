"""Every mistake of `mistakes` is answered, and the remedy of the answer works when it is typed."""

import contextlib
import io
import logging
import re
import shlex

import numpy as np
import pandas as pd
import pytest

import ssi_core as ssi
from flows.cli import cli
from ssi_core.command.verb import run
from tests.robust import mistakes
from tests.robust.mistakes import COMMANDS, DONE
from tests.robust.mistakes_in_python import CALLS

pytestmark = [pytest.mark.trains, pytest.mark.usefixtures("few_settings")]


class Place:
    """A directory with the files and artefacts that mistakes name."""

    def __init__(self, here):
        self.here, self.outs = here, 0
        self.remedies = {}

    def type(self, words):
        """Run a command; return its exit code, and what it printed."""
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            code = run(cli, shlex.split(words))
        lines = [line for line in printed.getvalue().splitlines() if line[:9] != "ssi: root"]
        return code, " ".join(" ".join(lines).split())

    def remedied(self, words):
        """Run a command that many mistakes have as their remedy once; return what `type` does."""
        if words not in self.remedies:
            self.remedies[words] = self.type(self.filled(words))
        return self.remedies[words]

    def filled(self, words):
        """Give a command a place of its own for what it writes."""
        self.outs += 1
        return words.replace("OUT", f"out{self.outs}")


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    here = tmp_path_factory.mktemp("mistakes")
    mistakes.write(here)
    with pytest.MonkeyPatch.context() as patch, contextlib.chdir(here):
        patch.setenv("SSI_ROOT", str(here / "root"))
        place = Place(here)
        for words in mistakes.MADE:
            code, printed = place.type(words)
            assert code == DONE, printed
        yield place


@pytest.mark.parametrize("row", COMMANDS, ids=str)
def test_a_mistake_is_answered_and_its_remedy_works_when_typed(row, place):
    code, answer = place.type(place.filled(row.words))
    assert (code, row.said in answer) == (row.code, True), answer
    assert "Traceback" not in answer
    if not row.then:
        return
    found = re.search(row.remedy, answer)
    assert found, answer
    typed = row.then.replace("{}", found[1] if row.remedy else "")
    for name, value in row.filled.items():
        assert name in typed, typed
        typed = typed.replace(name, value, 1)
    code, printed = place.remedied(typed)
    assert code == DONE, f"{typed}\n{printed}"


@pytest.fixture(scope="module")
def names(place):
    """What the calls name."""
    df = pd.read_json(place.here / "articles.jsonl", lines=True)
    links = pd.read_csv(place.here / "links.csv")
    (place.here / "a.xyz").write_text("id,text\n1,a car\n")
    docs = ssi.read(df, links)
    task = ssi.Task.of(docs, relevant="link")
    model = ssi.SSI(budget=400).fit(task)
    asked = {f"q{n}": word for n, word in enumerate(["boats1", "birds1", "music1"] * 5)}
    relevant = [(q, f"d{n}", 1) for k, q in enumerate(asked) for n in range(k % 3, 40, 8)]
    judged = {"QUERIES": list(asked.items()), "QRELS": relevant}
    found = {"df": df, "links": links, "docs": docs, "task": task, "model": model}
    return {"ssi": ssi, "np": np, "pd": pd, **found, "index": model.index(docs), **judged}


@pytest.mark.parametrize("row", CALLS, ids=str)
def test_a_mistake_in_python_is_answered_and_its_remedy_works_when_called(row, names, caplog):
    caplog.set_level(logging.WARNING)
    if row.raised is None:
        answer = f"{eval(row.code, names)}\n{caplog.text}"
    else:
        with pytest.raises(row.raised) as raised:
            eval(row.code, names)
        answer = str(raised.value)
        assert "--" not in answer
        assert "/ssi-" not in answer
    assert row.said in answer
    if not row.then:
        return
    found = re.search(row.remedy, answer)
    assert found, answer
    remedy = found[1] if row.remedy else ""
    for name, value in row.filled.items():
        assert name in remedy
        remedy = remedy.replace(name, value, 1)
    assert eval(row.then.replace("{}", remedy), names) is not None
