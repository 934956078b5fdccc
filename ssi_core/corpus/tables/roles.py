"""Roles of the columns of a table: what is declared, else guessed by the names of the columns."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from ssi_core.corpus.tables.form import GUESSED, TableForm, kind_of
from ssi_core.corpus.tables.reader import EVERY, header_of
from ssi_core.remedies import typed
from ssi_core.strict import listed, nearest
from ssi_core.types import BadInput

_UNNAMED = (
    ". If these are no names, write a line of names, such as id and text, above them",
    ". What lies within one is not read: bring it up, such as by jq -c '. + .NAME' of an object or "
    "jq -c '.NAME[]' of rows",
)
_log = logging.getLogger(__name__)

Names: TypeAlias = Mapping[str, Sequence[str]]
"""Role -> the names that its column is known by, as `plain_name` writes them, the best first."""

DOCUMENTS: Names = {
    "id": ("id", "_id", "docid", "doc_id", "docno", "document_id", "pid", "pageid", "page_id",
           "sku", "product_id", "item_id", "object_id", "asin"),
    "title": ("title", "name", "headline", "heading", "subject", "product_name", "product_title"),
    "text": ("text", "body", "content", "contents", "abstract", "description", "article",
             "product_description"),
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
QUERIES: Names = {"id": ("id", "_id", "query_id", "qid"), "text": ("text", "query", "title")}
JUDGEMENTS: Names = {
    "query": ("query", "query_id", "qid", "q_id"),
    "document": ("document", "document_id", "corpus_id", "doc_id", "docid", "docno"),
    "grade": ("grade", "score", "relevance", "rating", "judgement", "judgment", "label"),
}
LOG: Names = {
    "session": ("session", "session_id", "sessionid", "visit", "visit_id", "search_id", "serp_id"),
    "user": ("user", "user_id", "userid", "visitor", "visitor_id", "client_id"),
    "query": ("query_id", "queryid", "qid"),
    "query_text": ("query_text", "query", "user_query", "search_term", "searchterm", "search_query",
                   "search", "term", "keywords", "keyword", "phrase", "words", "q"),
    "document": ("document", "document_id", "doc_id", "docid", "doc", "corpus_id", "item",
                 "item_id", "product", "product_id", "sku", "asin", "object_id", "ad_id", "result",
                 "result_id", "clicked_url", "url", "page", "page_id"),
    "document_title": ("document_title", "title", "product_title", "product_name"),
    "document_text": ("document_text", "text", "description", "snippet"),
    "position": ("position", "pos", "rank", "rank_position", "ordinal", "slot"),
    "clicked": ("clicked", "click", "is_click", "is_clicked", "was_clicked"),
    "timestamp": ("timestamp", "time", "datetime", "date", "when", "event_time", "created_at"),
    "shown": ("shown", "impressions", "views", "showings", "exposures"),
    "clicks": ("clicks", "click_count", "n_clicks", "num_clicks"),
    "grade": ("grade", "judgement", "judgment", "relevance", "rating"),
}  # fmt: skip
"""Of a log of clicks, counts or judgements; see `guests.click_logs.columns`."""
PAIRS: Names = {
    "query": ("query", "source", "source_text", "source_sentence"),
    "document": ("document", "target", "target_text", "target_sentence", "translation"),
}
"""Of a table of translated pairs, beside the codes of its languages."""


def plain_name(column: str) -> str:
    """Return the name of a column without capitals, blanks, hyphens and a question mark.

    >>> plain_name(" Search term"), plain_name("query-id"), plain_name("Clicked?")
    ('search_term', 'query_id', 'clicked')
    """
    return re.sub(r"[\s-]+", "_", column.strip().removesuffix("?").rstrip().lower())


def guessed(header: Sequence[str], known: Names) -> dict[str, str]:
    """Return the column of each role whose column has one of the names that are known."""
    by_name = {plain_name(name): name for name in reversed(header)}
    names = {role: next(filter(by_name.get, of_role), None) for role, of_role in known.items()}
    return {role: by_name[name] for role, name in names.items() if name is not None}


def roles_of(
    path: Path,
    known: Names,
    declared: Mapping[str, str],
    *,
    needed: Sequence[str] = (),
    form: TableForm = GUESSED,
    remedy: str = "",
) -> dict[str, str]:
    """Return the column of each role: as declared, else the first name that is known.

    Parameters
    ----------
    path : Path
        The table.
    known : Names
        Names by which columns are known.
    declared : mapping
        Role -> column; "": none.
    needed : sequence of str
        Roles that must have a column; a title stands for a text.
    form : TableForm
        How the table is written, as far as it is declared.
    remedy : str
        What to do where one has none; "": declare it.

    Raises
    ------
    BadInput
        A declared column is not there, or a needed role has none.
    """
    header = header_of(path, form)
    guesses = guessed(header, known)
    roles = {role: declared.get(role, guesses.get(role, "")) for role in known}
    for role in known.keys() & declared.keys():
        if not roles[role] or roles[role] in header:
            continue
        header = header_of(path, form, EVERY)
        if roles[role] not in header:
            near = nearest(roles[role], header) or "NAME"
            raise BadInput(
                f"{path}: there is no column {roles[role]!r} for {role!r}. Its columns are: "
                f"{listed(header)}. Name one of them: {typed('column', {role: near})}"
            )
    if "text" in needed and not roles["text"] and "title" not in declared:
        # A table of names alone, such as products: the name is the text.
        name = roles["title"]
        roles["text"], roles["title"] = name, ""
        unread = [name for name in header if name not in {*roles.values()}]
        if name and unread:
            _log.warning(
                "%s: %r is read as the text; not read: %s. If one of these is the text, say so: %s",
                path.stem, name, listed(unread), typed("column", {"text": unread[0]}),
            )  # fmt: skip
    within = kind_of(path, form) == "jsonl"
    for role in needed:
        if not roles[role]:
            raise BadInput(
                f"{path}: which column is the {role}? Its columns are: {listed(header)}. "
                + (remedy.format(role=role) or f"Say so: {typed('column', {role: 'NAME'})}")
                + _UNNAMED[within] * (within or not any(roles.values()))
            )
    return {role: name for role, name in roles.items() if name}
