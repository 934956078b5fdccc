"""Roles of the columns of a table: what is declared, else guessed by the names of the columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from ssi_core.corpus.tables.form import GUESSED, TableForm
from ssi_core.corpus.tables.reader import header_of
from ssi_core.strict import listed
from ssi_core.types import BadInput

Names: TypeAlias = Mapping[str, Sequence[str]]
"""Role -> the names that its column is known by, in lower case, the best first."""

DOCUMENTS: Names = {
    "id": ("id", "_id", "docid", "doc_id", "docno", "document_id", "pid", "pageid", "page_id"),
    "title": ("title", "name", "headline", "heading", "subject"),
    "text": ("text", "body", "content", "contents", "abstract", "description", "article"),
    "url": ("url", "uri", "permalink", "canonical_url", "link"),
    "headings": ("headings", "sections", "toc"),
    "language": ("language", "lang"),
    "timestamp": ("timestamp", "date", "updated", "modified", "published", "created"),
    "links": ("links", "outlinks", "references", "cites", "citations"),
}  # fmt: skip
ENDS: Names = {
    "source": ("source", "from", "src", "citing", "page", "query", "start", "tail"),
    "target": ("target", "to", "dst", "cited", "linked", "document", "end", "head"),
}
"""Of a table of links."""
ANCHOR: Names = {"anchor": ("anchor", "anchor_text", "anchortext", "link_text", "text", "words")}
"""The words of a link, which a table of links may have."""
QUERIES: Names = {
    "id": ("id", "_id", "query_id", "query-id", "qid"),
    "text": ("text", "query", "title"),
}
JUDGEMENTS: Names = {
    "query": ("query", "query_id", "query-id", "qid"),
    "document": ("document", "document_id", "corpus-id", "doc_id", "docid", "docno"),
    "grade": ("grade", "score", "relevance", "label"),
}


def guessed(header: Sequence[str], known: Names) -> dict[str, str]:
    """Return the column of each role whose column has one of the names that are known."""
    by_lower = {name.lower().strip(): name for name in reversed(header)}
    names = {role: next(filter(by_lower.get, of_role), None) for role, of_role in known.items()}
    return {role: by_lower[name] for role, name in names.items() if name is not None}


def roles_of(
    path: Path,
    known: Names,
    declared: Mapping[str, str],
    *,
    needed: Sequence[str] = (),
    form: TableForm = GUESSED,
) -> dict[str, str]:
    """Return the column of each role: as declared, else the first name that is known.

    Raises
    ------
    BadInput
        A declared column is not there, or a needed role has none.
    """
    header = header_of(path, form)
    guesses = guessed(header, known)
    roles = {role: declared.get(role) or guesses.get(role, "") for role in known}
    for role in known.keys() & declared.keys():
        if roles[role] not in header:
            raise BadInput(
                f"{path}: there is no column {roles[role]!r} for {role!r}. Its columns are: "
                f"{listed(header)}."
            )
    for role in needed:
        if not roles[role]:
            raise BadInput(
                f"{path}: which column is the {role}? Its columns are: {listed(header)}. Say "
                f"so: --column {role}=NAME"
            )
    return {role: name for role, name in roles.items() if name}
