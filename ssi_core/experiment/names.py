"""Rule for the names of tables, comparisons and registered models.

A name becomes a directory, a file that locks, a word of a filter of MLflow and a part of
``models:/NAME@ALIAS``, so it has none of the characters that mean something in one of these.
"""

from __future__ import annotations

import unicodedata

LONGEST = 150
"""Bytes of a name in UTF-8: a file name has room for 255, and what is put before and behind it."""

RULE = (
    "a name is letters and digits of any script, blanks and - _ . + ( ), begins with a letter, a "
    f"digit or _, ends with no blank and no dot, and has at most {LONGEST} bytes"
)
_SIGNS = frozenset(" -_.+()")
# No file on Windows may be called so, whatever follows the first dot.
_DEVICES = {"con", "prn", "aux", "nul"} | {f"{d}{n}" for d in ("com", "lpt") for n in range(10)}


def check_name(name: str, what: str) -> str:
    """Return a name; `ValueError` where it breaks the rule.

    Parameters
    ----------
    name : str
        Name that a person gave.
    what : str
        Thing that it names, for the message.

    >>> check_name("été-2", "table")
    'été-2'
    """
    if reason := _trouble(name):
        raise ValueError(f"{name[:80]!r} is no name of a {what}, for {reason}: {RULE}")
    return name


def _trouble(name: str) -> str:
    if not name:
        return "it is empty"
    if len(name.encode("utf-8", "replace")) > LONGEST:
        return "it is too long"
    wrong = next((sign for sign in name if not _is_taken(sign)), None)
    if wrong is not None and wrong != name[0]:
        return f"{wrong!r} in it"
    if not (name[0] == "_" or unicodedata.category(name[0])[0] in "LN"):
        return f"{name[0]!r} at its begin"
    if name[-1] in " .":
        return f"{name[-1]!r} at its end"
    if name.partition(".")[0].rstrip().casefold() in _DEVICES:
        return "Windows calls a device so"
    return ""


def _is_taken(sign: str) -> bool:
    # Marks are parts of letters: vowels of Indic scripts, dots and accents.
    return sign in _SIGNS or unicodedata.category(sign)[0] in "LNM"
