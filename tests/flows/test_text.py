"""Data on a terminal: titles, ids, labels, paths and messages are text, and nothing else."""

from __future__ import annotations

import io
import json
import logging
import unicodedata
from pathlib import Path

import click
import numpy as np
import polars as pl
import pytest
from rich.text import Text

from flows import tracking
from flows.cli import cli
from flows.reporting import compare
from flows.training.workers import Workers
from ssi_core.command.data import artefact_outcome
from ssi_core.command.verb import Outcome, Verb, Verbs, run
from ssi_core.experiment import parse_table
from ssi_core.face.screen import Screen
from ssi_core.face.show import shown
from ssi_core.store import Artefact
from tests.corpora import write_corpus
from tests.flows import comparisons
from tests.flows.project import SUBJECTS
from tests.seals import reseal

pytestmark = pytest.mark.trains

EVIL = "[/i]E[bold]vil\x1b]0;t\x07\x1b[31m\u202egnp\u2066.exe\x9b2J\x85:smile:\rover"
SAFE = "[/i]E[bold]vil\\u001b]0;t\\u0007\\u001b[31m\\u202egnp\\u2066.exe\\u009b2J\\u0085:smile:"


def obeyed(text):
    """Characters that a terminal would obey, but for the ends of lines."""
    return [
        sign
        for sign in text
        if sign != "\n"
        and (unicodedata.category(sign) in ("Cc", "Cs") or unicodedata.bidirectional(sign) in BIDI)
    ]


BIDI = ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")


@pytest.mark.parametrize("sign", [chr(n) for n in [*range(32), *range(0x7F, 0xA0), 0x2028, 0xD800]])
def test_a_control_character_is_written_out(sign):
    if sign in "\t\n":
        assert shown(sign) == sign
    else:
        assert shown(f"a{sign}b") == f"a\\u{ord(sign):04x}b"
    line = json.dumps({"title": f'"\\{sign}'}, ensure_ascii=False)
    assert json.loads(shown(line)) == {"title": f'"\\{sign}'}


@pytest.fixture(scope="module")
def evil(tmp_path_factory):
    """A model whose documents have hostile titles and ids."""
    from ssi_core.models.latent.lsi import Lsi
    from ssi_core.serving.index import build_index
    from ssi_core.tasks.reading import raw_texts
    from ssi_core.tasks.task import build_task, open_task

    path = tmp_path_factory.mktemp("evil [i]")
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(SUBJECTS[n % 3].split(), 20)) for n in range(30)]
    links = [(n, (n + 3 * k) % 30) for n in range(30) for k in range(1, 5)]
    corpus = write_corpus(path / "corpus", texts, links)
    for part in (corpus / "documents").glob("*.parquet"):
        frame = pl.read_parquet(part, glob=False)
        text = pl.col("text") + " " + EVIL
        evil = frame.with_columns(title=EVIL + " " + pl.col("id"), url=pl.lit(EVIL), text=text)
        evil.write_parquet(part)
    reseal(corpus)
    task = open_task(build_task(corpus, path / "task").path)
    fitted = Lsi(dimensions=3).fit(task, np.random.default_rng(0))
    fitted.save(path / "model")
    index, texts = path / "model" / "index", raw_texts(path / "task")
    build_index(fitted, task.documents, index, parents={"task": task.key}, texts=texts)
    return path


@pytest.mark.usefixtures("own_root")
@pytest.mark.parametrize(
    "call",
    [
        ["search", "{model}", "moon"],
        ["rank", "match", "{model}", "{page}"],
        ["explain", "{model}", "moon rocket", f"{EVIL} d4"],
        ["lab", "neighbours", "{model}", "moon", "car"],
    ],
    ids=lambda call: call[1] if call[0] in ("lab", "rank") else call[0],
)
def test_hostile_titles_are_shown_as_text(call, evil, capsys):
    (evil / "page").write_text("moon rocket planet")
    names = {"model": evil / "model", "page": evil / "page"}
    arguments = [str(part).format(**names) if "{" in part else part for part in call]
    assert run(cli, arguments) == 0
    out, log = capsys.readouterr()
    assert obeyed(out + log) == []
    if call[0] in ("search", "rank"):
        assert "".join(out.split()).count(SAFE) == 10
    assert run(cli, [*arguments, "--json"]) == 0
    out = capsys.readouterr().out
    assert obeyed(out) == []
    if call[0] in ("search", "rank"):
        assert json.loads(out)["results"][0]["title"].startswith(EVIL)


@pytest.mark.usefixtures("own_root")
@pytest.mark.parametrize(
    "call",
    [
        ["explain", "{model}", "moon", EVIL],
        ["lab", "neighbours", "{model}", EVIL],
        ["search", f"no{EVIL}", "moon"],
        ["data", "features", f"no{EVIL}\udc80"],
        ["lab", "train", f"no{EVIL}", "--task", "t", "--row", EVIL],
        ["data", "features", "{model}", "--words", EVIL],
        [EVIL],
    ],
    ids=str,
)
@pytest.mark.parametrize("more", [[], ["--json"], ["--verbose"]])
def test_errors_are_shown_as_text(call, more, evil, capsys):
    arguments = [part.format(model=evil / "model") for part in call]
    assert run(cli, [*arguments, *more]) in (2, 3)
    out, log = capsys.readouterr()
    assert obeyed(out + log) == []
    assert "[/i]E[bold]vil" in log


@pytest.mark.usefixtures("mlflow_root")
def test_labels_of_a_comparison_are_shown_as_text(task_dir, monkeypatch):
    rows = [{"label": EVIL, "model": "tfidf", "note": EVIL}, {"label": "[b]", "model": "bm25"}]
    claims = [{"above": EVIL, "below": "[b]", "measure": "map"}]
    table = {"name": "evil", "title": EVIL, "rows": rows, "claims": claims, "source": EVIL}
    declared = parse_table(table)
    for seed, label in enumerate((EVIL, "[b]")):
        with tracking.row_run(declared, declared.row(label), 0, "evil-1", task_dir) as made:
            made.report(comparisons.report(0.0, seed))
    screen = Screen(io.StringIO())
    compare.render(compare.compare("evil"), screen, slices=True)
    text = screen.file.getvalue()
    assert obeyed(text) == []
    assert SAFE in "".join(text.split())
    assert "[b]" in text


@click.group(cls=Verbs)
def noisy() -> None: ...


@noisy.command(cls=Verb)
def verb() -> Outcome:
    logging.getLogger("ssi_core.x").warning("title %s", EVIL)
    return Outcome({"title": EVIL}, lambda console: console.print(EVIL, {"title": EVIL}))


@pytest.mark.usefixtures("own_root")
def test_logs_and_whatever_a_verb_prints_are_shown_as_text(capsys):
    assert run(noisy, ["verb"]) == 0
    out, log = capsys.readouterr()
    assert obeyed(out + log) == []
    assert SAFE in out
    assert f"ssi: warning: title {SAFE}" in log
    assert run(noisy, ["verb", "--verbose"]) == 0
    assert f"WARNING ssi_core.x: title {SAFE}" in capsys.readouterr().err


def test_logs_of_worker_processes_are_shown_as_text(capfd):
    with Workers(1) as workers:
        workers.run("form", logging.getLogger("ssi_core.x").warning, "title %s", EVIL)
    log = capfd.readouterr().err
    assert obeyed(log) == []
    assert f"WARNING ssi_core.x: title {SAFE}" in log


def test_colours_stay_on_a_terminal(monkeypatch):
    for name in ("NO_COLOR", "TERM", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("FORCE_COLOR", "1")
    screen = Screen(io.StringIO())
    screen.print(Text(EVIL, "bold"))
    text = screen.file.getvalue()
    assert text.startswith("\x1b[1m[/i]E[bold]vil\\u001b")
    assert text.count("\x1b") == 2


def test_no_room_prints_around_the_screen():
    """What a verb shows goes through its console, and its own notices through `shown`."""
    root = Path(__file__).parents[2]
    files = [*root.glob("ssi_core/command/*.py"), *root.glob("flows/commands/*.py")]
    assert len(files) > 10
    for file in files:
        assert "Console(" not in file.read_text(), file


def test_a_scale_of_many_grades_is_one_line(capsys):
    gains = {f"{level / 10:g}": level / 10 for level in range(31)}
    artefact = Artefact(Path("log"), "collection", "k" * 64, {}, {}, {"gains": gains, "a": 1}, {})

    @click.command(cls=Verb)
    def show() -> Outcome:
        """Show."""
        return artefact_outcome(artefact)

    assert run(Verbs("ssi", commands={"show": show}), ["show"]) == 0
    assert "  gains: 31 of them, from 0 (0) to 3 (3)\n  a 1\n" in capsys.readouterr().out
