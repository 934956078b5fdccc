"""Rankings of other systems, in the forms in which people hold them, as rankers of a task."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ssi_core.corpus.tables.roles import JUDGEMENTS, guessed
from ssi_core.evaluation.trec import escape
from ssi_core.face.models import Ranker
from ssi_core.face.task import Task
from ssi_core.types import BadInput

_FORMS = (
    "expected a fitted ranker, or a run: the path of a TREC file, a mapping query -> document -> "
    "score, a Run of ranx, ScoredDocs of ir-measures, or a table with columns such as query_id, "
    "doc_id and score"
)


class Line(NamedTuple):
    """The score of a document for a query."""

    query: str
    document: str
    score: float


def named_ranker(run: Any, task: Task) -> tuple[str, Ranker]:
    """Return the name of another system's ranking, and a ranker that was fitted on a task.

    The name is that of the file, that which the run has, or "run".

    Parameters
    ----------
    run : path, mapping, Run, DataFrame or sequence
        A file of TREC; query -> document -> score; what ranx calls a Run; a table of polars or
        pandas; or the ScoredDocs of ir-measures. Ids are those of the task's queries and documents.
    task : Task
        Task whose queries were ranked.

    Raises
    ------
    BadInput
        It is no run, it has ids that the task does not have, or a query is missing.
    """
    if isinstance(run, str | Path):
        return Path(run).name.partition(".")[0], Ranker("trec_run", runs=[str(run)]).fit(task)
    with tempfile.TemporaryDirectory() as path:
        file = Path(path) / "run.trec"
        with file.open("w", encoding="utf-8") as out:
            for query, document, score in _lines(run):
                out.write(f"{escape(query)} Q0 {escape(document)} 0 {score!r} run\n")
        try:
            ranker = Ranker("trec_run", runs=[str(file)]).fit(task)
        except BadInput as error:
            raise BadInput(str(error).replace(str(file), "the run")) from None
    return str(getattr(run, "name", None) or "run"), ranker


def _lines(run: Any) -> Iterator[Line]:
    if hasattr(run, "columns"):
        yield from _rows(run)
    elif isinstance(run, Mapping) or hasattr(run, "to_dict"):
        scores = run if isinstance(run, Mapping) else run.to_dict()
        for query, documents in scores.items():
            yield from (Line(str(query), str(d), float(x)) for d, x in documents.items())
    elif isinstance(run, Iterable):
        for one in run:
            if not all(hasattr(one, name) for name in ("query_id", "doc_id", "score")):
                raise BadInput(f"{one!r:.80}: {_FORMS}.")
            yield Line(str(one.query_id), str(one.doc_id), float(one.score))
    else:
        raise BadInput(f"{run!r:.80}: {_FORMS}.")


def _rows(table: Any) -> Iterator[Line]:
    columns = [str(name) for name in table.columns]
    roles = guessed(columns, JUDGEMENTS)
    if not {"query", "document"} <= roles.keys() or "score" not in columns:
        raise BadInput(f"a table with columns {', '.join(columns)}: {_FORMS}.")
    for row in zip(table[roles["query"]], table[roles["document"]], table["score"], strict=True):
        yield Line(str(row[0]), str(row[1]), float(row[2]))
