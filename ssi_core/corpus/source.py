"""Base of sources: settings, from which a verb, the form of a flow and a Python class follow.

A source is its settings, the files that it reads (`Source.inputs`), what else makes two collections
different (`Source.identity`), and what writes the collection (`Source.build`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self, get_args

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from ssi_core.registry import load

if TYPE_CHECKING:
    from ssi_core.store import Artefact, Building
    from ssi_core.types import Progress


class Source(BaseModel):
    """Settings of a source. Its docstring is the help of its verb; a field is an option.

    Attributes
    ----------
    flow : str
        Flow whose form has the source: ``ingest``, ``ingest-mates`` or ``ingest-clicks``.
    examples : tuple of str
        Commands that the help shows.
    origin : str
        What the manifest of its collections has as ``source``.
    builder : str
        ``"module:function"`` that writes the collection, given a `Building`, the source and a
        callable for the progress. Its code is part of the key. A class that is not loaded for its
        help alone has a `build` of its own.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    flow: ClassVar[str] = "ingest"
    examples: ClassVar[tuple[str, ...]] = ()
    origin: ClassVar[str] = ""
    builder: ClassVar[str] = ""

    @model_validator(mode="before")
    @classmethod
    def _several(cls, values: Any) -> Any:
        """Wrap a single text or path in a tuple, where a field takes several."""
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

    def inputs(self) -> Sequence[Path]:
        """Return the files that are read, whose digests are part of the key."""
        paths: Sequence[Path] = getattr(self, "paths", ())
        return paths

    def identity(self) -> Mapping[str, Any]:
        """Return the settings that change what is written, as the manifest keeps them."""
        return {"source": self.origin}

    def parents(self, out: Path | None = None, progress: Progress | None = None) -> dict[str, str]:
        """Return the digests of the files, and the keys of collections that are read."""
        from ssi_core.corpus.inputs import digest_inputs

        return digest_inputs(self.inputs(), out=out, progress=progress)

    def build(self, building: Building, progress: Progress | None = None) -> None:
        """Write the collection."""
        load(self.builder)(building, self, progress)

    def read(
        self, out: Path | None = None, *, force: bool = False, progress: Progress | None = None
    ) -> Artefact:
        """Make the collection, unless it is there.

        Parameters
        ----------
        out : Path, optional
            Directory of the collection; by default one of the store.
        force : bool
            Replace what that directory holds, if it differs.

        Raises
        ------
        BadInput
            A file is missing, damaged or of another kind; the message names the place.
        Refused
            ``out`` holds something else, or is being written; or memory or disk is too small.
        """
        from ssi_core import collection, store

        identity, parents = self.identity(), self.parents(out, progress)
        build = partial(load(self.builder), source=self) if self.builder else self.build
        make = partial(build, progress=progress)
        artefact = store.open_or_make(
            collection.KIND, identity, parents, make, out=out, force=force
        )
        if progress is not None:
            progress(1.0, f"{artefact.counts.get('documents', 0):,} documents")
        return artefact

    def follows(self, earlier: Artefact) -> bool:
        """Tell whether an earlier collection can be the ``since`` of this source."""
        return earlier.configuration.get("source") == self.origin

    def after(self, earlier: Path) -> Self:
        """Return the source with an earlier collection as ``since``, where that can be."""
        from ssi_core import store

        free = getattr(self, "since", earlier) is None and (earlier / store.MANIFEST).is_file()
        if not free or not self.follows(store.read(earlier)):
            return self
        return self.model_copy(update={"since": earlier})


class Tabular(Source):
    """Base of sources that read tables, in which columns have roles.

    Attributes
    ----------
    columns : mapping
        Name of a column by its role, where the guess is wrong; "": no column has the role.
    encoding, separator : str
        How CSV, TSV and JSON lines are written; empty: guessed (`corpus.tables.form`).
    """

    columns: dict[str, str] = Field(
        default={},
        description="Name of the column of a role, if the guess is wrong; without a name the role "
        "has none. Can be repeated",
        json_schema_extra={"flag": "--column", "metavar": "ROLE=[NAME]"},
    )
    encoding: str = Field(
        default="", description="Encoding of the tables, such as cp1252; empty: guessed"
    )
    separator: str = Field(
        default="", max_length=1, description="Character between the fields of CSV; empty: guessed"
    )

    @classmethod
    def roles(cls) -> Collection[str]:
        """Return the roles that a column may have."""
        raise NotImplementedError

    @field_validator("columns")
    @classmethod
    def _known(cls, columns: dict[str, str]) -> dict[str, str]:
        from ssi_core.strict import instead

        roles = cls.roles() if columns else ()
        for role in columns:
            if role not in roles:
                raise ValueError(f"no role {instead(role, roles).rstrip('.')}")
        return columns

    @property
    def written(self) -> dict[str, Any]:
        """Return how the tables are written, as far as it is declared."""
        declared = {"encoding": self.encoding, "separator": self.separator}
        return {name: value for name, value in declared.items() if value}


def _is_list(kind: Any) -> bool:
    """Tell whether a field holds any number of values."""
    return any(get_args(one)[1:] == (...,) for one in (kind, *get_args(kind)))


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
    default=None, description="Code of the language of the texts, such as en or zh; empty: guessed"
)
PROCESSES: Any = Field(
    default=None, ge=1, le=1024, description="Number of processes that decode; empty: one per core"
)
WHERE: Any = Field(
    default="local",
    description="Where chunks are read: local, or a Dask cluster (dask:tcp://HOST:PORT)",
)
SEED: Any = Field(default=0, ge=0, description="Random seed")
PAGES: Any = Field(default=2000, ge=20, le=1_000_000, description="Pages of the sample")
"""Fields that several sources have."""
