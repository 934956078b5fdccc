"""The models that are served: opened, followed, swapped, and their documents.

Whoever asks takes the searcher once and keeps it to the end of the question. A new model is opened
next to the old one and takes its place by one assignment, so that no question meets half of each.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from flows.serve.examples import examples
from ssi_core.guests.live.changes import Changes
from ssi_core.guests.live.searcher import Document, LiveSearcher
from ssi_core.guests.monitoring.trial import try_model
from ssi_core.models.choice.untrained import title as label_of
from ssi_core.serving.related import related_in
from ssi_core.serving.searcher import Searcher, open_searcher, shown
from ssi_core.types import BadInput, Refused

MOST_DOCUMENTS = 100_000
"""Documents that can be added; more belong into an index."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Served:
    """A model that answers.

    Attributes
    ----------
    asked : str
        As it was named: a directory, a run id, models:/NAME@ALIAS.
    directory : Path
        Of the model.
    title : str
        Name of the model for people.
    since : datetime
        When it began to answer.
    searcher : LiveSearcher
        What finds documents for texts.
    problem : str or None
        Why what ``asked`` names now could not be opened; None where all is well.
    related : LiveSearcher or None
        What finds documents for documents; None: the searcher.
    examples : tuple of str
        Queries to begin with.
    """

    asked: str
    directory: Path
    title: str
    searcher: LiveSearcher
    since: datetime
    problem: str | None = None
    related: LiveSearcher | None = None
    examples: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Return the kind of the model."""
        return self.searcher.fitted.model.name

    @property
    def follows(self) -> bool:
        """Say whether the name can come to mean another model."""
        return self.asked.startswith("models:/") and "@" in self.asked

    def changed(self, change: Callable[[LiveSearcher], LiveSearcher]) -> Served:
        """Return the model with a change of its documents."""
        related = None if self.related is None else change(self.related)
        return replace(self, searcher=change(self.searcher), related=related)


class Service:
    """Models that answer, and documents that are added to and removed from all of them.

    Parameters
    ----------
    asked : sequence of str
        Names of models; the first is the one that is served, others are beside it.
    changes : Changes
        The documents, also of earlier services.
    find : callable
        Name of a model -> its directory.
    index : Path or None
        Of the first model, if that does not carry one.
    prepare : callable
        Searcher of a model -> the one that is to answer, such as an approximate one.
    title : callable
        Name, directory and label of a model -> its name for people.
    """

    def __init__(
        self,
        asked: Sequence[str],
        changes: Changes,
        find: Callable[[str], Path],
        index: Path | None = None,
        prepare: Callable[[Searcher], Searcher] = lambda searcher: searcher,
        title: Callable[[str, Path, str], str] = lambda asked, directory, label: asked,
    ) -> None:
        self._changes, self._find, self._prepare, self._title = changes, find, prepare, title
        self._turn = threading.Lock()
        self.swaps = self.problems = 0
        opened = [
            self._opened(name, find(name), None if position else index)
            for position, name in enumerate(asked)
        ]
        self.models = tuple(map(self._current, opened))

    def follow(self) -> None:
        """Resolve each name again, and swap the models that have changed.

        What cannot be opened is logged, and the old model goes on.
        """
        for position, served in enumerate(self.models):
            if served.follows:
                self._follow(position, served)

    def _follow(self, position: int, served: Served) -> None:
        try:
            directory = self._find(served.asked)
            fresh, problem = None, None
            if directory != served.directory:
                try_model(directory)
                fresh = self._opened(served.asked, directory, None)
        except Exception as error:
            # Whatever a registry or a disk does to us, the old model answers.
            fresh, problem = None, f"{type(error).__name__}: {error}"
            if problem != served.problem:
                _log.warning("%s stays as it was: %s", served.asked, problem)
            self.problems += 1
        with self._turn:
            # Documents may have come while the model was opened.
            new = replace(self.models[position], problem=problem)
            if fresh is not None:
                try:
                    new = self._current(fresh)
                    self.swaps += 1
                    _log.info("%s is now %s", new.title, directory)
                except (BadInput, Refused) as error:
                    _log.warning("%s stays as it was: %s", new.asked, error)
                    new = replace(new, problem=str(error))
                    self.problems += 1
            self.models = (*self.models[:position], new, *self.models[position + 1 :])

    def put(self, documents: Sequence[Document]) -> None:
        """Add documents, or put them in the place of those of their ids.

        Raises
        ------
        BadInput
            There would be too many added documents.
        """
        with self._turn:
            models = [served.changed(lambda one: one.put(documents)) for served in self.models]
            if models[0].searcher.added > MOST_DOCUMENTS:
                raise BadInput(
                    f"there would be more than {MOST_DOCUMENTS} added documents. Build an index "
                    "that has them (ssi data index)."
                )
            self._changes.put(documents)
            self.models = tuple(models)

    def drop(self, ids: Collection[str]) -> set[str]:
        """Remove documents; return those of the ids that some model knew."""
        with self._turn:
            known = set[str]().union(*(served.searcher.known(ids) for served in self.models))
            models = [served.changed(lambda one: one.drop(known)) for served in self.models]
            self._changes.drop(known)
            self.models = tuple(models)
            return known

    def changes(self) -> tuple[list[Document], list[str]]:
        """Return the documents that were added, and the ids that were removed."""
        return self._changes.read()

    def _current(self, served: Served) -> Served:
        """Apply the added and removed documents to a model."""
        added, gone = self._changes.read()
        return replace(served.changed(lambda one: one.put(added).drop(gone)), since=_now())

    def _opened(self, asked: str, directory: Path, index: Path | None) -> Served:
        searcher = LiveSearcher(self._prepare(open_searcher(directory, index)))
        # With an index of its own, the model itself relates documents.
        index_directory = related_in(directory) if index is None else None
        related = None if index_directory is None else LiveSearcher(open_searcher(index_directory))
        for one in (searcher, related):
            if one is not None:  # Kernels compile with the first question, which is then nobody's.
                shown(one.search([one.index.titles[0]], 1)[0])
        title = self._title(asked, directory, label_of(searcher.fitted.model))
        begin = tuple(examples(searcher))
        return Served(asked, directory, title, searcher, _now(), related=related, examples=begin)


def _now() -> datetime:
    return datetime.now(UTC)


class Follower:
    """Follow the names of a service's models every few seconds, for the length of a ``with``."""

    def __init__(self, service: Service, seconds: float) -> None:
        self._service, self._seconds = service, seconds
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="follower", daemon=True)

    def __enter__(self) -> Follower:
        self._thread.start()
        return self

    def __exit__(self, *raised: object) -> None:
        self._over.set()
        self._thread.join(10)

    def _run(self) -> None:
        while not self._over.wait(self._seconds):
            self._service.follow()
