"""A map of a log without a map: its columns have the roles that their names tell, or are given."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from ssi_core.corpus.tables.form import TableForm, kind_of
from ssi_core.corpus.tables.reader import EVERY, header_of
from ssi_core.corpus.tables.roles import LOG, guessed
from ssi_core.guests.click_logs.columns import LogMap, parse_map
from ssi_core.remedies import typed
from ssi_core.strict import instead, listed
from ssi_core.types import BadInput

_OF_SHOWINGS = ("position", "timestamp", "user")
_CLICKS = {"clicked", "clicks", "grade"}
_ASIDE = (*_OF_SHOWINGS, "clicked", "shown", "clicks", "grade")
"""Roles that a guess leaves out where they mean nothing beside others."""
_log = logging.getLogger(__name__)


def is_log(path: Path) -> bool:
    """Tell whether a table has queries, documents, and clicks, counts or grades of these."""
    if not path.is_file() or not kind_of(path):
        return False
    try:
        roles = guessed(header_of(path), LOG)
    except (OSError, ValueError):
        return False  # what reads the file says what is wrong with it
    asked = {"query", "query_text"} & roles.keys()
    return bool(asked and _CLICKS & roles.keys())


def guess_map(
    path: Path,
    declared: Mapping[str, str],
    written: Mapping[str, Any],
    texts: Collection[str] = (),
) -> LogMap:
    """Return the map of a log.

    A column that is declared has no other role. Where no column tells of clicks, every row is one.
    Their positions then say nothing of what was shown and not clicked, and are not read. A row with
    a session is a showing, and has no counts and no grade; without a session it is about a pair,
    whenever it was shown.

    Parameters
    ----------
    path : Path
        The log, or the first of several of one form.
    declared : mapping
        Role -> column, where the guess is wrong.
    written : mapping
        What is declared of how it is written (`TableForm`).
    texts : collection of str
        Sides, "query" or "document", whose texts are in a table or a collection of their own.

    Raises
    ------
    BadInput
        Queries or documents are in no column that is known, or roles mean nothing together.
    """
    header = header_of(path, TableForm(**written))
    if not {*filter(None, declared.values())} <= {*header}:
        header = header_of(path, TableForm(**written), EVERY)
    for name in filter(None, declared.values()):
        if name not in header:
            raise BadInput(f"{path}: there is no column {instead(name, header)}")
    free = [name for name in header if name not in declared.values()]
    roles = {**guessed(free, LOG), **declared}
    for side in ("query", "document"):
        text, title = f"{side}_text", f"{side}_title"
        if side in texts:
            # Ids of the table are in the only column of the side.
            roles.setdefault(side, roles.get(text, ""))
            for name in {text, title} - declared.keys():
                roles.pop(name, None)
        elif roles.get(side):
            roles.setdefault(text, roles.get(title) or roles[side])
    roles = {role: name for role, name in roles.items() if name}
    for side in ("query", "document"):
        if not {side, f"{side}_text"} & roles.keys():
            raise BadInput(
                f"{path}: which column is the {side}? Its columns are: {listed(header)}. Say so: "
                + typed("column", {side: "NAME"})
                + (f". Documents that nobody clicked go without {typed('texts')}." if texts else "")
            )
    return parse_map(
        {"columns": _together(roles, declared), "log": _form(roles, written)}, str(path)
    )


def tell_late(path: Path, form: LogMap, keys: set[str]) -> None:
    """Name the keys of JSON that came after those that a guess looked at, and have a role."""
    late = keys.difference(form.names, header_of(path, form.log) if keys else ())
    roles = {
        role: key for role, key in guessed(sorted(late), LOG).items() if role not in form.columns
    }
    if roles:
        _log.warning(
            "%s: not read: %s, which the first objects do not have. Say so: %s",
            path, listed([*roles.values()]), typed("column", roles),
        )  # fmt: skip


def tell_unread(path: Path, form: LogMap, declared: Collection[str]) -> None:
    """Tell the user of a log which columns a guessed map leaves out, and what that makes of rows.

    Parameters
    ----------
    path : Path
        The log, or the first of several of one form.
    form : LogMap
        The map.
    declared : collection of str
        Roles that are declared.
    """
    header = header_of(path, form.log)
    roles = {role: name for role, name in guessed(header, LOG).items() if role not in declared}
    unknown = [name for name in header if name not in {*form.names, *roles.values()}]
    left = [roles[role] for role in _ASIDE if roles.get(role, "") not in {"", *form.names}]
    if form.log.all_clicked and unknown:
        _log.warning(
            "%s: every row is read as a click; not known: %s. If one of these is true only where "
            "something was clicked, say so: %s",
            path, listed(unknown), typed("column", {"clicked": unknown[0]}),
        )  # fmt: skip
    elif form.log.all_clicked and "position" in roles and "position" not in form.columns:
        _log.warning(
            "%s: every row is read as a click, wherever it was shown, and %r is not read. If a "
            "column is true only where something was clicked, say so: %s",
            path, roles["position"], typed("column", {"clicked": "NAME"}),
        )  # fmt: skip
    elif left and form.of_pairs and not form.log.all_clicked:
        _log.warning(
            "%s: not read: %s. A row without a session is about a pair, whenever it was shown. If "
            "a column says what was shown together, name it: %s",
            path, listed(left), typed("column", {"session": "NAME"}),
        )  # fmt: skip
    elif left and not form.of_pairs:
        _log.warning(
            "%s: not read: %s. A row with a session is one showing, and has no counts and no "
            "grade. If rows are about pairs, say so: %s",
            path, listed(left), typed("column", {"session": ""}),
        )  # fmt: skip


def _together(roles: Mapping[str, str], declared: Mapping[str, str]) -> dict[str, str]:
    """Return the roles that mean something together; what is declared stays."""
    kept = dict(roles)
    if not _CLICKS & kept.keys() and "position" not in declared:
        kept.pop("position", None)
    if "session" not in kept and "user" in kept and {"position", "clicked"} & kept.keys():
        kept["session"] = kept["user"]  # a slate is then what a user was shown for a query
    wrong: set[str] = set()
    if "session" in kept:
        if "clicked" not in kept and "clicks" in kept and "clicks" not in declared:
            kept["clicked"] = kept.pop("clicks")
        wrong |= {"clicks", "shown", "grade"}
    else:
        wrong |= {*_OF_SHOWINGS}
        wrong |= {"clicked"} if "clicks" in kept else {"shown"}
    return {role: name for role, name in kept.items() if role not in wrong or role in declared}


def _form(roles: Mapping[str, str], written: Mapping[str, Any]) -> dict[str, Any]:
    return {**written, **({} if _CLICKS & roles.keys() else {"all_clicked": True})}
