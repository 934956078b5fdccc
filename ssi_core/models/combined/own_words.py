"""Training queries whose own words stand in a field of their document, which finds itself by them.

The words of a link stand in the field `anchors` of the page that it leads to, and a title in that
of its own. An order by fields is right for such a pair, where a query of validation, whose words
stand nowhere, would be asked in vain. So a training pair is scored as if its query were held out,
too: without what the query adds to the field.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import polars as pl
from scipy import sparse

from ssi_core.models.base import FittedModel
from ssi_core.tasks.fields import names_of_task
from ssi_core.text.fields import ANCHORS, OWN, SHORT, TITLE
from ssi_core.text.tokenizer import tokenize
from ssi_core.types import Float32, Int32, Task, TextMatrix, Texts
from ssi_core.views.fields import of_field
from ssi_core.views.names import COUNTS, FIELDS, PHRASES
from ssi_core.views.phrases import PhraseView
from ssi_core.views.text_view import rows_in_views

_AT_ONCE = 2_000
_MOST = 0.5


class OwnWords(NamedTuple):
    """Pairs whose query stands in a field of the document.

    Attributes
    ----------
    field : str
        Name of the field.
    rows : int32 (n, 2)
        Row of the query and row of the document.
    times : float32 (n,)
        How often the query is an entry of the field.
    """

    field: str
    rows: Int32
    times: Float32


def wordings(task: Task) -> OwnWords:
    """Return the pairs, of training or validation, whose query is a wording in `anchors`.

    There is none where that holds for less than half of the training pairs: the task asks for
    something else then, and what it tests is in the field as often.
    """
    rows = np.vstack([task.train.rows, task.valid.rows])
    times = np.zeros(len(rows), np.float32)
    named = None if task.path is None else names_of_task(task.path)
    if named is not None:
        language = task.queries.views[COUNTS].language
        asked = {q: _key(task.queries.titles[q], language) for q in np.unique(rows[:, 0]).tolist()}
        known = {
            d: Counter(_key(entry, language) for entry in named[ANCHORS][d].split("\n"))
            for d in np.unique(rows[:, 1]).tolist()
        }
        times[:] = [known[d][asked[q]] for q, d in rows.tolist()]
    if (times[: len(task.train)] > 0).mean() < _MOST:
        times[:] = 0
    return OwnWords(ANCHORS, rows[times > 0], times[times > 0])


def with_titles(task: Task) -> tuple[Task, OwnWords]:
    """Return a task whose training asks each title for its document, too, and these pairs.

    Each has the mean weight. Only titles that the documents show are asked: a task whose queries
    are titles shows none.
    """
    documents, views = task.documents, task.queries.views
    shown = np.flatnonzero(np.diff(of_field(documents.matrix(FIELDS), TITLE).indptr))
    shown = shown[~np.isin(shown, documents.test_only)].astype(np.int32)
    first, titles = len(task.queries), documents.titles.gather(shown)
    rows = np.column_stack([first + np.arange(len(shown)), shown]).astype(np.int32)
    added = rows_in_views(views, titles.to_list())
    queries = Texts(
        pl.concat([task.queries.ids, documents.ids.gather(shown)]),
        pl.concat([task.queries.titles, titles]),
        {name: _stacked(task.queries.matrix(name), added[name]) for name in views},
        views,
        task.queries.test_only,
    )
    ones = np.ones(len(rows), np.float32)
    train = replace(
        task.train,
        rows=np.vstack([task.train.rows, rows]),
        weight=np.concatenate([task.train.weight, ones]),
        grade=np.concatenate([task.train.grade, ones]),
    )
    nothing = sparse.csr_array((len(rows), len(documents)), dtype=task.exclude.dtype)
    exclude = sparse.csr_array(sparse.vstack([task.exclude, nothing]))
    asked = replace(task, queries=queries, train=train, exclude=exclude)
    return asked, OwnWords(TITLE, rows, ones)


def without_own(
    rows: tuple[TextMatrix, TextMatrix], exact: FittedModel, task: Task, own: Sequence[OwnWords]
) -> tuple[TextMatrix, TextMatrix]:
    """Return vectors of queries and of documents whose product lacks what a query's own words add.

    A pair has a column of its own, 1 in the row of the query and ``f(q, d without q) - f(q, d)`` in
    that of the document; other products stay as they are.

    Parameters
    ----------
    rows : tuple
        CSR float32 vectors of all queries, and of all documents, of the task under the model.
    exact : FittedModel
        A model of fields whose score is the inner product of these.
    own : sequence of OwnWords
        Pairs that differ.
    """
    queries, documents = rows
    pairs = np.vstack([one.rows for one in own])
    less = np.concatenate([part for one in own for part in _less(exact, task, queries, one)])
    columns = np.arange(len(pairs))

    def beside(matrix: TextMatrix, values: Float32, positions: Int32) -> TextMatrix:
        shape = matrix.shape[0], len(pairs)
        added = sparse.csr_array((values, (positions, columns)), shape=shape)
        return _sorted(sparse.hstack([matrix, added]))

    ones = np.ones(len(pairs), np.float32)
    return beside(queries, ones, pairs[:, 0]), beside(documents, less, pairs[:, 1])


def _less(exact: FittedModel, task: Task, queries: TextMatrix, own: OwnWords) -> Iterator[Float32]:
    """Yield ``f(q, d without q) - f(q, d)`` of pairs, a block after the other."""
    for first in range(0, max(1, len(own.rows)), _AT_ONCE):
        (q, d), times = own.rows[first : first + _AT_ONCE].T, own.times[first : first + _AT_ONCE]
        texts = task.documents.take(d)
        known = [name for name in (COUNTS, FIELDS, PHRASES) if name in texts.matrices]
        whole = replace(texts, matrices={name: texts.matrix(name) for name in known})
        part = _without(whole, task.queries.matrix(COUNTS)[q], own.field, times)
        weighed = [exact.embed_documents(texts).sparse for texts in (part, whole)]
        scores = [np.asarray(queries[q].multiply(one).sum(axis=1)) for one in weighed]
        yield (scores[0] - scores[1]).astype(np.float32)


def _without(texts: Texts, words: TextMatrix, field: str, times: Float32) -> Texts:
    """Return texts without some words of a field, a row of counts for each text."""
    own = sparse.csr_array(words * times[:, None])
    shape = len(texts), len(SHORT) * own.shape[1]
    columns = own.indices + SHORT.index(field) * own.shape[1]
    less = {FIELDS: sparse.csr_array((own.data, columns, own.indptr), shape=shape)}
    if field in OWN:
        less[COUNTS] = own
    phrases = texts.views.get(PHRASES)
    if field == TITLE and isinstance(phrases, PhraseView):
        pairs = phrases.of_words(words)
        less[PHRASES] = sparse.csr_array(pairs.sign() * times[:, None])
    left = {name: _at_least_none(texts.matrix(name) - rows) for name, rows in less.items()}
    return replace(texts, matrices={**texts.matrices, **left})


def _at_least_none(rows: TextMatrix) -> TextMatrix:
    rows.data = np.maximum(rows.data, 0)
    rows.eliminate_zeros()
    return _sorted(rows)


def _stacked(*rows: TextMatrix) -> TextMatrix:
    return _sorted(sparse.vstack(rows))


def _sorted(rows: TextMatrix) -> TextMatrix:
    matrix = sparse.csr_array(rows).astype(np.float32)
    matrix.sort_indices()
    return matrix


def _key(text: str, language: str) -> str:
    return " ".join(tokenize(text, language))
