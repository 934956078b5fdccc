"""Phrases of the titles and headings of a task's documents (`views.phrases`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from ssi_core import files
from ssi_core.tasks.fields import field_parts
from ssi_core.tasks.layout import MATRICES, PHRASE_VIEW
from ssi_core.text.fields import HEADINGS, TITLE
from ssi_core.views.counting import matrix_path
from ssi_core.views.csr_writer import CsrWriter
from ssi_core.views.names import PHRASES
from ssi_core.views.phrases import view_of
from ssi_core.views.text_view import TextView

_AT_ONCE = 10_000


def write_phrases(task: Path, base: TextView) -> int:
    """Write the view and its matrix, beside the fields of the documents; returns its columns."""
    view = view_of(base, _names(task))
    view.save(task / PHRASE_VIEW)
    with CsrWriter(matrix_path(task / MATRICES, PHRASES), len(view.keys)) as writer:
        for lines in _names(task):
            counts = view.count(lines)
            writer.append(counts.indptr, counts.indices, counts.data)
    return len(view.keys)


def _names(task: Path) -> Iterator[Sequence[str]]:
    """Yield title and headings of the documents, a line each, in blocks of documents."""
    for part in field_parts(task):
        frame = files.read_strings([part], TITLE, HEADINGS)
        for block in frame.iter_slices(_AT_ONCE):
            yield [f"{title}\n{headings}" for title, headings in block.rows()]
