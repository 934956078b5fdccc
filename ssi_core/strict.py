"""Read settings strictly, by pydantic: an error names the key, its value, and what was expected.

Lists become tuples, whole numbers floats, and floats such as 2e5 whole numbers, where a field wants
them; nothing else is converted.
"""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, fields
from functools import cache, wraps
from operator import index
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, get_type_hints

from ssi_core.remedies import as_option, spelled
from ssi_core.types import BadInput

if TYPE_CHECKING:
    from pydantic import TypeAdapter, ValidationError
    from pydantic_core import ErrorDetails

P = ParamSpec("P")
T = TypeVar("T")

_ALIKE = 0.57
"""Likeness from which a name may be meant: that of dims and dimensions."""


def read(kind: type[T], values: Any, where: str) -> T:
    """Build a dataclass of values from a file.

    Raises
    ------
    BadInput
        A key is unknown or missing, or a value is of a wrong kind or out of its bounds; the message
        begins with ``where``.
    """
    values = mapping(values, where)
    check_keys(kind, values, where)
    try:
        return kind(**converted(kind, values))
    except ValueError as error:  # a dataclass may check its own values
        raise BadInput(f"{where}: {error}") from error


def read_named(kinds: Mapping[str, type[T]], what: str, name: str, values: Any, where: str) -> T:
    """Build the dataclass of a name; see `read`.

    Raises
    ------
    BadInput
        There is no such name; the message says ``what`` it should be the name of.
    """
    if name not in kinds:
        raise BadInput(f"{where}: no {what} {instead(name, kinds)}")
    return read(kinds[name], values, where)


def check_keys(kind: Any, values: Mapping[str, Any], where: str) -> None:
    """Raise `BadInput` where a dataclass has no field of a key, or needs one that is missing."""
    named = {field.name: field for field in fields(kind) if field.init and field.name != "where"}
    for name in values:
        if name not in named:
            raise BadInput(f"{where}: no key {instead(name, named)}")
    for name, field in named.items():
        if name not in values and field.default is field.default_factory is MISSING:
            raise BadInput(f"{where}: {name} is missing.")


def converted(kind: Any, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return values as the fields of a dataclass want them; `ValueError` names a wrong one."""
    from pydantic import ValidationError

    taken = {}
    for name, value in values.items():
        try:
            taken[name] = _as(_adapters(kind)[name], _as_tuple(value))
        except ValidationError as error:
            raise ValueError(f"{name}={value!r}: {_expected(error.errors())}") from None
    return taken


def check(model: object) -> None:
    """Refuse values of a dataclass that are out of the bounds of its fields; convert the others.

    Raises
    ------
    ValueError
        Names the first such field, its value, and what was expected.
    """
    kind: Any = type(model)
    values = {field.name: getattr(model, field.name) for field in fields(kind)}
    for name, value in converted(kind, values).items():
        object.__setattr__(model, name, value)


def faults(error: ValidationError, options: Mapping[str, str] | None = None) -> str:
    """Say in one line what is wrong with a model of pydantic: fields, values, what was expected.

    Parameters
    ----------
    options : mapping, optional
        Options of fields that have other names.
    """
    problems: dict[str, list[ErrorDetails]] = {}
    for problem in error.errors():
        problems.setdefault(str(next(iter(problem["loc"]), "")), []).append(problem)
    parts = []
    for name, several in problems.items():
        if several[0]["type"] == "missing":
            parts.append(f"{name} is missing")
        else:
            value = several[0]["input"]
            option = (options or {}).get(name)
            said = as_option(option, value) if option else spelled(name, value)
            parts.append((f"{said}: " if name else "") + _expected(several))
    return "; ".join(parts)


def whole(name: str, value: object, least: int = 1) -> int:
    """Return a whole number; `ValueError` names the setting, its value, and what was expected.

    >>> whole("k", 3)
    3
    >>> whole("k", 0)
    Traceback (most recent call last):
    ValueError: k=0: expected at least 1
    """
    try:
        number = index(value)  # type: ignore[arg-type]
    except TypeError:
        raise ValueError(f"{name}={value!r}: expected a whole number") from None
    if number < least:
        raise ValueError(f"{name}={number}: expected at least {least}")
    return number


def strings(texts: object) -> list[str]:
    """Return texts as a list; `BadInput` where one is no text."""
    if hasattr(texts, "columns") or isinstance(texts, Mapping):  # which would give its names
        raise BadInput(f"a {type(texts).__name__}: give a text, a list of texts, or ssi.read(it).")
    if not isinstance(texts, Iterable):
        raise BadInput(f"{texts!r:.80}: expected a text, or a list of texts.")
    texts = texts.to_pylist() if hasattr(texts, "to_pylist") else texts  # pyarrow
    several = [texts] if isinstance(texts, str) else list(texts)
    for position, one in enumerate(several):
        if not isinstance(one, str):
            raise BadInput(f"texts[{position}]: a {type(one).__name__}, expected str.")
    return several


def measure_key(name: Any) -> Any:
    """Return the key of a measure that is written as its heading; anything else as it is.

    >>> measure_key("nDCG@10"), measure_key("MAP")
    ('ndcg_at_10', 'map')
    """
    return name.lower().replace("@", "_at_") if isinstance(name, str) else name


def instead(name: str, known: Iterable[str]) -> str:
    """Say what was meant: ``'tfdif'. Did you mean 'tfidf'? Known: bm25, tfidf.``."""
    known = list(known)
    return f"{cut(name)!r}.{meant(name, known)} Known: {listed(known) or 'none'}."


def meant(name: str, known: Iterable[str]) -> str:
    """Ask for the nearest of some names, with a blank before it; nothing where none is near."""
    near = nearest(name, known)
    return "" if near is None else f" Did you mean {cut(near)!r}?"


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the nearest of some names; None where none is near."""
    folded = {one.lower(): one for one in known}
    start = str(name).lower()
    close = difflib.get_close_matches(start, folded, 1, _ALIKE)
    close = close or [one for one in folded if len(start) > 2 and one.startswith(start)]
    return folded[close[0]] if close else None


def named(function: Callable[P, T]) -> Callable[P, T]:
    """Let a function answer an argument of an unknown name with the nearest that it has."""
    known = [name for name in inspect.signature(function).parameters if name not in ("self", "cls")]

    @wraps(function)
    def call(*args: P.args, **arguments: P.kwargs) -> T:
        for name in arguments:
            if name not in known:
                where = function.__qualname__.removesuffix(".__init__")
                raise TypeError(f"{where}: no parameter {instead(name, known)}")
        return function(*args, **arguments)

    return call


def cut(text: str, most: int = 80) -> str:
    """Return the beginning of a text that a message quotes."""
    return text if len(text) <= most else f"{text[:most]}..."


def listed(names: Sequence[str], most: int = 50) -> str:
    """Return names with commas between them, each cut; of many the first, and how many follow."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(cut(name) for name in names[:most]) + more


def mapping(value: Any, where: str) -> dict[str, Any]:
    """Return keys with values as a dict; anything else is an error."""
    if not isinstance(value, Mapping):
        raise BadInput(f"{where}: {cut(repr(value))} is no table. Write keys with values under it.")
    return dict(value)


def tables(value: Any, where: str) -> list[dict[str, Any]]:
    """Return a list of tables as dicts; anything else is an error."""
    if not isinstance(value, list | tuple):
        raise BadInput(f"{where}: {cut(repr(value))} is no list of tables.")
    return [mapping(one, where) for one in value]


@cache
def _adapters(kind: type) -> Mapping[str, TypeAdapter[Any]]:
    from pydantic import TypeAdapter

    hints = get_type_hints(kind, include_extras=True)
    return {field.name: TypeAdapter(hints[field.name]) for field in fields(kind)}


def _as(adapter: TypeAdapter[Any], value: Any) -> Any:
    """Return a value as a field wants it; 2e5 is a whole number, too."""
    from pydantic import ValidationError

    try:
        return adapter.validate_python(value, strict=True)
    except ValidationError:
        if isinstance(value, float) and value.is_integer():
            return adapter.validate_python(int(value), strict=True)
        raise


def _as_tuple(value: Any) -> Any:
    return tuple(map(_as_tuple, value)) if isinstance(value, list) else value


_KINDS = {
    "int": "a whole number", "float": "a number", "string": "text", "bool": "true or false",
    "tuple": "a list", "mapping": "a table", "dict": "a table",
}  # fmt: skip
_OF_KIND = ("_type", "_parsing", "literal_error")
"""Ends of problems with the kind of a value, rather than with its size."""
_LIMITS = {"ge": "at least", "gt": "more than", "le": "at most", "lt": "less than"}


def _expected(problems: Sequence[ErrorDetails]) -> str:
    """Say in a few words what was expected, of a list also at which place."""
    # An element of a wrong kind counts as none, so that a list of it alone is too short, too.
    problems = [one for one in problems if one["type"] != "too_short"] or problems
    # Of "a number or a list of such", what is wrong with the kind that came.
    sized = [one for one in problems if not one["type"].endswith(_OF_KIND)]
    words = " or ".join(dict.fromkeys(map(_words, sized[:1] or problems)))
    words = words.replace(" or expected ", " or ")
    position = next((at for at in (sized or problems)[0]["loc"] if isinstance(at, int)), None)
    return words if position is None else f"number {position + 1}: {words}"


def _words(problem: ErrorDetails) -> str:
    """Say what was expected, in words of a person who writes TOML."""
    if kind := _KINDS.get(problem["type"].rpartition("_")[0]):
        return f"expected {kind}"
    context = problem.get("ctx", {})
    for limit in _LIMITS.keys() & context:
        return f"expected {_LIMITS[limit]} {context[limit]:g}"
    if problem["type"] == "too_short":
        return "expected at least one"
    return problem["msg"].removeprefix("Value error, ").replace("Input should be", "expected")
