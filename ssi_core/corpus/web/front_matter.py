"""Front matter of a page: what stands above its text about it, in YAML or in TOML.

Read are scalars and flat lists of scalars. Anything else (mappings, nested lists, and in YAML
anchors, aliases and merge keys, which can say much in few bytes) is dropped with its key and
counted; the other keys stay.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, TypeAlias

import yaml  # type: ignore[import-untyped]

LARGEST = 1 << 16
"""Characters of front matter; of more nothing is read."""
Values: TypeAlias = dict[str, list[str]]

_BEGIN = re.compile(r"\A(---|\+\+\+)[ \t]*\r?\n")
_ENDS = {
    mark: re.compile(rf"^{re.escape(mark)}[ \t]*(?:\r?\n|\Z)", re.MULTILINE)
    for mark in ("---", "+++")
}
_DEEPEST = 100
"""Levels of YAML; its parser takes a time that grows with their square."""
_PARTS = 32
"""Parts of a dotted key of TOML; its parser looks at each again for each key in the table."""
_NULL = ("", "~", "null", "Null", "NULL")
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class FrontMatter(NamedTuple):
    """Keys and scalars of a page about itself, and its text.

    Attributes
    ----------
    values : dict
        Key -> its scalars as they are written; a scalar is a list of one.
    dropped : int
        Keys that were dropped, and 1 for what could not be read to its end.
    text : str
        The rest of the page.
    """

    values: Values
    dropped: int
    text: str

    def first(self, *keys: str) -> str:
        """Return the first scalar of the first key that has one; else empty."""
        return next((values[0] for key in keys if (values := self.values.get(key))), "")


def read_front_matter(text: str) -> FrontMatter:
    r"""Divide a page into its front matter and the rest.

    >>> read_front_matter("---\ntitle: Car\naliases: [a, b]\nx: {y: 1}\n---\nText").values
    {'title': ['Car'], 'aliases': ['a', 'b']}
    >>> read_front_matter("+++\ntitle = 'Car'\n+++\nText")
    FrontMatter(values={'title': ['Car']}, dropped=0, text='Text')
    """
    begin = _BEGIN.match(text)
    if begin is None:
        return FrontMatter({}, 0, text)
    end = _ENDS[begin[1]].search(text, begin.end())
    if end is None:
        return FrontMatter({}, 0, text)
    block, rest = text[begin.end() : end.start()], text[end.end() :]
    if len(block) > LARGEST:
        return FrontMatter({}, 1, rest)
    values, dropped = _of_yaml(block) if begin[1] == "---" else _of_toml(block)
    return FrontMatter(values, dropped, rest)


def _of_yaml(block: str) -> tuple[Values, int]:
    values: Values = {}
    dropped = 0
    try:
        events = yaml.parse(block, Loader=_LOADER)
        for key, scalars in _entries(events):
            if key is None or scalars is None:
                dropped += 1
            elif scalars:
                values.setdefault(key, scalars)
    except (yaml.YAMLError, RecursionError, ValueError):
        dropped += 1
    return values, dropped


def _entries(events: Iterator[Any]) -> Iterator[tuple[str | None, list[str] | None]]:
    """Yield keys of the outermost mapping with their scalars; None for what is not read."""
    start = next((event for event in events if isinstance(event, yaml.NodeEvent)), None)
    if not isinstance(start, yaml.MappingStartEvent):
        return
    for event in events:
        if isinstance(event, yaml.MappingEndEvent):
            return
        plain = isinstance(event, yaml.ScalarEvent) and event.anchor is None
        key = event.value if plain and event.value != "<<" else None
        _whole(event, events)
        yield key, _whole(next(events), events)


def _whole(event: Any, events: Iterator[Any]) -> list[str] | None:
    """Take a node to its end; its scalars if it is one, or a flat list of some, else None."""
    if isinstance(event, yaml.ScalarEvent):
        return _scalar(event)
    if isinstance(event, yaml.AliasEvent):
        return None
    flat = isinstance(event, yaml.SequenceStartEvent) and event.anchor is None
    scalars: list[str] = []
    depth = 1
    while depth:
        inner = next(events)
        if isinstance(inner, yaml.CollectionStartEvent):
            depth, flat = depth + 1, False
            if depth > _DEEPEST:
                raise yaml.YAMLError("nested too deep")
        elif isinstance(inner, yaml.CollectionEndEvent):
            depth -= 1
        elif flat:
            of_inner = _scalar(inner) if isinstance(inner, yaml.ScalarEvent) else None
            flat = of_inner is not None
            scalars += of_inner or []
    return scalars if flat else None


def _scalar(event: Any) -> list[str] | None:
    if event.anchor is not None:
        return None
    nothing = event.value in _NULL and event.implicit[0]
    return [] if nothing else [str(event.value)]


def _of_toml(block: str) -> tuple[Values, int]:
    if any(line.partition("=")[0].count(".") >= _PARTS for line in block.splitlines()):
        return {}, 1
    try:
        table: Mapping[str, object] = tomllib.loads(block)
    except (tomllib.TOMLDecodeError, RecursionError, ValueError):
        return {}, 1
    values: Values = {}
    for key, value in table.items():
        scalars = value if isinstance(value, list) else [value]
        if not any(isinstance(one, dict | list) for one in scalars):
            values[key] = [str(one) for one in scalars]
    return values, len(table) - len(values)
