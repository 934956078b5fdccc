"""Answers of an index that show themselves: documents, a score taken apart, a summary."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import polars as pl

from ssi_core.face.show import html_table, linked, marked, text_table
from ssi_core.models.base import FittedModel
from ssi_core.serving import explain, neighbours, summaries, why
from ssi_core.serving.nothing import nothing_found
from ssi_core.serving.ranked import Hit
from ssi_core.serving.summaries import Quoted
from ssi_core.strict import strings


@dataclass(frozen=True)
class Results:
    """Documents that a search returns, best first.

    Attributes
    ----------
    hits : tuple of Hit
        Documents, each with ``id``, ``title``, ``score``, ``url``, ``snippet`` with ``marks``, and
        ``fields``, those that have words of the query; see `serving.ranked.Hit`.
    reason : str or None
        Why there is no document; None where there is one.
    """

    hits: tuple[Hit, ...]
    reason: str | None = None

    @property
    def frame(self) -> pl.DataFrame:
        """Return columns id, title, score, url, snippet, fields."""
        columns = ("id", "title", "score", "url", "snippet", "fields")
        further = {"score": pl.Float64(), "fields": pl.List(pl.String)}
        schema = dict.fromkeys(columns, pl.String()) | further
        rows = [tuple(getattr(hit, name) for name in columns) for hit in self.hits]
        return pl.DataFrame(rows, schema, orient="row")

    def __len__(self) -> int:
        return len(self.hits)

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)

    def __getitem__(self, place: int) -> Hit:
        return self.hits[place]

    def __repr__(self) -> str:
        return text_table(*self._table(), left=2) if self.hits else nothing_found(self.reason)

    def _repr_html_(self) -> str:
        notes = [] if self.hits else [nothing_found(self.reason)]
        rows = [
            [linked(hit.title, hit.url), marked(hit.snippet or "", hit.marks), *cells]
            for hit, (_, *cells) in zip(self.hits, self._table()[1], strict=True)
        ]
        return html_table(["title", "snippet", "found in", "score"], rows, left=3, notes=notes)

    def _table(self) -> tuple[list[str], list[list[str]]]:
        rows = [[hit.title, ", ".join(hit.fields), f"{hit.score:.4f}"] for hit in self.hits]
        return ["title", "found in", "score"], rows


@dataclass(frozen=True)
class Explanation(explain.Explanation):
    """A score as a sum of parts, one for each word of the query and word of the document.

    Attributes
    ----------
    score : float
        Sum of all parts.
    parts : sequence of Part
        The largest parts, each with ``query_word``, ``document_word``, ``part``, and ``fields``,
        those that have the word of the document, with their shares where BM25F answers.
    rest : float
        Sum of the other parts.
    features : sequence of Feature
        Features of a reranked document, in place of parts: each has ``name``, ``value`` and
        ``share``.
    """

    @property
    def frame(self) -> pl.DataFrame:
        """Return columns query_word, document_word, part, fields; or those of features.

        Fields are in words, such as "title 75 %, text 25 %". Of features: name, value, share.
        """
        if self.features:
            return pl.DataFrame([vars(one) for one in self.features])
        columns = ("query_word", "document_word", "part", "fields")
        schema = dict.fromkeys(columns, pl.String()) | {"part": pl.Float64()}
        rows = [(one.query_word, one.document_word, one.part, one.where) for one in self.parts]
        return pl.DataFrame(rows, schema, orient="row")

    def __repr__(self) -> str:
        return text_table(*self._table(), left=2 if self.features else 3)

    def _repr_html_(self) -> str:
        return html_table(*self._table(), left=2 if self.features else 3)

    def _table(self) -> tuple[list[str], list[list[str]]]:
        if self.features:
            rows = [[one.name, f"{one.value:.3f}", f"{one.share:+.6f}"] for one in self.features]
            ends = [["rest", "", f"{self.rest:+.6f}"], ["score", "", f"{self.score:+.6f}"]]
            return ["feature", "value", "share"], rows + ends
        parts = [
            [one.query_word, one.document_word, one.where, f"{one.part:+.6f}"] for one in self.parts
        ]
        rest, score = f"{self.rest:+.6f}", f"{self.score:+.6f}"
        ends = [["all other pairs", "", "", rest], ["score", "", "", score]]
        return ["query", "document", "found in", "part"], parts + ends


@dataclass(frozen=True)
class Neighbours:
    """Words that a model relates to another, best first.

    Attributes
    ----------
    words : tuple of Neighbour
        Words, each with ``word`` and ``score``, a cosine.
    """

    words: tuple[neighbours.Neighbour, ...]

    @classmethod
    def of(cls, fitted: FittedModel, word: str | Sequence[str], k: int) -> Neighbours:
        """Ask a fitted model."""
        return cls(tuple(neighbours.neighbours(fitted, " ".join(strings(word)), k)))

    @property
    def frame(self) -> pl.DataFrame:
        """Return columns word, score."""
        schema = {"word": pl.String, "score": pl.Float64}
        return pl.DataFrame([(one.word, one.score) for one in self.words], schema, orient="row")

    def __len__(self) -> int:
        return len(self.words)

    def __iter__(self) -> Iterator[neighbours.Neighbour]:
        return iter(self.words)

    def __repr__(self) -> str:
        return text_table(*self._table())

    def _repr_html_(self) -> str:
        return html_table(*self._table())

    def _table(self) -> tuple[list[str], list[list[str]]]:
        return ["word", "score"], [[one.word, f"{one.score:.3f}"] for one in self.words]


@dataclass(frozen=True)
class Why(why.Why):
    """What keeps a document from the first places for a text, and a change that brings it there.

    Attributes
    ----------
    rank : int or None
        Place of the document, from 1; None: it shares nothing with the text.
    score, needed : float
        Its score, and that of the document in the last place that is asked for.
    holding : tuple of WordGap
        Words of the text that give more to that document, each with ``word``, ``here``, ``there``.
    missing : tuple of str
        Words of the text that the document has in no field.
    change : Change or None
        ``words`` that are added to a ``field``, and the ``rank`` that the document has then.
    """

    def __repr__(self) -> str:
        return "\n".join(self.lines())


@dataclass(frozen=True)
class Summary(summaries.Summary):
    """Sentences of documents that answer a text.

    Attributes
    ----------
    sentences : tuple of Quoted
        Sentences, each with ``text``, ``marks``, ``score``, and ``id``, ``title``, ``url`` of its
        document; see `serving.summaries.Quoted`.
    reason : str or None
        Why there is none; None where there is one.
    """

    @property
    def frame(self) -> pl.DataFrame:
        """Return columns id, title, url, text, score."""
        columns = ("id", "title", "url", "text", "score")
        schema = dict.fromkeys(columns, pl.String) | {"score": pl.Float64}
        rows = [tuple(getattr(one, name) for name in columns) for one in self.sentences]
        return pl.DataFrame(rows, schema, orient="row")

    def __len__(self) -> int:
        return len(self.sentences)

    def __iter__(self) -> Iterator[Quoted]:
        return iter(self.sentences)

    def __repr__(self) -> str:
        lines = [f"{one.text} ({one.title})" for one in self.sentences]
        return "\n".join(lines) or f"no summary: {self.reason}"
