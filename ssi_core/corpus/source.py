"""Base of sources: settings, from which a verb, the form of a flow and a Python class follow."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypedDict, Unpack, get_args

from annotated_types import MaxLen
from pydantic import BaseModel, ConfigDict, Field, model_validator

if TYPE_CHECKING:
    from ssi_core.store import Artefact
    from ssi_core.types import Progress


class Place(TypedDict, total=False):
    """Place of the collection and its progress: arguments of every source beside its settings.

    Attributes
    ----------
    out : Path, optional
        Directory of the collection; by default one of the store.
    force : bool
        Replace what that directory holds, if it differs.
    progress : callable, optional
        Called with the finished share and a message.
    """

    out: Path | None
    force: bool
    progress: Progress | None


class Source(BaseModel):
    """Settings of a source. Its docstring is the help of its verb; a field is an option.

    Attributes
    ----------
    flow : str
        Flow whose form has the source: ``ingest``, ``ingest-mates`` or ``ingest-clicks``.
    examples : tuple of str
        Commands that the help shows.
    reader : str
        Module and function that make the collection of ``paths`` and the other settings; a source
        whose settings are not the function's parameters has a `read` of its own.
    origin : str
        What the manifest of its collections has as ``source``, if these can be its ``since``.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    flow: ClassVar[str] = "ingest"
    examples: ClassVar[tuple[str, ...]] = ()
    reader: ClassVar[str] = ""
    origin: ClassVar[str] = ""

    @model_validator(mode="before")
    @classmethod
    def _several(cls, values: Any) -> Any:
        """Take a single text or path for a list of one."""
        if not isinstance(values, Mapping):
            return values
        lists = {name for name, field in cls.model_fields.items() if _is_list(field.annotation)}
        return {
            name: (value,) if name in lists and isinstance(value, str | Path) else value
            for name, value in values.items()
        }

    @classmethod
    def looks_like(cls, path: Path) -> bool:
        """Tell whether a path is of this source, by its name or by what a directory holds."""
        return False

    def fetched(self, progress: Progress | None = None) -> Source:
        """Return a source whose files are on this machine: this one, or what it has fetched."""
        return self

    def read(self, **place: Unpack[Place]) -> Artefact:
        """Make the collection, unless it is there."""
        given = {name: getattr(self, name) for name in type(self).model_fields}
        paths, bounds = given.pop("paths"), type(self).model_fields["paths"].metadata
        one = any(isinstance(bound, MaxLen) for bound in bounds)
        artefact: Artefact = named(self.reader)(paths[0] if one else paths, **given, **place)
        return artefact

    def follows(self, earlier: Artefact) -> bool:
        """Tell whether an earlier collection can be the ``since`` of this source."""
        return bool(self.origin) and earlier.configuration.get("source") == self.origin

    def after(self, earlier: Path) -> Self:
        """Return the source with an earlier collection as ``since``, where that can be."""
        from ssi_core import store

        free = getattr(self, "since", earlier) is None and (earlier / store.MANIFEST).is_file()
        if not free or not self.follows(store.read(earlier)):
            return self
        return self.model_copy(update={"since": earlier})


def _is_list(kind: Any) -> bool:
    """Tell whether a field holds any number of values."""
    return any(get_args(one)[1:] == (...,) for one in (kind, *get_args(kind)))


def named(place: str) -> Any:
    """Return what a place such as ``ssi_core.store:read`` names."""
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)


def files(argument: str, description: str, *, least: int = 1, most: int | None = None) -> Any:
    """Return the field of the files or directories that are read: the argument of the verb.

    Parameters
    ----------
    argument : str
        Name in the usage, such as ``DUMPS``.
    least, most : int
        How many there are.
    """
    default: Any = () if least == 0 else ...
    extra: Any = {"argument": argument}
    return Field(
        default,
        min_length=least or None,
        max_length=most,
        description=description,
        json_schema_extra=extra,
    )


def directory(description: str) -> Any:
    """Return the field of one directory; see `files`."""
    return files("DIRECTORY", description, most=1)


def option(default: Any, description: str, flag: str, metavar: str | None = None) -> Any:
    """Return a field whose option has another name than the field."""
    extra: Any = {"flag": flag, **({"metavar": metavar} if metavar else {})}
    return Field(default, description=description, json_schema_extra=extra)


LANGUAGE: Any = Field(
    default=None, description="Code of the texts' language, such as en or zh; empty: guessed"
)
PROCESSES: Any = Field(default=None, ge=1, le=1024, description="Decoders; empty: one per core")
WHERE: Any = Field(
    default="local",
    description="Where chunks are read: local, or dask:tcp://HOST:PORT, a Dask cluster",
)
SEED: Any = Field(default=0, ge=0, description="Seed of the sample")
PAGES: Any = Field(default=2000, ge=20, le=1_000_000, description="Pages of the sample")
"""Fields that several sources have."""
