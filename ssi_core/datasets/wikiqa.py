"""WikiQA: questions to a search engine, and the sentences of Wikipedia that answer them.

Yang, Yih and Meek (2015), WikiQA: a challenge dataset for open-domain question answering. Rows of a
question, a page and a sentence of its summary, labelled 1 where the sentence answers the question.

Documents are the sentences, each of which is its own title. The titles of the pages are not used:
a question has one page, so that there would be nothing to rank, and labels are of sentences. The
answers of the training questions are what was clicked on; all sentences of a question of the
development part are its judged list.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from ssi_core.corpus import inputs
from ssi_core.datasets.query_log import QueryLog, write_query_log
from ssi_core.types import BadInput, Progress

if TYPE_CHECKING:
    from ssi_core.datasets.sources import WikiQa
    from ssi_core.store import Building

TRAIN, DEV = "WikiQA-train.tsv.gz", "WikiQA-dev.tsv.gz"
_HEADER = [
    *("QuestionID", "Question", "DocumentID", "DocumentTitle"),
    *("SentenceID", "Sentence", "Label"),
]
_RESTORE = "Restore the published file."


def files_in(directory: Path) -> list[Path]:
    """Return the training and the development part."""
    return [directory / TRAIN, directory / DEV]


def read_rows(path: Path) -> pl.DataFrame:
    """Return ``question``, ``text``, ``document`` (SentenceID), ``title`` and ``label``."""
    rows = []
    for number, line in enumerate(inputs.text_lines(path, _RESTORE), 1):
        fields = line.rstrip("\r\n").split("\t")
        whole = len(fields) == len(_HEADER) and fields[-1] in ("0", "1")
        if fields != _HEADER if number == 1 else not whole:
            raise BadInput(
                f"{path}: line {number} is {line[:60]!r}, expected the columns "
                f"{', '.join(_HEADER)}, the label 0 or 1. {_RESTORE}"
            )
        if number > 1:
            rows.append((fields[0], fields[1], fields[4], fields[5], float(fields[6])))
    names = ["question", "text", "document", "title", "label"]
    return pl.DataFrame(rows, schema=names, orient="row", schema_overrides={"label": pl.Float32})


def build(building: Building, source: WikiQa, progress: Progress | None) -> None:
    """Write a query log: sentences that answer a question, and judged lists of them.

    Training questions without an answer are left out: ``skipped["question_without_answer"]``.
    """
    train, dev = files_in(*source.paths)
    training, judged = read_rows(train), read_rows(dev)
    answers = training.filter(pl.col("label") > 0)
    every = pl.concat([training, judged]).select(id="document", title="title")
    sentences = every.unique("id", keep="first", maintain_order=True)
    one = {"clicks": pl.lit(1, pl.Int64), "shown": pl.lit(None, pl.Int64)}
    log = QueryLog(
        pairs=[answers.select("text", "document", **one)],
        documents=[sentences],
        judgements=judged.select("text", "document", grade="label"),
        language="en",
        where=train,
    )
    write_query_log(building, log)
    questions = training["question"].n_unique()
    building.counts.update(rows=len(training) + len(judged), questions=questions)
    building.skipped["question_without_answer"] = questions - answers["question"].n_unique()
