"""Spell a remedy as its reader types it: as options of the command, or as arguments in Python.

A message says `typed` where it names a setting, and `typed_call` where it names a whole step. While
a verb of the command runs (`reading`), both are spelled for that verb; else for Python.
"""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple


class Setting(NamedTuple):
    """A setting that messages name.

    Attributes
    ----------
    verb : str
        Verb that has its option.
    argument : str
        Its argument in Python; "": it is one of the command alone.
    call : str
        Call that takes the argument, with ``{}`` for it, where several calls do not.
    also : str
        Another name of the option, in other verbs.
    """

    verb: str
    argument: str
    call: str = "{}"
    also: str = ""


_TABLE, _CLICKS, _UBI = "data ingest table", "data ingest clicks", "data ingest ubi"
_FEATURES, _TASK = "data features", "ssi.Task.of(docs, {})"

SETTINGS: Mapping[str, Setting] = {
    "column": Setting(_TABLE, "columns"),
    "separator": Setting(_TABLE, "separator"),
    "language": Setting(_TABLE, "language"),
    "since": Setting(_TABLE, "since"),
    "source": Setting("fit", "source"),
    "texts": Setting("fit", "texts", also="documents"),
    "links": Setting("fit", "links"),
    "queries": Setting("fit", "queries"),
    "qrels": Setting("fit", "qrels"),
    "query-type": Setting("fit", "ask", "ssi.fit(docs, {})"),
    "clicks": Setting(_CLICKS, "clicks"),
    "most-broken": Setting(_CLICKS, "most_broken"),
    "action": Setting(_UBI, "actions"),
    "shown-by": Setting(_UBI, "shown_by"),
    "auxiliary": Setting(_FEATURES, "auxiliary"),
    "split": Setting(_FEATURES, "split"),
    "stems": Setting(_FEATURES, "stems"),
    "relevant": Setting(_FEATURES, "relevant", _TASK),
    "queries-from": Setting(_FEATURES, "queries", _TASK),
    "ranked": Setting(_FEATURES, "ranked", _TASK),
    "split-seed": Setting(_FEATURES, "split_seed", _TASK),
    "views": Setting(_FEATURES, "views", _TASK),
    "words": Setting(_FEATURES, "words", _TASK),
    "frozen": Setting(_FEATURES, ""),
    "query-draws": Setting(_FEATURES, ""),
    "translations": Setting(_FEATURES, ""),
    "vocabularies": Setting(_FEATURES, ""),
    "max-queries": Setting("lab evaluate", ""),
    "bounds": Setting("export", "bounds"),
    "expand": Setting("export", "expand"),
}
"""Name of a setting, which is its option without ``--``."""


class Call(NamedTuple):
    """A step: a verb with its arguments, or a call in Python.

    Attributes
    ----------
    subject : str
        First argument of the verb.
    rest : str
        Its other arguments, and options that it needs.
    function : str
        Function of Python.
    argument : str
        Its first argument.
    then : str
        What follows the call.
    """

    subject: str
    rest: str
    function: str
    argument: str
    then: str = ""


CALLS: Mapping[str, Call] = {
    "fit": Call("CORPUS", "--out DIR", "ssi.fit", "docs", ".save(directory)"),
    "data ingest table": Call("PATH", "--out DIR", "ssi.read", "path"),
    "data features": Call("CORPUS", "--out DIR", "ssi.Task.of", "docs"),
    "data index": Call("MODEL", "--task TASK --out DIR", "model.index", "docs"),
    "search": Call("MODEL", "TEXT", "index.search", "text"),
}
"""Verb -> its step."""


class _Reader(NamedTuple):
    """The verb that runs, and its options."""

    verb: str
    options: Collection[str]


_reader: _Reader | None = None


@contextmanager
def reading(verb: str, options: Collection[str]) -> Iterator[None]:
    """Spell remedies for whoever has typed a verb.

    Parameters
    ----------
    verb : str
        The verb, such as ``data features``.
    options : collection of str
        Its options, such as ``--out``.
    """
    global _reader
    before, _reader = _reader, _Reader(verb, options)
    try:
        yield
    finally:
        _reader = before


def offers(option: str) -> bool:
    """Tell whether a verb runs that has an option."""
    return _reader is not None and option in _reader.options


def typed(name: str, value: Any = None) -> str:
    """Return a setting as it is typed.

    It is an option of the verb that runs; where that has no such option, of the verb that has it.

    Parameters
    ----------
    name : str
        One of `SETTINGS`.
    value : object, optional
        Its value. A mapping is given as NAME=VALUE for each name, a list with commas.

    Examples
    --------
    >>> typed("column", {"text": "body"}), typed("auxiliary")
    ("columns={'text': 'body'}", 'auxiliary')
    >>> with reading("fit", ["--column", "--set"]):
    ...     typed("column", {"text": "body"}), typed("separator", ";"), typed("words", 10)
    ('--column text=body', "--set separator=';'", "'ssi data features --words 10'")
    """
    setting = SETTINGS[name]
    if _reader is None and setting.argument:
        return setting.argument if value is None else setting.call.format(_argument(name, value))
    for own in filter(None, (name, setting.also)):
        if offers(f"--{own}"):
            return as_option(own, value)
    if offers("--set") and setting.verb.startswith("data ingest"):
        return as_option("set", {setting.argument: "VALUE" if value is None else value})
    return f"'ssi {setting.verb} {as_option(name, value)}'"


def typed_call(verb: str, of: object = None, **settings: Any) -> str:
    """Return a step as it is typed: a verb with its arguments, or a call in Python.

    Parameters
    ----------
    verb : str
        One of `CALLS`.
    of : object, optional
        What the step is done with, by default the name of that.
    **settings : object
        Values of settings that the step has beside what it needs, see `typed`.

    Examples
    --------
    >>> typed_call("data features", words=10)
    'ssi.Task.of(docs, words=10)'
    >>> with reading("search", []):
    ...     typed_call("data features", of="corpus", words=10)
    "'ssi data features corpus --out DIR --words 10'"
    """
    call = CALLS[verb]
    if _reader is None:
        argument = call.argument if of is None else repr(str(of))
        arguments = [argument, *(_argument(*one) for one in settings.items())]
        return f"{call.function}({', '.join(arguments)}){call.then}"
    subject = call.subject if of is None else shlex.quote(str(of))
    options = [as_option(*one) for one in settings.items()]
    return f"'{' '.join(['ssi', verb, subject, call.rest, *options])}'"


def spelled(argument: str, value: Any = None) -> str:
    """Return an argument, with the value that it was given: as an option, if it is one.

    >>> spelled("split", "page"), spelled("split")
    ("split='page'", 'split')
    >>> with reading("fit", ["--split"]):
    ...     spelled("split", "page")
    '--split page'
    """
    also = (name for name, one in SETTINGS.items() if one.argument == argument)
    for name in (argument.replace("_", "-"), *also):
        if offers(f"--{name}"):
            return as_option(name, value)
    return argument if value is None else f"{argument}={value!r}"


def _argument(name: str, value: Any) -> str:
    return f"{SETTINGS[name.replace('_', '-')].argument}={value!r}"


def as_option(name: str, value: Any) -> str:
    """Return an option with its value as it is typed.

    >>> as_option("data-limit", {"map": 2}), as_option("set", None)
    ('--data-limit map=2', '--set')
    """
    flag = f"--{name.replace('_', '-')}"
    if value is None:
        return flag
    if isinstance(value, Mapping):
        return " ".join(f"{flag} {key}={shlex.quote(str(one))}" for key, one in value.items())
    text = ",".join(value) if isinstance(value, list | tuple) else str(value)
    return f"{flag} {shlex.quote(text)}"
