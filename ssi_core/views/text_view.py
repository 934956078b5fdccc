"""Views: fitted transforms from raw texts to weighted rows."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from threading import Lock

import numpy as np
from scipy import sparse

from ssi_core import files, store
from ssi_core.arrays import ArraySpec, check_arrays, load_array
from ssi_core.text import fields, tokenizer
from ssi_core.types import BadInput, Float32, Int32, Int64, TextMatrix, View
from ssi_core.views.lexicon import Lexicon, Vocabulary, batches, to_columns
from ssi_core.views.names import COUNTS, FIELDS, LM
from ssi_core.views.statistics import Statistics
from ssi_core.views.weighting import Side, Weighting, weigh_side

# Unknown words of transformed texts are numbered too; past so many, numbering starts afresh.
_MOST_UNKNOWN = 1 << 20
_OCCURRENCES = "occurrences.npy"
AGAIN = "Make its task or model again."
"""Remedy for a saved view that is damaged, or of another tokenizer."""


class _Counter:
    """Counts the words of a vocabulary in texts; one is shared by the views on the same words."""

    def __init__(self, language: str, words: Vocabulary) -> None:
        self._language, self._words = language, words
        self._lexicon: Lexicon | None = None
        self._lock = Lock()

    def __reduce__(self) -> tuple[type[_Counter], tuple[str, Vocabulary]]:
        # A lock cannot be copied, and a copy counts with a lexicon of its own.
        return _Counter, (self._language, self._words)

    def counts(self, texts: Sequence[str]) -> Iterator[TextMatrix]:
        """Count the words of texts, in blocks of rows."""
        for block in batches(text.encode(errors="replace") for text in texts):
            with self._lock:
                indptr, words, counts = self._current().count(block)
            yield to_columns(indptr, words, counts, len(self._words))

    def in_order(self, block: Sequence[bytes]) -> tuple[Int32, Int64]:
        """Return the words of texts in order (-1: unknown), and the end of each text."""
        with self._lock:
            words, ends = self._current().in_order(block)
        words[words >= len(self._words)] = -1
        return words, ends

    def _current(self) -> Lexicon:
        if self._lexicon is None or len(self._lexicon) > len(self._words) + _MOST_UNKNOWN:
            self._lexicon = Lexicon(self._language, self._words)
        return self._lexicon


@dataclass(frozen=True, eq=False)
class TextView:
    """Rows of weighted words, one column per word of the vocabulary (implements `types.View`).

    Attributes
    ----------
    language : str
        Code that picks the rule of the tokenizer.
    vocabulary : Vocabulary
        `Vocabulary`, whose first words are the columns.
    statistics : Statistics
        Statistics of the words of the vocabulary.
    weighting : Weighting
        `Weighting`, whose spelling is the name of the view.
    side : str
        "query" or "document": whose texts it reads, where these are weighed otherwise.
    fields : tuple of str
        Fields of a document that are read (`ssi_core.text.fields`).
    """

    language: str
    vocabulary: Vocabulary
    statistics: Statistics
    weighting: Weighting
    side: Side = "document"
    fields: tuple[str, ...] = (fields.TEXT,)
    _counter: _Counter = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_counter", _Counter(self.language, self.vocabulary))

    @property
    def name(self) -> str:
        """``WEIGHTING[:CUT][@WORDS]``."""
        return str(self.weighting)

    @property
    def by_field(self) -> bool:
        """Tell whether each short field has columns of its own (`views.fields`)."""
        return self.weighting.kind == FIELDS

    @cached_property
    def words(self) -> Vocabulary:
        """Words of the columns; where each field has columns, those of one field."""
        width = self.weighting.width(len(self.vocabulary))
        return self.vocabulary if width == len(self.vocabulary) else self.vocabulary[:width]

    @property
    def width(self) -> int:
        """Number of the columns."""
        return len(self.words) * (len(fields.SHORT) if self.by_field else 1)

    @cached_property
    def space(self) -> str:
        """Digest of what the columns mean: tokenizer, language, words in their order."""
        identity = f"{tokenizer.identity(self.language)} {self.language} {self.words.digest()}"
        identity += " by field" * self.by_field
        return hashlib.sha256(identity.encode()).hexdigest()[:16]

    @property
    def idf(self) -> Float32:
        """``ln(n / df)``, float32 (words of the vocabulary,)."""
        return self.statistics.idf

    def named(self, name: str) -> TextView:
        """Return the view of another name on the same words."""
        return self._with(Weighting.parse(name), self.side)

    def of_queries(self) -> TextView:
        """Return the view as queries are read: itself, unless documents are weighed otherwise."""
        return self._with(self.weighting, "query") if self.weighting.two_sided else self

    def _with(self, weighting: Weighting, side: Side) -> TextView:
        other = replace(self, weighting=weighting, side=side)
        object.__setattr__(other, "_counter", self._counter)
        return other

    def adopt_lexicon(self, other: TextView) -> bool:
        """Count with the lexicon of another view of the same words; False if it has others."""
        same = (self.language, self.vocabulary) == (other.language, other.vocabulary)
        if same:
            object.__setattr__(self, "vocabulary", other.vocabulary)
            object.__setattr__(self, "_counter", other._counter)
        return same

    def transform(self, texts: Sequence[str]) -> TextMatrix:
        """Return the rows of raw texts, with the bits of a task's rows; unknown words are left out.

        Returns
        -------
        CSR float32 (len(texts), len(words))
        """
        return self._short(texts) if self.by_field else _counted_once([self], texts)[0]

    def _short(self, texts: Sequence[str]) -> TextMatrix:
        """Count the words of the short fields, each in columns of its own."""
        if not any(fields.SEPARATOR in text for text in texts):  # as of queries
            nothing = (
                np.empty(0, np.float32),
                np.empty(0, np.int32),
                np.zeros(len(texts) + 1, np.int32),
            )
            return sparse.csr_array(nothing, shape=(len(texts), self.width))
        parts = [fields.split(text) for text in texts]
        empty = sparse.csr_array((0, len(self.words)), dtype=np.float32)
        counted = [
            sparse.vstack(
                [
                    empty,
                    *self._counter.counts(
                        [part[name] if name in self.fields else "" for part in parts]
                    ),
                ],
                format="csr",
            )
            for name in fields.SHORT
        ]
        short: TextMatrix = sparse.hstack(counted, format="csr", dtype=np.float32)
        return short

    def in_order(self, texts: Iterable[bytes]) -> Iterator[tuple[Int32, Int64]]:
        """Yield the columns of the words of UTF-8 texts, in blocks of texts.

        Yields
        ------
        words, ends : int32, -1 for a word that is not in the vocabulary; int64, where texts end
        """
        for block in batches(texts):
            yield self._counter.in_order(block)

    def save(self, directory: Path) -> None:
        """Write ``view.json``, ``words.parquet``, ``idf.npy``, and ``occurrences.npy`` if needed.

        The view of counts has it too: from that the views of a task are made.
        """
        directory.mkdir(parents=True, exist_ok=True)
        self.vocabulary.series.to_frame().write_parquet(directory / "words.parquet")
        np.save(directory / "idf.npy", self.idf, allow_pickle=False)
        occurrences = self.statistics.occurrences
        if occurrences is not None and self.weighting.kind in (COUNTS, LM):
            np.save(directory / _OCCURRENCES, occurrences, allow_pickle=False)
        store.write_json(
            directory / "view.json",
            {
                "name": self.name,
                "language": self.language,
                "tokenizer": tokenizer.identity(self.language),
                "space": self.space,
                "side": self.side,
                "texts": self.statistics.texts,
                "mean_length": self.statistics.mean_length,
                "fields": list(self.fields),
                "field_lengths": list(self.statistics.field_lengths),
            },
        )


def rows_in_views(views: Mapping[str, View], texts: Sequence[str]) -> dict[str, TextMatrix]:
    """Return the rows of raw texts in several views, as `View.transform` has them.

    The texts are read once for all views that count with one lexicon (`share_lexicons`).
    """
    rows = {}
    together: dict[tuple[int, tuple[str, ...]], dict[str, TextView]] = {}
    for name, view in views.items():
        if isinstance(view, TextView) and not view.by_field:
            together.setdefault((id(view._counter), view.fields), {})[name] = view
        else:
            rows[name] = view.transform(texts)
    for group in together.values():
        rows |= zip(group, _counted_once(list(group.values()), texts), strict=True)
    return {name: rows[name] for name in views}


def share_lexicons(views: Iterable[View]) -> None:
    """Let views of the same words count with one lexicon."""
    distinct: list[TextView] = []
    for view in views:
        if isinstance(view, TextView) and not any(map(view.adopt_lexicon, distinct)):
            distinct.append(view)


def _counted_once(views: Sequence[TextView], texts: Sequence[str]) -> list[TextMatrix]:
    """Return the rows of texts in views of the same fields that count with one lexicon."""
    names = [name for name in fields.OWN if name in views[0].fields]
    blocks: list[list[TextMatrix]] = [[] for _ in views]
    for counts in views[0]._counter.counts([fields.take(text, names) for text in texts]):
        for rows, view in zip(blocks, views, strict=True):
            rows.append(weigh_side(counts, view.statistics, view.weighting, view.side))
    return [_stacked(rows, len(view.words)) for rows, view in zip(blocks, views, strict=True)]


def _stacked(blocks: Sequence[TextMatrix], width: int) -> TextMatrix:
    if len(blocks) == 1:
        return blocks[0]
    nothing = sparse.csr_array((0, width), dtype=np.float32)
    rows: TextMatrix = sparse.vstack([nothing, *blocks], format="csr")
    return rows


def load_view(directory: Path) -> TextView:
    """Load a saved view; `BadInput` if it is damaged or of another tokenizer."""
    file = directory / "view.json"
    facts = files.read_object(file, AGAIN)
    series = files.read_strings([directory / "words.parquet"], "word", remedy=AGAIN)["word"]
    with files.reading(file, AGAIN):
        weighting = Weighting.parse(facts["name"])
        language, version, space = facts["language"], facts["tokenizer"], facts["space"]
        wanted = tokenizer.identity(language)
        side: Side = "query" if facts["side"] == "query" else "document"
        texts, mean_length = int(facts["texts"]), float(facts["mean_length"])
        read = tuple(map(str, facts["fields"]))
        lengths = tuple(map(float, facts["field_lengths"]))
    if version != wanted:
        raise BadInput(
            f"{file}: its texts were split by version {version} of the tokenizer, this is version "
            f"{wanted}. {AGAIN}"
        )
    specs = {
        "idf": ArraySpec("float32", (len(series),), least=0),
        "occurrences": ArraySpec("int64", (len(series),), least=0),
    }
    if not (directory / "occurrences.npy").exists():
        del specs["occurrences"]
    arrays = {name: load_array(directory / f"{name}.npy", mapped=False) for name in specs}
    check_arrays(specs, arrays, directory, AGAIN)
    statistics = Statistics(arrays["idf"], texts, mean_length, arrays.get("occurrences"), lengths)
    view = TextView(language, Vocabulary(series), statistics, weighting, side, read)
    if view.space != space:
        raise BadInput(f"{file}: its words were changed. {AGAIN}")
    return view
