"""Queries with texts and a summary that a person wrote: QMSum and Debatepedia."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ssi_core import files
from ssi_core.corpus.archive import read_matching
from ssi_core.corpus.inputs import unpack
from ssi_core.types import BadInput, Progress

QMSUM = re.compile(r"(?:[^/]+/)*(train|val|test)/([^/]+)\.json")
"""Name of a meeting: side, meeting."""
DEBATEPEDIA = re.compile(r"(?:[^/]+/)*([^/]+)_(query|content|summary)\.txt(\.gz)?")
"""Name of a file of lines: part, column."""
_COLUMNS = ("query", "content", "summary")
_SOUND = re.compile(r"\{[^{}]*\}")
_EDGE = re.compile(r"<s>|<eos>")


@dataclass(frozen=True)
class Question:
    """A query, the texts that answer it, and an answer.

    Attributes
    ----------
    group : str
        Texts with one group are the same, and resampled together.
    query : str
        What is asked.
    texts : tuple of str
        Texts to be summarised.
    summary : str
        The reference.
    chooses : bool
        The question chooses settings; False: it is measured.
    """

    group: str
    query: str
    texts: tuple[str, ...]
    summary: str
    chooses: bool


def read_questions(path: str | Path, progress: Progress | None = None) -> list[Question]:
    """Read QMSum or Debatepedia.

    Of QMSum the meetings of ``train`` choose, and those of ``val`` (and ``test``) are measured;
    an utterance is a text, without the name of its speaker and without sounds (``{vocalsound}``).
    Of Debatepedia every second document chooses, and the others are measured.

    Parameters
    ----------
    path : str or Path
        ``QMSum_train_val.tar.gz`` or its folder, or the folder of ``valid_query.txt.gz``,
        ``valid_content.txt.gz`` and ``valid_summary.txt.gz``.
    progress : Progress, optional
        Told the meetings that are read.

    Raises
    ------
    BadInput
        The path is missing, holds neither of the two, or what it holds is malformed.
    """
    path = Path(path)
    either = re.compile(f"(?:{QMSUM.pattern})|(?:{DEBATEPEDIA.pattern})")
    for name, _ in read_matching(path, either):
        if QMSUM.fullmatch(name[0]):
            return list(_meetings(path, progress))
        return list(_lines(path))
    raise BadInput(
        f"{path}: it holds neither meetings (train/NAME.json) nor lines (NAME_query.txt.gz). Give "
        "the archive of QMSum or the folder of Debatepedia."
    )


def _meetings(path: Path, progress: Progress | None) -> Iterator[Question]:
    for count, (name, content) in enumerate(read_matching(path, QMSUM)):
        where = f"{path}: {name[0]}"
        if progress is not None:
            progress(min(count / 200, 1.0), name[2])
        try:
            meeting: Any = json.loads(content)
            texts = tuple(
                " ".join(_SOUND.sub(" ", one["content"]).split())
                for one in meeting["meeting_transcripts"]
            )
            pairs = [
                (one["query"], one["answer"])
                for kind in ("general_query_list", "specific_query_list")
                for one in meeting[kind]
            ]
        except (ValueError, KeyError, TypeError) as error:
            raise BadInput(
                f"{where}: it is no meeting of QMSum ({type(error).__name__}: {error}). Restore "
                "the published file."
            ) from None
        for query, answer in pairs:
            yield Question(name[2], query, texts, answer, name[1] == "train")


def _lines(path: Path) -> Iterator[Question]:
    parts: dict[str, dict[str, list[str]]] = {}
    for name, content in read_matching(path, DEBATEPEDIA):
        where, remedy = f"{path}: {name[0]}", "Restore the published file."
        raw = unpack(content, where, remedy)
        with files.reading(Path(where), remedy):
            lines = raw.decode("utf-8").splitlines()
        plain = [" ".join(_EDGE.sub(" ", line).split()) for line in lines]
        parts.setdefault(name[1], {})[name[2]] = plain
    documents: dict[str, int] = {}
    for part, columns in sorted(parts.items()):
        lengths = {column: len(columns.get(column, ())) for column in _COLUMNS}
        if len(set(lengths.values())) != 1:
            counts = ", ".join(f"{count} of {part}_{column}" for column, count in lengths.items())
            raise BadInput(f"{path}: lines {counts}. The files must have as many, one for one.")
        for query, content, summary in zip(*(columns[c] for c in _COLUMNS), strict=True):
            number = documents.setdefault(content, len(documents))
            yield Question(str(number), query, (content,), summary, number % 2 == 0)
