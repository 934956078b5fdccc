"""The table of contents: which reader takes a path."""

from __future__ import annotations

import re
from pathlib import Path

from ssi_core.corpus.archive import read_matching
from ssi_core.guests.codes import newsgroups, reuters
from ssi_core.guests.codes.labelled import LabelledTexts
from ssi_core.guests.codes.lines import FORM, read_labelled_lines
from ssi_core.types import BadInput, Progress

READERS = ((reuters.FILE, reuters.read_reuters), (newsgroups.FILE, newsgroups.read_newsgroups))
_LINES = (".jsonl", ".jsonl.gz", ".jsonl.xz", ".jsonl.bz2")


def read_labelled(path: str | Path, progress: Progress | None = None) -> LabelledTexts:
    """Read Reuters-21578, 20 Newsgroups by date, or a file of JSON lines.

    Parameters
    ----------
    path : str or Path
        Archive or folder of one of the two collections, or a ``.jsonl`` file of objects with
        ``text``, ``label``, ``side`` ("train" or "test"), and ``id`` where texts have one.
    progress : Progress, optional
        Told the share that is read.

    Raises
    ------
    BadInput
        The path is missing, or is of no known kind, or its content is malformed.
    """
    path = Path(path)
    if path.name.endswith(_LINES):
        return read_labelled_lines(path, progress=progress)
    if path.is_file() and {".json", ".ndjson", ".txt", ".csv", ".tsv"} & {*path.suffixes}:
        raise BadInput(f"{path}: texts are read from JSON lines. Name the file .jsonl. {FORM}")
    either = re.compile("|".join(f"(?:{pattern.pattern})" for pattern, _ in READERS))
    for name, _ in read_matching(path, either):
        for pattern, reader in READERS:
            if pattern.fullmatch(name[0]):
                return reader(path, progress=progress)
    raise BadInput(
        f"{path}: it holds neither reut2-000.sgm nor 20news-bydate-train. Give the archive of "
        "Reuters-21578 or of 20 Newsgroups by date, or a file of JSON lines (.jsonl)."
    )
