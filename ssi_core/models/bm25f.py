"""BM25 over the fields of a document (Robertson, Zaragoza, Taylor 2004; Zaragoza et al. 2004)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np
from scipy import sparse

from ssi_core.arrays import ArraySpec, ArraySpecs, side_by_side
from ssi_core.bounds import Count, Mean, Share, Values, Weight
from ssi_core.estimator import Sizes
from ssi_core.models.base import FitOptions, FittedModel, Model, Side, fitted
from ssi_core.scoring.vectors import Columns, Inner, Vectors, Words
from ssi_core.selection.one_by_one import one_by_one
from ssi_core.text.fields import ANCHORS, OWN, SHORT, TEXT
from ssi_core.types import Float32, Float64, Task, TextMatrix, Texts
from ssi_core.views.bm25 import scaled, sums, with_weights
from ssi_core.views.fields import of_field
from ssi_core.views.names import COUNTS, FIELDS, PHRASES
from ssi_core.views.phrases import PhraseView

_TRIED: dict[str, tuple[float, ...]] = {
    "title": (10.0, 0.0, 1.0, 3.0, 20.0),
    PHRASES: (0.5,),  # few wordings of links choose between 0 and this by chance
    "anchors": (2.0, 0.0, 0.5, 1.0, 5.0),
    "headings": (2.0, 0.0, 0.5, 1.0),
    "url": (2.0, 0.0, 0.5, 1.0),
    "b": (0.75, 0.3, 0.5, 0.9),
    "k1": (2.0, 0.9, 1.2, 3.0),
    "b_short": (0.3, 0.0, 0.75),
    "b_anchors": (0.0, 0.3),
}
"""Values that `Bm25F.tuned` tries, the default of each first, the most important setting first."""

_OF_WORDS = tuple(name for name in _TRIED if name != PHRASES)
_NOTHING = 1e-9


@dataclass(frozen=True)
class Bm25F(Model):
    """Add up the words of all fields before they saturate.

    ``f(q, d) = sum_i (k3 + 1) q_i / (k3 + q_i) * idf_i (k1 + 1) x_i / (k1 + x_i)`` with
    ``x_i = sum_f w_f tf_fi / B_f`` and ``B_f = 1 - b_f + b_f len_f / mean_f``: counts of the word
    in each field, of the weight ``w_f``, over the length of the field. The text has the weight 1.
    ``idf_i = ln(1 + (n - df_i + 0.5) / (df_i + 0.5))``, where df is over the union of the fields.

    Two words of the query that stand near each other in the title or in a heading of d, whichever
    comes first, with at most two words between, add what a word adds (`views.phrases`):
    ``phrases / (m - 1) * idf``, where m is the number of different words of the query, and df that
    of the documents in whose title or headings both stand so. This is the proximity of Metzler and
    Croft (2005) in names alone. Tasks whose queries are documents have no phrases.

    With ``combine = "scores"`` it is the rival that these papers compare with, the weighted sum of
    the BM25 of each field, each with document frequencies of its own:
    ``sum_i (k3 + 1) q_i / (k3 + q_i) * sum_f w_f idf_fi (k1 + 1) tf_fi / (k1 B_f + tf_fi)``.

    A setting of several values has the first, unless another one has a mean on validation that is
    higher by more than the standard error of the difference: few queries choose little. The
    defaults were chosen on validation queries (words of links, titles) of two documentation sites.

    Parameters
    ----------
    k1 : list of float
        Saturation.
    b : list of float
        Share of the length normalisation of the text, 0..1.
    b_short : list of float
        The same of title, headings and url.
    b_anchors : list of float
        The same of anchors: many of them are a sign of a good document.
    title, headings, url, anchors : list of float
        Weights of the fields; 0 leaves one out.
    phrases : list of float
        Weights of words that are near each other in a name; 0 leaves them out.
    k3 : float
        Saturation of the query's counts; it matters where queries are documents.
    combine : str
        What is added up over the fields: "counts", before they saturate, or "scores".
    """

    name: ClassVar[str] = "bm25f"
    earlier: ClassVar[Mapping[str, Any]] = {"phrases": (0.0,)}
    k1: Values[Weight] = (2.0,)
    b: Values[Share] = (0.75,)
    b_short: Values[Share] = (0.3,)
    b_anchors: Values[Share] = (0.0,)
    title: Values[Weight] = (10.0,)
    headings: Values[Weight] = (2.0,)
    url: Values[Weight] = (2.0,)
    anchors: Values[Weight] = (2.0,)
    phrases: Values[Weight] = (0.5,)
    k3: Weight = 8.0
    combine: Literal["counts", "scores"] = "counts"
    measure: Mean = "mrr"
    validation_queries: Count = 1000

    @classmethod
    def tuned(cls, **settings: Any) -> Bm25F:
        """Return the model that chooses all of its settings from a few values."""
        return cls(**{**_TRIED, **settings})

    def views(self) -> set[str]:
        """Counts of the words."""
        return {COUNTS}

    @property
    def reads_fields(self) -> bool:
        """Tell that the fields of documents are read, where a task has them."""
        return True

    @property
    def reads_phrases(self) -> bool:
        """Tell whether phrases may have a weight."""
        return any(self.phrases)

    def vector_shape(self, task: Task) -> tuple[int, int]:
        """Return no dense part, and the non-zeros of words and phrases."""
        dense, nonzeros = super().vector_shape(task)
        if self.reads_phrases and PHRASES in task.documents.views:
            nonzeros += int(task.documents.matrix(PHRASES).nnz)
        return dense, nonzeros

    def learn(self, task: Task, rng: np.random.Generator, options: FitOptions) -> FittedModel:
        """Count document frequencies and mean lengths; choose the settings, one after the other."""
        counts, short = _counts(task.documents)
        arrays = {
            "idf": self._idf(counts, short),
            "mean_lengths": np.maximum(_lengths(counts, short).mean(axis=0), _NOTHING),
        }
        known = _OF_WORDS
        if self.reads_phrases and PHRASES in task.documents.views:
            arrays["phrase_idf"], known = _inverse(task.documents.matrix(PHRASES)), tuple(_TRIED)
        fit = _set(fitted(self, task, arrays), {name: getattr(self, name)[0] for name in known})
        tried = {name: getattr(self, name) for name in known if len(getattr(self, name)) > 1}
        if not tried:
            return fit
        validator = options.judge(task, "valid", self.validation_queries)
        made = partial(_set, fit)
        settings, facts = one_by_one(made, settings_of(fit), tried, validator, self.measure)
        return replace(made(settings), facts=facts)

    def _idf(self, counts: TextMatrix, short: TextMatrix) -> Float32:
        """Return idf of the words, float32 (words,); with a row for each field to add scores of."""
        if self.combine == "counts":
            return _inverse(_pattern(counts) + _pattern(of_field(short, ANCHORS)))
        return np.vstack([_inverse(rows) for _, rows in _by_field(counts, short)])

    def array_specs(self, sizes: Sizes) -> ArraySpecs:
        """Declare the idf of each word, the mean lengths of the fields, and the settings."""
        fields = (1 + len(SHORT),) if self.combine == "scores" else ()
        of_phrases = {
            "phrase_idf": ArraySpec("float32", (sizes.get(f"document {PHRASES}", 0),), least=0),
            "phrase_weight": ArraySpec("float64", (1,), least=0),
        }
        return {
            **(of_phrases if f"document {PHRASES}" in sizes else {}),
            "idf": ArraySpec("float32", (*fields, sizes[f"document {COUNTS}"]), least=0),
            "mean_lengths": ArraySpec("float64", (1 + len(SHORT),), least=_NOTHING),
            "settings": ArraySpec("float64", (len(_OF_WORDS),), least=0),
        }

    def vectors(self, fitted: FittedModel, texts: Texts, side: Side) -> Vectors:
        """Saturated counts on both sides, and phrases behind them; idf on the document's."""
        rows = self._words(fitted, texts, side)
        view = fitted.document_views.get(PHRASES)
        if view is None:
            return Inner(rows, None)
        assert isinstance(view, PhraseView)
        is_query = side == "query"
        beside = view.of_words(texts.matrix(COUNTS)) if is_query else _phrases(fitted, view, texts)
        return Inner(side_by_side(rows, beside), None)

    def _words(self, fitted: FittedModel, texts: Texts, side: Side) -> TextMatrix:
        """Return the weights of words, CSR float32 (n, words)."""
        if side == "query":
            counts = texts.matrix(COUNTS)
            return with_weights(counts, (self.k3 + 1) * counts.data / (self.k3 + counts.data))
        if self.combine == "scores":
            scores = _sum_of_scores(fitted, texts)
            return with_weights(scores, scores.data)
        k1, x = settings_of(fitted)["k1"], weighed_counts(fitted, texts)
        idf = fitted.arrays["idf"].astype(np.float64)
        return with_weights(x, idf[x.indices] * (k1 + 1) * x.data / (k1 + x.data))

    def sparse_view(self, fitted: FittedModel, side: Side) -> Words:
        """Columns are words, and behind them phrases."""
        words, phrases = fitted.view(COUNTS, side), fitted.document_views.get(PHRASES)
        if phrases is None:
            return words
        return Columns(f"{words.space} {phrases.space}", [*words.words, *phrases.words])

    def field_weights(self, fitted: FittedModel, texts: Texts) -> dict[str, TextMatrix]:
        """Return the summands of ``x``, or those of the sum of scores."""
        counts, short = _counts(texts)
        if self.combine == "scores":
            return dict(_scores_by_field(fitted, counts, short))
        weights, norms = _weights_and_norms(fitted, counts, short)
        return {
            name: scaled(rows, weights[position] / norms[:, position])
            for position, (name, rows) in enumerate(_by_field(counts, short))
        }


def _set(fitted: FittedModel, settings: Mapping[str, float]) -> FittedModel:
    """Return the model with other settings."""
    arrays = {**fitted.arrays, "settings": np.array([settings[name] for name in _OF_WORDS])}
    if PHRASES in settings:
        arrays["phrase_weight"] = np.array([settings[PHRASES]])
    return replace(fitted, arrays=arrays)


def settings_of(fitted: FittedModel) -> dict[str, float]:
    """Return the settings that were chosen, by their names."""
    chosen = dict(zip(_OF_WORDS, fitted.arrays["settings"].tolist(), strict=True))
    if "phrase_weight" in fitted.arrays:
        chosen[PHRASES] = float(fitted.arrays["phrase_weight"][0])
    return chosen


def _phrases(fitted: FittedModel, view: PhraseView, texts: Texts) -> TextMatrix:
    """Return the weights of the phrases of documents, CSR float64 (n, phrases)."""
    if PHRASES not in texts.matrices:
        return sparse.csr_array((len(texts), len(view.keys)))
    rows, weight = texts.matrix(PHRASES).astype(np.float64), fitted.arrays["phrase_weight"][0]
    idf = fitted.arrays["phrase_idf"].astype(np.float64)
    rows.data = weight * idf[rows.indices] * (rows.data > 0)
    return _without_zeros(rows)


def weighed_counts(fitted: FittedModel, texts: Texts) -> TextMatrix:
    """Return ``x`` of some documents, the weighed counts of all fields, CSR float64 (n, words)."""
    counts, short = _counts(texts)
    weights, norms = _weights_and_norms(fitted, counts, short)
    each = weights / norms
    # "counts" has the words of the document's own short fields, too.
    x = scaled(counts, each[:, 0])
    for number, name in enumerate(SHORT, 1):
        scale = each[:, number] - each[:, 0] if name in OWN else each[:, number]
        x = x + scaled(of_field(short, name), scale)
    return _without_zeros(x)


def _sum_of_scores(fitted: FittedModel, texts: Texts) -> TextMatrix:
    """Return the weighted sum of the BM25 of the fields, CSR float64 (n, words)."""
    counts, short = _counts(texts)
    total = sparse.csr_array(counts.shape, dtype=np.float64)
    for _, rows in _scores_by_field(fitted, counts, short):
        total = total + rows
    return _without_zeros(total)


def _scores_by_field(
    fitted: FittedModel, counts: TextMatrix, short: TextMatrix
) -> Iterator[tuple[str, TextMatrix]]:
    """Yield each field and its weighted BM25, CSR float64 (n, words)."""
    weights, norms = _weights_and_norms(fitted, counts, short)
    k1 = settings_of(fitted)["k1"]
    for position, (name, rows) in enumerate(_by_field(counts, short)):
        floor = np.repeat(k1 * norms[:, position], np.diff(rows.indptr))
        data = (k1 + 1) * rows.data / (floor + rows.data)
        data *= weights[position] * fitted.arrays["idf"][position, rows.indices].astype(np.float64)
        yield name, sparse.csr_array((data, rows.indices, rows.indptr), shape=rows.shape)


def _weights_and_norms(
    fitted: FittedModel, counts: TextMatrix, short: TextMatrix
) -> tuple[Float64, Float64]:
    """Return ``w_f``, float64 (fields,), and ``B_f`` of each document, float64 (n, fields)."""
    chosen = settings_of(fitted)
    short_b = {name: chosen["b_short"] for name in SHORT} | {ANCHORS: chosen["b_anchors"]}
    b = np.array([chosen["b"], *short_b.values()])
    weights = np.array([1.0, *(chosen[name] for name in SHORT)])
    means = fitted.arrays["mean_lengths"]
    # A field that was empty in all documents, such as titles that are asked, has no usual length.
    lengths = np.where(means > _NOTHING, _lengths(counts, short) / means, 1)
    return weights, np.maximum(1 - b + b * lengths, 1e-9)


def _by_field(counts: TextMatrix, short: TextMatrix) -> Iterator[tuple[str, TextMatrix]]:
    """Yield each field and its counts, the text first, without zeros."""
    parts, text = {name: of_field(short, name) for name in SHORT}, counts
    for name in OWN:
        text = text if name not in parts else text - parts[name]
    yield TEXT, _without_zeros(text.copy())
    yield from parts.items()


def _without_zeros(rows: TextMatrix) -> TextMatrix:
    """Return rows with sorted indices and without what is nothing but a rounding error."""
    rows.data[np.abs(rows.data) < _NOTHING] = 0
    rows.eliminate_zeros()
    rows.sort_indices()
    return rows


def _inverse(rows: TextMatrix) -> Float32:
    """Return the idf of words, float32 (words,), by the documents that have them."""
    n, words = rows.shape
    df = np.bincount(rows.indices, minlength=words)
    return np.log1p((n - df + 0.5) / (df + 0.5)).astype(np.float32)


def _counts(texts: Texts) -> tuple[TextMatrix, TextMatrix]:
    """Return the counts of texts, and those of their short fields, of which there may be none."""
    counts = texts.matrix(COUNTS)
    if FIELDS in texts.matrices:
        return counts, texts.matrix(FIELDS)
    n, columns = counts.shape[0], len(SHORT) * counts.shape[1]
    empty = np.empty(0, np.float32), np.empty(0, np.int32), np.zeros(n + 1, np.int32)
    return counts, sparse.csr_array(empty, shape=(n, columns))


def _pattern(rows: TextMatrix) -> TextMatrix:
    """Return rows with 1 for each of their entries."""
    ones = np.ones(rows.nnz, np.float32)
    return sparse.csr_array((ones, rows.indices, rows.indptr), shape=rows.shape)


def _lengths(counts: TextMatrix, short: TextMatrix) -> Float64:
    """Return the number of words of each field, float64 (n, fields)."""
    every = sums(counts, counts.data)
    parts = {name: of_field(short, name) for name in SHORT}
    lengths = {name: sums(part, part.data) for name, part in parts.items()}
    text = every - sum(lengths[name] for name in SHORT if name in OWN)
    return np.column_stack([text, *lengths.values()])
