"""RM3: a query gets words of the documents that it finds first (Abdul-Jaleel et al., TREC 2004)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from ssi_core.arrays import CSR_PARTS, ArraySpec, ArraySpecs, csr_specs
from ssi_core.bounds import Count, Mean, Part, Share, Tries, Values
from ssi_core.estimator import Sizes
from ssi_core.evaluation.measures import MEASURES
from ssi_core.evaluation.significance import is_clearly_higher
from ssi_core.models.base import FitOptions, FittedModel, Model, Side, fitted
from ssi_core.models.combined.parts import Parts, arrays_of, fitted_parts
from ssi_core.models.known import fingerprints, rows_of
from ssi_core.models.language_model import LanguageModel
from ssi_core.models.query_expansion import top_documents
from ssi_core.resources import Cost
from ssi_core.scoring.vectors import Inner, Vectors, Words
from ssi_core.types import Task, TextMatrix, Texts
from ssi_core.views.bm25 import scaled, sums, with_weights
from ssi_core.views.names import COUNTS, PHRASES
from ssi_core.views.weighting import heaviest

FIRST = ("bm25f", "bm25", "language_model")
"""Models of the first pass."""
_BLOCK = 128  # queries whose relevance models are held at a time
_ENTRY = 8  # bytes of a non-zero


@dataclass(frozen=True)
class Rm3(Parts):
    """Rank by a first pass, and again with a query that has words of the first documents, too.

    The relevance model of a query (Lavrenko and Croft 2001) is estimated from the documents that
    the first pass has at the top, ``P(w | R) = sum_d P(w | d) P(d | q)`` with ``P(w | d)`` the
    share of the word in the document. ``P(d | q)`` is proportional to the likelihood ``P(q | d)``,
    which is ``exp(f_1(q, d))`` of a language model, or to the score ``f_1(q, d)`` of BM25. The most
    probable words r, brought to the sum 1, are added to the words of the query:

    ``f(q, d) = f_1(original q + (1 - original) |q| r, d)``

    |q| is the sum of the weights of the query's words, so that the scores are of the size of
    ``f_1``, and 1 for ``original`` gives the first pass. The papers leave out stop words; here a
    word of many documents is none of the added ones. A query that is itself a document is not among
    its own top. The documents are part of the model. Of several settings those with the highest
    mean on validation are taken, if it is above that of the first pass by more than the standard
    error of the difference; else ``original`` is 1.

    Parameters
    ----------
    parts : list of one table
        The model of the first pass: "bm25f", "bm25" or "language_model".
    documents : list of int
        Documents that estimate the relevance model.
    terms : list of int
        Words that are added.
    original : list of float
        Weights of the query itself, 0..1.
    common : float
        Words in more than this share of the documents are not added.
    """

    name: ClassVar[str] = "rm3"
    without: ClassVar[frozenset[str]] = frozenset()
    parts: tuple[Mapping[str, Any], ...] = ({"model": FIRST[0]},)
    documents: Values[Tries] = (10,)
    terms: Values[Tries] = (20,)
    original: Values[Share] = (0.5,)
    common: Part = 0.1
    measure: Mean = "mrr"
    validation_queries: Count = 1000

    @classmethod
    def tuned(cls, **settings: Any) -> Rm3:
        """Return the model that chooses its settings from a few values."""
        tried = {"documents": (5, 10), "terms": (10, 30), "original": (0.5, 0.7, 0.9)}
        return cls(**{**tried, **settings})

    def __post_init__(self) -> None:
        """Refuse all but one model of `FIRST`."""
        super().__post_init__()
        names = [part.get("model") for part in self.parts]
        if len(names) != 1 or names[0] not in FIRST:
            raise ValueError(f"parts: {names}; expected one model, of {', '.join(FIRST)}")

    def views(self) -> set[str]:
        """Views of the first pass, and counts."""
        return super().views() | {COUNTS}

    def cost(self, task: Task, threads: int = 1) -> Cost:
        """Return the cost of a fit: documents twice, and once more while they are sorted."""
        (first,) = self.costs(task, threads)
        return Cost(first.memory + 3 * _ENTRY * task.documents.matrix(COUNTS).nnz, first.disk)

    def learn(self, task: Task, rng: np.random.Generator, options: FitOptions) -> FittedModel:
        """Fit the first pass, keep the documents, and choose the settings."""
        (first,) = self.learn_parts(task, rng, options, [None])
        return self.behind(task, first, options)

    def behind(self, task: Task, first: FittedModel, options: FitOptions) -> FittedModel:
        """Return the model behind a first pass that is fitted."""
        # Where queries are no documents, one that is called like a document is another text.
        keys = fingerprints(task.documents if task.same else task.documents.take([]))
        order = np.argsort(keys, kind="stable")
        rows = first.embed_documents(task.documents).sparse
        assert rows is not None, "the models of the first pass have words alone"
        # By columns: the postings of a query's words are looked up.
        arrays: dict[str, Any] = {"known": keys[order], "place": order.astype(np.int32)}
        arrays |= _arrays("ranked", rows.tocsc())
        arrays |= _arrays("share", _shares(task.documents.matrix(COUNTS), self.common))
        every = list(product(self.documents, self.terms, self.original))
        facts = {"parts": [first.facts]}
        arrays |= arrays_of([first]) | {"settings": np.array(every[0])}
        fit = fitted(self, task, arrays, facts)
        return fit if len(every) == 1 else self._chosen(task, fit, options)

    def _chosen(self, task: Task, fit: FittedModel, options: FitOptions) -> FittedModel:
        """Return the best settings; scores are linear in ``original``, which costs little."""
        validator = options.judge(task, "valid", self.validation_queries)
        measure, weights = MEASURES[self.measure], [(w, 1 - w) for w in self.original]
        first = _with(fit, (1, 1, 1.0))
        plain = np.asarray(measure(validator.ranks(first)), np.float64)
        best, chosen = plain, (self.documents[0], self.terms[0], 1.0)
        for documents, terms in product(self.documents, self.terms):
            model = _with(fit, (documents, terms, 0.0))
            several = validator.ranks_of_sums(first, model, weights)
            for original, ranks in zip(self.original, several, strict=True):
                values = np.asarray(measure(ranks), np.float64)
                if values.mean() > best.mean() and is_clearly_higher(values, plain):
                    best, chosen = values, (documents, terms, original)
        facts = {
            "chosen": dict(zip(("documents", "terms", "original"), chosen, strict=True)),
            "validation_queries": len(validator),
            f"val/{self.measure}": float(best.mean()),
            f"val/{self.measure} of the first pass": float(plain.mean()),
        }
        return replace(_with(fit, chosen), facts=fit.facts | facts)

    def array_specs(self, sizes: Sizes) -> ArraySpecs:
        """Declare the first pass, the documents by words and by rows, and the settings."""
        words, tried = sizes[f"document {COUNTS}"], (max(self.documents), max(self.terms), 1)
        columns = words + sizes.get(f"document {PHRASES}", 0)
        ranked, share = ([f"{name}_{part}" for part in CSR_PARTS] for name in ("ranked", "share"))
        return {
            **super().array_specs(sizes),
            "known": ArraySpec("uint64", ("known documents",), order="ascending"),
            "place": ArraySpec("int32", ("known documents",), index="documents"),
            **csr_specs("documents", words, share, "float32"),
            **csr_specs(columns, "documents", ranked, "float32"),
            "settings": ArraySpec("float64", (3,), least=(1, 1, 0), most=tried),
        }

    def vectors(self, fitted: FittedModel, texts: Texts, side: Side) -> Vectors:
        """Queries with words of their relevance models; documents as of the first pass."""
        (first,) = fitted_parts(fitted)
        rows = first.model.vectors(first, texts, side)
        original = float(fitted.arrays["settings"][2])
        if side == "document" or original == 1:
            return rows
        queries = rows.sparse
        assert queries is not None
        model = _relevance(fitted, first.model, texts, queries)
        # A query that finds nothing has no relevance model, and stays.
        kept = np.where(np.diff(model.indptr) > 0, original, 1.0)
        words = queries.indices < len(fitted.view(COUNTS, "query").words)
        added = (1 - kept) * sums(queries, queries.data * words)
        expanded = scaled(queries, kept) + scaled(model, added)
        expanded.sort_indices()
        return Inner(with_weights(expanded, expanded.data), None)

    def sparse_view(self, fitted: FittedModel, side: Side) -> Words | None:
        """Columns are words; the query's are those of the expanded query."""
        return fitted_parts(fitted)[0].sparse_view(side)


def _with(fit: FittedModel, settings: tuple[float, ...]) -> FittedModel:
    """Return the model with other settings: documents, terms, weight of the original query."""
    return replace(fit, arrays={**fit.arrays, "settings": np.array(settings, np.float64)})


def _relevance(fitted: FittedModel, first: Model, texts: Texts, queries: TextMatrix) -> TextMatrix:
    """Return the most probable words of the relevance models, CSR float64; rows have the sum 1."""
    documents, terms = (int(number) for number in fitted.arrays["settings"][:2])
    rows, known = rows_of(texts, fitted.arrays["known"])
    itself = np.full(len(texts), -1)
    itself[known] = fitted.arrays["place"][rows[known]]
    shape = (len(fitted.arrays["share_indptr"]) - 1, queries.shape[1])
    ranked = sparse.csc_array(_parts(fitted, "ranked"), shape=shape, copy=False)
    share = sparse.csr_array(_parts(fitted, "share"), shape=shape, copy=False)
    top = top_documents(queries, ranked, itself, documents)
    weights = _posterior(top, isinstance(first, LanguageModel))
    blocks = (weights[block] @ share for block in _blocks(len(texts)))
    model: TextMatrix = sparse.vstack([_most_probable(one, terms) for one in blocks], format="csr")
    return model


def _posterior(top: TextMatrix, logarithms: bool) -> TextMatrix:
    """Return ``P(d | q)`` of the documents at the top, CSR float64, from their scores."""
    scores = top.data.astype(np.float64)
    if logarithms:
        rows = np.repeat(np.arange(top.shape[0]), np.diff(top.indptr))
        highest = np.full(top.shape[0], -np.inf)
        np.maximum.at(highest, rows, scores)
        scores = np.exp(scores - highest[rows])
    return _unit_sums(sparse.csr_array((scores, top.indices, top.indptr), shape=top.shape))


def _most_probable(model: TextMatrix, terms: int) -> TextMatrix:
    model.sort_indices()
    kept = heaviest(model.indptr, model.data, terms)
    ends = np.concatenate([[0], np.cumsum(kept)])
    parts = model.data[kept], model.indices[kept], ends[model.indptr]
    return _unit_sums(sparse.csr_array(parts, shape=model.shape))


def _unit_sums(rows: TextMatrix) -> TextMatrix:
    return scaled(rows, 1 / np.maximum(sums(rows, rows.data), np.finfo(np.float64).tiny))


def _shares(counts: TextMatrix, common: float) -> TextMatrix:
    """Return the share of each word in each document, without words of many documents."""
    lengths = np.repeat(sums(counts, counts.data), np.diff(counts.indptr))
    df = np.bincount(counts.indices, minlength=counts.shape[1])
    rows = with_weights(counts, counts.data / lengths)
    kept = df[rows.indices] <= common * counts.shape[0]
    ends = np.concatenate([[0], np.cumsum(kept)])
    parts = rows.data[kept], rows.indices[kept], ends[rows.indptr]
    return sparse.csr_array(parts, shape=rows.shape)


def _arrays(name: str, matrix: Any) -> dict[str, Any]:
    return {
        f"{name}_data": np.asarray(matrix.data),
        f"{name}_indices": np.asarray(matrix.indices),
        f"{name}_indptr": np.asarray(matrix.indptr),
    }


def _parts(fitted: FittedModel, name: str) -> tuple[Any, ...]:
    return tuple(fitted.arrays[f"{name}_{part}"] for part in ("data", "indices", "indptr"))


def _blocks(rows: int) -> Iterator[slice]:
    return (slice(low, low + _BLOCK) for low in range(0, max(rows, 1), _BLOCK))
