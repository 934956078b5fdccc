"""An index of documents under a model: search and explain, with answers that show themselves."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, overload

import polars as pl

from ssi_core import store
from ssi_core.collection import open_collection
from ssi_core.face import progress
from ssi_core.face.documents import Documents, read
from ssi_core.face.show import html_table, text_table
from ssi_core.face.task import Task
from ssi_core.models.base import FittedModel
from ssi_core.serving import explain, searcher
from ssi_core.serving.index import KIND, build_index, open_index
from ssi_core.serving.ranked import Hit
from ssi_core.tasks.unseen import Raw, require_known, texts_in_views
from ssi_core.types import Texts


@dataclass(frozen=True)
class Results:
    """Documents that a search returns, best first.

    Attributes
    ----------
    hits : tuple of Hit
        Documents, each with ``id``, ``title``, ``score``, ``url``, and ``snippet`` with ``marks``;
        see `serving.ranked.Hit`.
    reason : str or None
        Why there is no document; None where there is one.
    """

    hits: tuple[Hit, ...]
    reason: str | None = None

    @property
    def frame(self) -> pl.DataFrame:
        """Return columns id, title, score, url, snippet."""
        columns = ("id", "title", "score", "url", "snippet")
        schema = dict.fromkeys(columns, pl.String) | {"score": pl.Float64}
        rows = [tuple(getattr(hit, name) for name in columns) for hit in self.hits]
        return pl.DataFrame(rows, schema, orient="row")

    def __len__(self) -> int:
        return len(self.hits)

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)

    def __repr__(self) -> str:
        return text_table(*self._table()) if self.hits else f"nothing found: {self.reason}"

    def _repr_html_(self) -> str:
        return html_table(*self._table(), notes=[self.reason] if self.reason else [])

    def _table(self) -> tuple[list[str], list[list[str]]]:
        return ["title", "score"], [[hit.title, f"{hit.score:.4f}"] for hit in self.hits]


@dataclass(frozen=True)
class Explanation(explain.Explanation):
    """A score as a sum of parts, one for each word of the query and word of the document.

    Attributes
    ----------
    score : float
        Sum of all parts.
    parts : sequence of Part
        The largest parts, each with ``query_word``, ``document_word`` and ``part``.
    rest : float
        Sum of the other parts.
    """

    @property
    def frame(self) -> pl.DataFrame:
        """Return columns query_word, document_word, part."""
        schema = {"query_word": pl.String, "document_word": pl.String, "part": pl.Float64}
        rows = [(one.query_word, one.document_word, one.part) for one in self.parts]
        return pl.DataFrame(rows, schema, orient="row")

    def __repr__(self) -> str:
        return text_table(*self._table(), left=2)

    def _repr_html_(self) -> str:
        return html_table(*self._table(), left=2)

    def _table(self) -> tuple[list[str], list[list[str]]]:
        parts = [[one.query_word, one.document_word, f"{one.part:+.6f}"] for one in self.parts]
        ends = [["all other pairs", "", f"{self.rest:+.6f}"], ["score", "", f"{self.score:+.6f}"]]
        return ["query", "document", "part"], parts + ends


class Index:
    """Documents as a model sees them, ready to be searched; the ``index`` of a ranker makes one.

    Attributes
    ----------
    path : Path
        Directory, which ``ssi search MODEL TEXT --index`` takes.

    Examples
    --------
    >>> import ssi_core as ssi
    >>> texts = [f"{word} {n}" for n in range(40) for word in ("car", "moon")]
    >>> docs = ssi.read(texts, links=[(n, (n + 2) % 80) for n in range(80)])
    >>> index = ssi.BM25().fit(ssi.Task.of(docs)).index(docs)
    >>> [hit.title for hit in index.search("moon 7", k=1)]
    ['moon 7']
    >>> len(index.explain("moon 7", "moon 7").parts)
    2
    """

    def __init__(self, opened: searcher.Searcher) -> None:
        self._searcher = opened
        self.path = opened.index.path

    @classmethod
    def of(
        cls,
        fitted: FittedModel,
        documents: Any,
        out: str | Path | None = None,
        task: Task | None = None,
    ) -> Index:
        """Make the index of documents under a trained model, or open the one in the store.

        Parameters
        ----------
        fitted : FittedModel
            The trained model.
        documents : Documents
            What `read` returned, or what it takes.
        out : str or Path, optional
            Directory to write; by default one of the store.
        task : Task, optional
            Task of the same documents: its matrices are used, and no text is read again.

        Raises
        ------
        BadInput
            The documents are in a language that the model does not read, or the model knows nearly
            none of their words.
        """
        docs = documents if isinstance(documents, Documents) else read(documents)
        parents = {"corpus": docs.key, "model": content_of(fitted)}
        named = None if out is None else Path(out)
        place = store.place_of(KIND, store.key_of(KIND, {}, parents), named)
        is_made = (place / store.MANIFEST).is_file()
        if not is_made or store.read(place, KIND).parents != parents:
            known = task is not None and docs.key in task.artefact.parents.values()
            texts = task.data.documents if task and known else _read_by(fitted, docs)
            with progress.shown("index") as tell:
                parts = open_collection(docs.path).parts("documents")
                build_index(fitted, texts, place, parents=parents, texts=parts, progress=tell)
        return cls(searcher.Searcher(fitted, open_index(place)))

    def __len__(self) -> int:
        return len(self._searcher.index)

    def __repr__(self) -> str:
        return f"Index of {len(self):,} documents, {self.path}"

    @overload
    def search(self, text: str, k: int = 10) -> Results: ...  # type: ignore[overload-overlap]
    @overload
    def search(self, text: Sequence[str], k: int = 10) -> list[Results]: ...
    def search(self, text: str | Sequence[str], k: int = 10) -> Results | list[Results]:
        """Return the k best documents for a text, or for each of several texts.

        Parameters
        ----------
        text : str, or sequence or Series of str
            One text, or several.
        k : int, optional
            Number of documents at most; documents that share nothing with the text are left out.

        Returns
        -------
        Results, or list of Results
            Documents with their scores, best first.
        """
        texts = [text] if isinstance(text, str) else list(text)
        answers = [Results(one.hits, one.reason) for one in self._searcher.search(texts, k)]
        return answers[0] if isinstance(text, str) else answers

    def explain(self, text: str, document: str, k: int = 10) -> Explanation:
        """Write the score of a document for a text as a sum over pairs of words.

        Parameters
        ----------
        text : str
            The text that was searched.
        document : str
            Title or id of a document.
        k : int, optional
            Number of pairs that are listed, the largest ones first.

        Returns
        -------
        Explanation
            The score and its parts.

        Raises
        ------
        BadInput
            There is no such document, or the score of this model is not a sum over words.
        """
        return Explanation(**vars(explain.explain(self._searcher, text, document, k)))


def _read_by(fitted: FittedModel, docs: Documents) -> Texts:
    """Read documents with the words that a model knows."""
    raw = docs.frame.select("id", "title", "language", "text")
    require_known(Raw(raw, raw), replace(fitted, query_views=fitted.document_views), docs.path)
    return texts_in_views(raw, fitted.document_views)


def content_of(fitted: FittedModel) -> str:
    """Return a digest of what a trained model computes: its parameters, arrays and words."""
    with tempfile.TemporaryDirectory(prefix="ssi-") as folder:
        fitted.save(Path(folder))
        files = sorted(file for file in Path(folder).rglob("*") if file.name != "model.json")
        names = [str(file.relative_to(folder)) for file in files if file.is_file()]
        digests = {name: store.digest_file(Path(folder) / name) for name in names}
    return store.key_of("model", {"name": fitted.model.name, **vars(fitted.model)}, digests)
