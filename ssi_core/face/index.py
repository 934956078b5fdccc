"""An index of documents under a model: search and explain, with answers that show themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args, overload

from ssi_core import store, types
from ssi_core.collection import open_collection
from ssi_core.face import progress
from ssi_core.face.documents import Documents, read
from ssi_core.face.export import Export
from ssi_core.face.frames import Texts
from ssi_core.face.results import Explanation, Neighbours, Results, Summary, Why
from ssi_core.face.show import card, html_table
from ssi_core.face.task import Task
from ssi_core.models.base import FittedModel
from ssi_core.models.choice.untrained import title
from ssi_core.models.content import content_of
from ssi_core.registry import HOOKS, TARGETS
from ssi_core.root import user_path
from ssi_core.serving import explain, searcher
from ssi_core.serving import why as reasons
from ssi_core.serving.index import KIND, Storage, build_index, open_index, stored
from ssi_core.serving.ranked import Hit
from ssi_core.serving.related import related_documents
from ssi_core.serving.summaries import summarise
from ssi_core.strict import instead, strings
from ssi_core.tasks.fields import names_of_task
from ssi_core.tasks.reading import names_of, raw_texts
from ssi_core.tasks.unseen import Raw, documents_of, require_known, texts_in_views
from ssi_core.types import BadInput


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

    def __init__(self, opened: searcher.Searcher, related: searcher.Searcher | None = None) -> None:
        self._searcher, self._related = opened, related
        self.path = opened.index.path

    def __copy__(self) -> Index:
        return Index(self._searcher, self._related)

    def __getstate__(self) -> dict[str, Any]:
        """Refuse to be pickled: an index is a directory, which other processes open themselves."""
        raise TypeError(
            f"an index is not pickled: it is the directory {self.path}. Pickle the model, and call "
            "model.index(docs) there; or save both (ssi.fit(docs).save(directory))."
        )

    @classmethod
    def of(
        cls,
        fitted: FittedModel,
        documents: Documents | Task | Texts,
        out: str | Path | None = None,
        task: Task | None = None,
        storage: Storage = "float32",
    ) -> Index:
        """Make the index of documents under a trained model, or open the one in the store.

        Parameters
        ----------
        fitted : FittedModel
            The trained model.
        documents : Documents or Task
            What `read` returned, or what it takes; or a task, whose documents are meant.
        out : str or Path, optional
            Directory to write; by default one of the store.
        task : Task, optional
            Task of the same documents: its matrices are used, and no text is read again.
        storage : str, optional
            Numbers of the documents' vectors: "float32", or "float16" in half of the bytes.

        Raises
        ------
        BadInput
            The documents are in a language that the model does not read, or the model knows nearly
            none of their words.
        """
        if storage not in get_args(Storage):
            raise BadInput(f"storage: no numbers {instead(storage, get_args(Storage))}")
        docs = documents if isinstance(documents, Documents | Task) else read(documents)
        corpus = docs.key if isinstance(docs, Documents) else docs.artefact.parents["collection"]
        parents = {"corpus": corpus, "model": content_of(fitted)}
        key = store.key_of(KIND, stored(storage), parents)
        path = store.path_of(KIND, key, user_path(out))
        is_made = (path / store.MANIFEST).is_file()
        if not is_made or not _is_of(store.read(path, KIND), parents, storage):
            if isinstance(docs, Task):
                texts, parts = docs.data.documents, raw_texts(docs.path)
                names = names_of_task(docs.path)
            else:
                known = task is not None and corpus in task.artefact.parents.values()
                whole = task is not None and known and not task.hides
                texts = task.data.documents if task and whole else _read_by(fitted, docs)
                collection = open_collection(docs.path)
                parts, names = collection.parts("documents"), names_of(collection, texts.ids)
            with progress.shown("index") as on_progress:
                build_index(
                    fitted,
                    texts,
                    path,
                    parents=parents,
                    texts=parts,
                    names=names,
                    storage=storage,
                    progress=on_progress,
                )
        return cls(searcher.Searcher(fitted, open_index(path)))

    def __len__(self) -> int:
        return len(self._searcher.index)

    def __repr__(self) -> str:
        return f"Index of {self._what()}, {self.path}"

    def _repr_html_(self) -> str:
        index = self._searcher.index
        rows = zip(index.ids.head(3).to_list(), index.titles.head(3).to_list(), strict=True)
        first = html_table(["id", "title"], [list(row) for row in rows], left=2)
        return card(f"Index of {self._what()}", self.path, first)

    def _what(self) -> str:
        return f"{len(self):,} documents under {title(self._searcher.fitted.model)}"

    @overload
    def search(  # type: ignore[overload-overlap]
        self, text: str, k: int = 10, *, popularity: bool = True
    ) -> Results: ...
    @overload
    def search(
        self, text: Sequence[str], k: int = 10, *, popularity: bool = True
    ) -> list[Results]: ...
    def search(
        self, text: str | Sequence[str], k: int = 10, *, popularity: bool = True
    ) -> Results | list[Results]:
        """Return the k best documents for a text, or for each of several texts.

        Parameters
        ----------
        text : str, or sequence or Series of str
            One text, or several.
        k : int, optional
            Number of documents at most; documents that share nothing with the text are left out.
        popularity : bool, optional
            False: without the term of a mixture with in_degree that counts links to a document.

        Returns
        -------
        Results, or list of Results
            Documents with their scores, best first.

        Raises
        ------
        BadInput
            The model has no term of popularity to leave out.
        """
        texts = strings(text)
        each = self._searcher.search(texts, k, popularity=popularity)
        answers = [Results(one.hits, one.reason) for one in each]
        return answers[0] if isinstance(text, str) else answers

    def related(self, document: str | int | Hit, k: int = 10) -> Results:
        """Return the k documents that are most related to one of the index, which is left out.

        The document is the query of the model that was fitted on links, where `fit` has made one,
        and else of the model that searches.

        Parameters
        ----------
        document : str
            Id or title.
        k : int, optional
            Number of documents at most.

        Returns
        -------
        Results
            Documents with their scores, best first; snippets are their beginnings.

        Raises
        ------
        BadInput
            There is no such document, or the index keeps no texts.
        """
        answer = related_documents(self._related or self._searcher, _name(document), k)
        return Results(answer.hits, answer.reason)

    def neighbours(self, word: str, k: int = 10) -> Neighbours:
        """Return the words that the model relates most to a word, or to several taken together.

        Parameters
        ----------
        word : str
            A word, or several.
        k : int, optional
            Number of words at most.

        Raises
        ------
        BadInput
            The model relates no words to others, or does not know this one.
        """
        return Neighbours.of(self._searcher.fitted, word, k)

    def relating(self, other: Index) -> Index:
        """Return the index with another one that finds related documents."""
        return Index(self._searcher, other._searcher)

    def summary(
        self, text: str, words: int = 100, k: int = 10, *, concepts: Any = None, **settings: Any
    ) -> Summary:
        """Return the sentences of the best documents that answer a text, each with its document.

        Parameters
        ----------
        text : str
            What is searched.
        words : int, optional
            Words at most, unless the only sentence has more.
        k : int, optional
            Documents that are searched; the first five are summarised.
        concepts : Concepts, optional
            Concepts that sentences and text may share.
        **settings
            As `ssi_core.summarise` has them.

        Returns
        -------
        Summary
            Sentences in the order of the documents and of their texts.

        Raises
        ------
        BadInput
            The number of words is out of its bounds, or there is no such setting.
        """
        answer = self._searcher.search([text], k)[0]
        summary, _ = summarise()(self._searcher, text, answer, words, concepts=concepts, **settings)
        return Summary(**vars(summary))

    def explain(
        self, text: str, document: str | int | Hit, k: int = 10, *, popularity: bool = True
    ) -> Explanation:
        """Write the score of a document for a text as a sum over pairs of words.

        Parameters
        ----------
        text : str
            The text that was searched.
        document : str, int or Hit
            Title or id of a document, or what a search has found.
        k : int, optional
            Number of pairs that are listed, the largest ones first.
        popularity : bool, optional
            False: the score without the term that counts links to a document.

        Returns
        -------
        Explanation
            The score and its parts.

        Raises
        ------
        BadInput
            There is no such document, or the score of this model is not a sum over words, or has no
            term of popularity to leave out.
        """
        explained = explain.explain(self._searcher, text, _name(document), k, popularity=popularity)
        return Explanation(**vars(explained))

    def why(self, text: str, document: str | int | Hit, k: int = 10) -> Why:
        """Tell why a document is not among the first k, and what change would bring it there.

        Parameters
        ----------
        text : str
            The text that was searched.
        document : str, int or Hit
            Title or id of a document, or what a search has found.
        k : int, optional
            Number of places.

        Returns
        -------
        Why
            Its rank and score, what holds another document above it, and a change.

        Raises
        ------
        BadInput
            There is no such document, the index keeps no texts, the text has no known word, or the
            model reranks.
        """
        return Why(**vars(reasons.why(self._searcher, text, _name(document), k)))

    def export(
        self,
        to: str,
        out: str | Path,
        *,
        bounds: str | Path | None = None,
        margin: float = 0.1,
        expand: int | None = None,
        force: bool = False,
    ) -> Export:
        """Write the documents for another engine, with the ranking of the model.

        Parameters
        ----------
        to : str
            Engine or format, as in ``ssi export``: "opensearch", "lucene", "qdrant", ...
        out : str or Path
            Directory to write.
        bounds : str or Path, optional
            A former export of the same model: these documents are added to its index.
        margin : float, optional
            Width of the bounds beyond the documents, as a share of what these span.
        expand : int, optional
            Give each document so many words in place of the latent vector, which keeps a part of
            its gain.
        force : bool, optional
            Replace another export that is in the directory.

        Returns
        -------
        Export
            The directory, and the queries of the engine.

        Raises
        ------
        BadInput
            The score of this model is no sum over terms, or ``bounds`` are those of another.
        """
        if to not in TARGETS:
            raise BadInput(f"to: no engine or format {instead(to, TARGETS)}")
        settings = {"to": to, "bounds": bounds, "margin": margin, "expand": expand, "force": force}
        fitted, index = self._searcher.fitted, self._searcher.index
        written: Export = HOOKS["export"](fitted, index, user_path(out), **settings)
        return written


def _is_of(artefact: store.Artefact, parents: Mapping[str, str], storage: Storage) -> bool:
    """Tell whether an index is of these parents, with fields, and with numbers of this storage."""
    said = ("fields", "storage")
    has = {name: value for name, value in artefact.configuration.items() if name in said}
    return (artefact.parents, has) == (parents, stored(storage))


def _read_by(fitted: FittedModel, docs: Documents) -> types.Texts:
    """Read documents with the words that a model knows."""
    raw = documents_of(open_collection(docs.path))
    require_known(Raw(raw, raw), replace(fitted, query_views=fitted.document_views), docs.path)
    return texts_in_views(raw, fitted.document_views)


def _name(document: str | int | Hit) -> str:
    return document.id if isinstance(document, Hit) else str(document)
