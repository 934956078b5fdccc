"""Settings of a flow that follow from its sources: which one, and the settings of that one."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_origin

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model

from ssi_core.corpus.source import Source
from ssi_core.corpus.sources import SOURCES, source_named
from ssi_core.strict import faults, instead
from ssi_core.types import BadInput

_PLACE: Mapping[str, Any] = {
    "out": (
        str | None,
        Field(default=None, description="Directory to write; empty: one under .ssi/store"),
    ),
    "force": (
        bool,
        Field(default=False, description="Replace what that directory holds, if it differs"),
    ),
}


class SourceSettings(BaseModel):
    """The name of a source and its settings; those of the other sources keep their defaults."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    if TYPE_CHECKING:
        source: str
        out: str | None
        force: bool

    def chosen(self) -> Source:
        """Return the source.

        Raises
        ------
        BadInput
            A setting is none of the source, or is wrong.
        """
        source = source_named(self.source)
        given = {
            name: value
            for name, field in type(self).model_fields.items()
            if name not in ("source", *_PLACE) and (value := getattr(self, name)) != field.default
        }
        if foreign := [name for name in given if name not in source.model_fields]:
            raise BadInput(
                f"source {self.source!r}: no setting {instead(foreign[0], source.model_fields)}"
            )
        try:
            return source(**given)
        except ValidationError as error:
            raise BadInput(f"source {self.source!r}: {faults(error)}.") from None


def settings_of(flow: str, default: str) -> type[SourceSettings]:
    """Return the settings of a flow: every field of its sources, with what it means in each.

    Parameters
    ----------
    default : str
        Source where none is named.
    """
    sources = {name: source_named(name) for name in SOURCES}
    sources = {name: source for name, source in sources.items() if source.flow == flow}
    text = "; ".join(f"{name}: {_summary(source)}" for name, source in sources.items())
    names = tuple(sorted(sources, key=default.__ne__))
    fields: dict[str, Any] = {"source": (Literal[names], Field(default=default, description=text))}
    for source in sources.values():
        for name in source.model_fields:
            fields.setdefault(name, _shared(name, sources))
    return create_model(flow, __base__=SourceSettings, **fields, **_PLACE)


def _summary(source: type[Source]) -> str:
    return str(source.__doc__).partition("\n")[0].removesuffix(".")


def _shared(name: str, sources: Mapping[str, type[Source]]) -> tuple[Any, Any]:
    """Return type and field of a setting that one or more sources have."""
    having = {of: one.model_fields[name] for of, one in sources.items() if name in one.model_fields}
    meanings: dict[str, list[str]] = {}
    for of, field in having.items():
        meanings.setdefault(str(field.description), []).append(of)
    description = "; ".join(
        text if len(having) == len(sources) and len(meanings) == 1 else f"{', '.join(of)}: {text}"
        for text, of in meanings.items()
    )
    first, *others = having.values()
    # One name may be a number in one source and a path in another.
    kind: Any = reduce(or_, dict.fromkeys(field.annotation for field in having.values()))
    default = first.default
    if first.is_required() or any(one.default != default for one in others):
        default = () if get_origin(kind) is tuple else None
    elif all(one.metadata == first.metadata for one in others):
        for bound in first.metadata:
            kind = Annotated[kind, bound]
    return (kind | None if default is None else kind), Field(
        default=default, description=description
    )


class IngestSettings(settings_of("ingest", "sample")):  # type: ignore[misc]
    """Source of documents."""


class MatesSettings(settings_of("ingest-mates", "sample-mates")):  # type: ignore[misc]
    """Source of mates: pairs of documents in two languages on one subject."""


class ClicksSettings(settings_of("ingest-clicks", "clicks")):  # type: ignore[misc]
    """Source of clicks, and the rules by which they count."""
