"""Documents and links between them: `read` and what it returns."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from inspect import signature
from pathlib import Path
from typing import Any

import polars as pl

from ssi_core import store
from ssi_core.collection import ANCHOR, JUDGEMENT, KIND, has_title, open_collection
from ssi_core.corpus.tables.roles import DOCUMENTS, ENDS, LOG
from ssi_core.face import frames, progress
from ssi_core.face.show import UNCUT, beginning, card, facts_table, folded, html_table, text_table
from ssi_core.remedies import spelled, typed
from ssi_core.root import user_path
from ssi_core.store import Artefact
from ssi_core.strict import instead, listed
from ssi_core.text.fields import ANCHORS, HEADINGS, TEXT, TITLE, URL
from ssi_core.types import BadInput

_FIRST, _BEGINNING = 3, 160
"""Documents that are shown, and characters of their texts."""
_LOOKED_AT = 1000
"""Documents that are looked at for the fields that they have."""
_REASONS = 8
"""Reasons for which rows were left out that are told."""
_SHARED = ("links", "documents", "columns", "labels", "language")
"""Settings that are arguments of `read`; a source may be without them."""
_ALSO = ("links", "queries", "judgements", "clicks")
"""Counts that say what documents have beside their texts."""


@dataclass(frozen=True)
class Documents:
    """Documents with their links or judged queries: a directory that `read` has written.

    Attributes
    ----------
    artefact : Artefact
        Manifest of the directory.

    Examples
    --------
    >>> import ssi_core as ssi
    >>> docs = ssi.read(["a car", "an old automobile"], links=[(0, 1)])
    >>> len(docs), docs.links.rows()
    (2, [('0', '1')])
    """

    artefact: Artefact

    @property
    def path(self) -> Path:
        """Return the directory, which every command takes as corpus."""
        return self.artefact.path

    @property
    def key(self) -> str:
        """Return the digest of contents, settings and code that names the directory."""
        return self.artefact.key

    @property
    def frame(self) -> pl.DataFrame:
        """Return columns id, title, language, revision, timestamp, text: a row per document."""
        return open_collection(self.path).documents.collect()

    @property
    def links(self) -> pl.DataFrame:
        """Return columns source, target: ids of documents."""
        return open_collection(self.path).links.collect()

    @property
    def relevant(self) -> tuple[str, ...]:
        """Return what may be relevant to a query here, as `Task.of` names it."""
        return open_collection(self.path).relevant

    @property
    def judged(self) -> bool:
        """Tell whether there are queries with judgements."""
        return JUDGEMENT in self.relevant

    @property
    def counts(self) -> Mapping[str, Any]:
        """Return how many documents and links were read, and the column of each role."""
        return self.artefact.counts

    @property
    def skipped(self) -> Mapping[str, Any]:
        """Return how many rows were left out, for each reason."""
        return self.artefact.skipped

    def __len__(self) -> int:
        return int(self.counts["documents"])

    def __repr__(self) -> str:
        first, read = text_table(*self._first(), left=3), self._read()
        return "\n".join([self._what(), "", first, "", text_table(*read, left=2, width=UNCUT)])

    def _repr_html_(self) -> str:
        first, read = html_table(*self._first(), left=3), html_table(*self._read())
        return card(self._what(), self.path, first, folded("What was read", read))

    def _what(self) -> str:
        """Say how many documents there are, and with which fields."""
        collection = open_collection(self.path)
        rows = collection.documents
        also = [name for name in (HEADINGS, URL) if name in rows.collect_schema()]
        has = {TITLE: has_title(), **{name: pl.col(name).fill_null("") != "" for name in also}}
        first = rows.head(_LOOKED_AT).select(**{name: one.any() for name, one in has.items()})
        fields = [TEXT, *(name for name, (found,) in first.collect().to_dict().items() if found)]
        number = rows.select(pl.len()).collect().item()
        fields += [ANCHORS] * (ANCHOR in self.relevant)
        beside = "".join(
            f", {self.counts[name]:,} {name}" for name in _ALSO if self.counts.get(name)
        )
        return f"{number:,} documents{beside}; fields: {', '.join(fields)}"

    @property
    def account(self) -> str:
        """Say in a few sentences what was read, in which language, and what was left out."""
        said, language = [f"{self._what()}."], self.counts.get("language")
        if language:
            said.append(f"Language: {language}.")
        skipped = {reason: rows for reason, rows in self.skipped.items() if rows}
        if skipped:
            many = dict(sorted(skipped.items(), key=lambda one: -one[1]))
            left = [f"{reason} {rows}" for reason, rows in facts_table(many)]
            said.append(f"Left out: {listed(left, _REASONS)}.")
        return " ".join(said)

    def _first(self) -> tuple[list[str], list[list[str]]]:
        head = ["id", "title", "text"]
        first = open_collection(self.path).documents.select(head).head(_FIRST).fill_null("")
        rows = first.collect().rows()
        return head, [[beginning(cell, _BEGINNING) for cell in row] for row in rows]

    def _read(self) -> tuple[list[str], list[list[str]]]:
        skipped = {reason: rows for reason, rows in self.skipped.items() if rows}
        return ["Documents", str(self.path)], facts_table({**self.counts, "skipped": skipped})


def read(
    documents: frames.Texts,
    links: frames.Links | None = None,
    *,
    texts: Documents | frames.Texts | None = None,
    columns: Mapping[str, str] | None = None,
    labels: Sequence[str] = (),
    language: str | None = None,
    source: str | None = None,
    out: str | Path | None = None,
    **settings: Any,
) -> Documents:
    """Read documents and the links between them, as ``ssi data ingest`` does.

    The same documents are read once: they lie in the store (``.ssi/store`` below ``SSI_ROOT``, else
    below the nearest parent with ``prefect.yaml``, else below the working directory).

    Parameters
    ----------
    documents : str, Path, list of Path, frame, list or array
        A table (``.jsonl``, ``.csv``, ``.tsv`` or ``.parquet``, plain or compressed) or several as
        a list of `Path`; a directory of Markdown, HTML and plain text, one in the format of BEIR,
        or one that ``ssi data ingest`` has written; a dump of Wikipedia, or what else a source of
        ``ssi data ingest`` knows by its name; a frame of polars, pandas or Arrow, a mapping of
        columns, a list of mappings; or texts: a list, a Series or an array of str, or a mapping of
        ids to texts or rows. The names in an index of pandas are ids, too.
    links : str, Path, frame, list, array or matrix, optional
        Tables or a frame with the two ends of a link in each row, pairs, an array of two columns,
        or a matrix of scipy with an entry (i, j) for each link. An end is a document's id, else its
        URL, else its title; of documents without ids and URLs in memory, its number from 0.
        Documents with a column ``links`` need none.
    texts : Documents, optional
        Documents that a log refers to by id: what `read` returned for their texts, or what it
        takes.
    columns : mapping, optional
        Role -> name of its column, where the name does not tell the role. Roles are id, title,
        text, url, language, timestamp and links; of a table of links source, target and anchor; of
        a log session, user, query, query_text, document, document_text, position, clicked,
        timestamp, or clicks, shown and grade.
    labels : sequence of str, optional
        Columns that are kept, to compute measures for each of their values.
    language : str, optional
        Code of the texts' language; by default guessed from their script.
    source : str, optional
        Name of a source of ``ssi data ingest``, such as ``"trec"``, whose files ``documents``
        names.
    out : str or Path, optional
        Directory to write; by default one of the store.
    **settings
        Further settings of that source, such as ``topics="topics.txt"``.

    Raises
    ------
    BadInput
        A file is damaged, the role of a column is not clear, or no document is left.

    Examples
    --------
    >>> import ssi_core as ssi
    >>> rows = [{"id": "a", "text": "a car", "links": ["b"]}, {"id": "b", "text": "a road"}]
    >>> ssi.read(rows).counts["links"]
    1
    """
    path = user_path(documents)
    if texts is not None and not isinstance(texts, Documents):
        roles = {*DOCUMENTS} - {*LOG}
        texts = read(texts, columns={k: v for k, v in (columns or {}).items() if k in roles})
        columns = {k: v for k, v in (columns or {}).items() if k not in roles}
    fields = {"links": links, "columns": columns, "labels": labels, "language": language}
    given = {name: value for name, value in fields.items() if not _is_nothing(value)} | settings
    if texts is not None:
        given["documents"] = texts.path
    if source is None and path is not None and (path / store.MANIFEST).is_file():
        if given:
            raise BadInput(
                f"{path}: {', '.join(map(spelled, given))} go with files. Leave them out."
            )
        return Documents(store.read(path, KIND))
    with tempfile.TemporaryDirectory(prefix="ssi-") as folder, frames.unnamed(Path(folder)):
        given |= _files(documents, links, columns or {}, Path(folder))
        return Documents(read_source(source, given, user_path(out)))


def _is_nothing(value: Any) -> bool:
    return value is None or (isinstance(value, tuple | list | dict) and not value)


def _files(
    documents: Any, links: Any, columns: Mapping[str, str], folder: Path
) -> dict[str, Sequence[Path]]:
    """Return the files of documents and links; what is in memory is written into a folder."""
    names = None
    if (paths := _paths(documents)) is None:
        paths = [folder / "documents.jsonl"]
        names = frames.write_documents(documents, columns, paths[0])
    if (ends := _paths(links)) is None:
        ends = [folder / "links.jsonl"]
        frames.write_links(links, names, ends[0])
    return {name: files for name, files in (("paths", paths), ("links", ends)) if files}


def known_settings() -> set[str]:
    """Return the arguments of `read`, and the settings of all sources, which it takes, too."""
    from ssi_core.corpus.sources import SOURCES

    return {*signature(read).parameters}.union(*(one.model_fields for one in SOURCES.values()))


def read_source(name: str | None, settings: Mapping[str, Any], out: Path | None = None) -> Artefact:
    """Read files with a source of the registry: the one that is named, or that they look like."""
    from pydantic import ValidationError

    from ssi_core.corpus.sources import source_named, source_of
    from ssi_core.strict import faults

    if name is None:
        if not settings:
            raise TypeError("None, expected documents: files, a frame, or a list of texts")
        if "paths" not in settings:
            raise TypeError(f"{', '.join(settings)} go with a source. Name one: source='trec'")
        name = source_of(settings["paths"][0])
        if name == "table" and "documents" in settings:
            name = "clicks"  # texts go with a log
    source = source_named(name)
    if unknown := sorted(settings.keys() - source.model_fields.keys()):
        raise BadInput(_no_setting(name, unknown[0], list(source.model_fields), settings))
    try:
        given = source(**settings)
    except ValidationError as error:
        raise BadInput(f"source {name!r}: {faults(error)}.") from None
    with progress.shown("read") as on_progress:
        return given.fetched(on_progress).read(out=out, progress=on_progress)


def _no_setting(name: str, setting: str, known: Sequence[str], settings: Mapping[str, Any]) -> str:
    """Return what to say of a setting that a source does not have."""
    if setting == "documents" and "paths" in settings:
        columns = typed("column", {"query": "NAME", "document": "NAME"})
        return (
            f"{settings['paths'][0]}: texts go with a log, and this looks like {name!r}. Give it "
            f"without texts; or say that it is a log, and which column is which: "
            f"{typed('source', 'clicks')}, {columns}"
        )
    if setting in {*DOCUMENTS, *ENDS, *LOG} and isinstance(settings[setting], str):
        column = typed("column", {setting: settings[setting]})
        return f"source {name!r}: the role of a column is said by {column}"
    if setting == "qrels":
        return f"judgements without queries: give both ({typed('queries')} and {typed('qrels')})."
    if setting in _SHARED:
        return f"source {name!r} takes no {spelled(setting)}. Leave it out."
    return f"source {name!r}: no setting {instead(setting, known)}"


def _is_file(one: object) -> bool:
    """Tell whether an entry of a list is a path, or names a file: else it may be a text."""
    named = isinstance(one, str) and 0 < len(one) < _BEGINNING
    return isinstance(one, Path) or (named and Path(str(one)).is_file())


def _paths(data: Any) -> list[Path] | None:
    """Return the files that are meant; None for what is in memory."""
    if data is None:
        return []
    if isinstance(data, str) and "://" in data:
        raise BadInput(f"{data}: it is an address. Download it, and give the file.")
    if (path := user_path(data)) is not None:
        return [path]
    if isinstance(data, list | tuple) and data and all(map(_is_file, data)):
        return [user_path(one) for one in data]
    return None
