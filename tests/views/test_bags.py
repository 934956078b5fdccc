"""Counting that goes on after a kill; the task is bit by bit that of an undisturbed run."""

from functools import partial

import numpy as np
import pytest

from ssi_core.collection import open_collection
from ssi_core.tasks import reading
from ssi_core.tasks.task import build_task
from ssi_core.views import bags
from ssi_core.views.bags import count_bags
from ssi_core.views.lexicon import Lexicon, batches
from tests.corpora import topical, write_corpus
from tests.killing import beside, contents, run_killed

BATCH = 3000
DONE = "rename *.work/*/done.json"
"""The end of a batch: how far all files go."""
CALL = (  # in batches of BATCH bytes
    "from pathlib import Path\n"
    "from functools import partial\n"
    "from ssi_core.tasks import reading, task\n"
    "reading.batches = partial(reading.batches, most=3000)\n"
    "task.build_task(Path({corpus!r}), Path({out!r}))"
)
TEXTS = [b"a Cafe", "café naïve a".encode(), "ﬁn İstanbul ½ b".encode(), b"", "naïve Ⅷ c".encode()]


def quiet(fraction, message):
    pass


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    texts, links = topical()
    # Words that are found in Python, in the later batches too.
    texts = [f"{text} Café{i} naïve{i % 7} ﬁn{i}" for i, text in enumerate(texts)]
    return write_corpus(tmp_path_factory.mktemp("corpus") / "corpus", texts, links)


@pytest.fixture(scope="module")
def undisturbed(corpus, tmp_path_factory):
    out = tmp_path_factory.mktemp("undisturbed") / "task"
    build_task(corpus, out)
    return contents(out)


def batches_of(corpus):
    return len(list(reading.texts_of(open_collection(corpus))))


@pytest.mark.parametrize(
    ("name", "nth"),
    [
        (DONE, 1),
        (DONE, 5),
        ("mkdir *.partial/view", 1),
        ("unlink *.work/key", 1),
    ],
)
def test_a_killed_task_is_gone_on_from(corpus, undisturbed, tmp_path, monkeypatch, name, nth):
    out = tmp_path / "task"
    run_killed(CALL.format(corpus=str(corpus), out=str(out)), tmp_path, name, nth)
    assert beside(out)
    counted = []
    append = bags._append
    monkeypatch.setattr(bags, "_append", lambda *args: counted.append(1) or append(*args))
    monkeypatch.setattr(reading, "batches", partial(batches, most=BATCH))
    build_task(corpus, out)
    left = batches_of(corpus) - (nth - 1) if name == DONE else 0
    assert len(counted) == left
    assert contents(out) == undisturbed
    assert beside(out) == []


@pytest.mark.parametrize("stop", range(len(TEXTS) + 1))
def test_numbers_are_those_of_one_run(tmp_path, stop):
    whole = Lexicon("en")
    expected = [whole.count([text]) for text in TEXTS]
    one_by_one = [[text] for text in TEXTS]
    count_bags(tmp_path, one_by_one[:stop], len(TEXTS), "en", quiet)
    for name in ("words", "counts", "chunks", "lengths"):
        with (tmp_path / name).open("ab") as file:
            file.write(b"what a killed run wrote after the last whole batch")
    found = count_bags(tmp_path, one_by_one, len(TEXTS), "en", quiet)
    everything = np.arange(len(whole))
    assert found.lexicon.words(everything).to_list() == whole.words(everything).to_list()
    for i, (indptr, words, counts) in enumerate(expected):
        for ours, theirs in zip(found.rows(i, i + 1), (indptr, words, counts), strict=True):
            np.testing.assert_array_equal(ours, theirs)
