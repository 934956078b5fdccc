"""What pages call themselves: titles and headings as queries whose page is known, to learn from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import polars as pl
from scipy import sparse

from ssi_core.collection import open_collection
from ssi_core.face.documents import Documents
from ssi_core.face.task import Task
from ssi_core.guests.site.matching import naming
from ssi_core.tasks.kinds import TITLES
from ssi_core.tasks.unseen import documents_of, texts_in_views
from ssi_core.text.fields import HEADINGS, split
from ssi_core.types import Pairs
from ssi_core.types import Task as Data

NAMES = "titles and headings"
"""Name of these queries among a task's auxiliary ones; a change of what they are changes it."""
_VALID = 0.1
"""Share of names that a training is measured on."""


@dataclass(frozen=True)
class NamedTask(Task):
    """A task of a site whose auxiliary queries are, too, the names of its pages."""

    documents: Documents

    @cached_property
    def data(self) -> Data:
        """Open the task, and add the names; titles that the task asks for are none of them."""
        data = super().data
        asked = self.artefact.configuration["queries"]
        rows = [*_names(data, self.documents, titles=asked != TITLES)]
        if not rows:
            return data
        texts = pl.Series([text for text, _ in rows])
        [language] = {view.language for view in data.queries.views.values()}
        ids = pl.int_range(len(rows), eager=True).cast(pl.String)
        frame = pl.DataFrame({"id": ids, "title": texts, "text": texts}).with_columns(
            language=pl.lit(language)
        )
        pairs = np.column_stack([np.arange(len(rows)), [page for _, page in rows]]).astype(np.int32)
        valid = np.random.default_rng(0).random(len(rows)) < _VALID
        named = replace(
            data,
            queries=texts_in_views(frame, data.queries.views),
            train=Pairs.of(pairs[~valid]),
            valid=Pairs.of(pairs[valid]),
            test=Pairs.of(()),
            exclude=sparse.csr_array((len(rows), len(data.documents)), dtype=np.bool_),
            auxiliary={},
            key=f"{data.key} {NAMES}",
        )
        return replace(data, auxiliary={**data.auxiliary, NAMES: named})


def _names(data: Data, documents: Documents, *, titles: bool) -> Iterator[tuple[str, int]]:
    """Yield the names of pages, each with the row of its page."""
    rows = {name: row for row, name in enumerate(data.documents.ids)}
    pages = documents_of(open_collection(documents.path))
    headings = naming(split(text)[HEADINGS] for text in pages["text"])
    for page, title, several in zip(pages["id"], pages["title"], headings, strict=True):
        if page not in rows:
            continue
        if titles:
            yield title, rows[page]
        for heading in several:
            yield heading, rows[page]
