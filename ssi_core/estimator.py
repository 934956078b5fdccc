"""Base of all that learns: settings with bounds, and what was learnt, as a directory.

The directory has a manifest with the settings and facts, arrays as ``.npy`` files and names as
JSON; never a pickle. Settings declare their arrays once, in words of themselves and of the sizes of
the data, and no array of a directory is handed out before it was compared with its declaration.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Generic, Self, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from ssi_core import files, integrity
from ssi_core.arrays import ArraySpecs, check_arrays, load_array
from ssi_core.root import user_path
from ssi_core.strict import check, check_keys
from ssi_core.types import BadInput

Arrays: TypeAlias = Mapping[str, NDArray[Any]]
Sizes: TypeAlias = Mapping[str, Any]
"""Name of a size of the data -> the size, or a name of an unknown one."""
_STRINGS = "strings.json"


@dataclass(frozen=True)
class Estimator:
    """Base of the settings of all that learns: frozen dataclasses that state bounds beside fields.

    A subclass gives ``array_specs`` and a method that returns something `Fitted`.
    """

    noun: ClassVar[str] = "estimator"
    """Kind of settings in messages."""
    name: ClassVar[str]
    earlier: ClassVar[Mapping[str, Any]] = {}
    """Values of fields that saved settings lack because the fields are newer than they are."""
    gone: ClassVar[frozenset[str]] = frozenset()
    """Fields of saved settings that are no more; what was fitted with them answers as it did."""

    def __post_init__(self) -> None:
        """Refuse values outside of the bounds of their fields."""
        check(self)

    def array_specs(self, sizes: Sizes) -> ArraySpecs:
        """Declare the arrays that are learnt; none where nothing is.

        Parameters
        ----------
        sizes : mapping
            Sizes of the data, by the names that the kind of estimator gives them.
        """
        return {}


E = TypeVar("E", bound=Estimator)


def parse(kind: type[E], parameters: Mapping[str, Any]) -> E:
    """Build settings from JSON or TOML values; an unknown key is `BadInput`."""
    check_keys(kind, parameters, f"{kind.noun} {kind.name!r}")
    return kind(**parameters)


@dataclass(frozen=True)
class Format:
    """Format of the directories of a kind of estimator.

    Attributes
    ----------
    noun : str
        What they hold, in words.
    manifest : str
        Name of the manifest.
    remedy : str
        Last sentence of the errors.
    version : int
        Number of the format.
    names : str or None
        Key of the manifest that names the class of the settings; None where there is one class.
    folder : str
        Where the arrays lie.
    """

    noun: str
    manifest: str
    remedy: str
    version: int = 1
    names: str | None = None
    folder: str = "arrays"


@dataclass(frozen=True)
class Contents(Generic[E]):
    """Contents of a directory: settings, arrays, further values of the manifest, and names.

    Attributes
    ----------
    settings : Estimator or None
        None where nothing can be set.
    arrays : Arrays
        Name -> array.
    facts : mapping
        JSON values.
    strings : mapping
        Names of rows and columns.
    """

    settings: E | None
    arrays: Arrays
    facts: Mapping[str, Any] = field(default_factory=dict)
    strings: Mapping[str, Sequence[str]] = field(default_factory=dict)


class Saved(Generic[E]):
    """A directory whose files are as they were written.

    Parameters
    ----------
    directory : Path
        What `Fitted.save` wrote.
    form : Format
        Its format.
    kinds : mapping
        Name -> class of the settings.

    Attributes
    ----------
    facts : dict
        Values of the manifest.
    """

    def __init__(self, directory: str | Path, form: Format, kinds: Mapping[str, type[E]]) -> None:
        self.directory, self._form, self._kinds = user_path(directory), form, kinds
        self.facts = integrity.open_sealed(self.directory, form.manifest, form.noun, form.remedy)
        if self.facts.get("format") != form.version:
            raise BadInput(
                f"{self.manifest}: a {form.noun} of format {self.facts.get('format')}, this "
                f"version reads format {form.version}. {form.remedy}"
            )

    @property
    def manifest(self) -> Path:
        """Path of the manifest."""
        return self.directory / self._form.manifest

    @property
    def settings(self) -> E:
        """The settings, of the class that the manifest names."""
        form, kinds = self._form, self._kinds
        name = next(iter(kinds)) if form.names is None else str(self.facts.get(form.names))
        if name not in kinds:
            raise BadInput(
                f"{self.manifest}: no {form.noun} {name!r}; this version has: "
                f"{', '.join(sorted(kinds))}. {form.remedy} A {form.noun} of another package needs "
                "that package, with an entry point of the group 'ssi'."
            )
        kind = kinds[name]
        try:
            settings = {**kind.earlier, **self.facts["parameters"]}
            return parse(kind, {key: settings[key] for key in settings if key not in kind.gone})
        except BadInput as error:
            raise BadInput(f"{self.manifest}: {error} {form.remedy}") from error

    def strings(self, *names: str) -> list[tuple[str, ...]]:
        """Return the names of rows and columns."""
        path = self.directory / _STRINGS
        strings = files.read_object(path, self._form.remedy)
        with files.reading(path, self._form.remedy):
            return [tuple(map(str, strings[name])) for name in names]

    def arrays(self, specs: ArraySpecs) -> Arrays:
        """Return the arrays, memory mapped, all of them as they are declared.

        Raises
        ------
        BadInput
            An array is missing, is not declared, or is not as it is declared.
        """
        directory = self.directory / self._form.folder
        known = {self.directory / name for name in self.facts["files"]}
        names = [
            str(path.relative_to(directory).with_suffix(""))
            for path in sorted(known)
            if path.suffix == ".npy" and path.is_relative_to(directory)
        ]
        arrays = {name: load_array(directory / f"{name}.npy") for name in names}
        check_arrays(specs, arrays, directory, self._form.remedy)
        return arrays


class Fitted(Generic[E]):
    """Base of fitted estimators: a subclass gives ``form``, ``contents`` and ``restored``."""

    form: ClassVar[Format]
    kinds: ClassVar[Mapping[str, Any]] = {}
    """Name -> class of the settings."""

    def contents(self) -> Contents[E]:
        """Return the contents of its directory."""
        raise TypeError(f"{type(self).__name__} does not say what it holds")

    @classmethod
    def restored(cls, saved: Saved[E]) -> Self:
        """Make it of what a directory holds; its arrays come from `Saved.arrays` alone."""
        raise TypeError(f"{cls.__name__} is not read from a directory")

    @classmethod
    def load(cls, directory: str | Path, kinds: Mapping[str, type[E]] | None = None) -> Self:
        """Read what `save` wrote.

        Parameters
        ----------
        directory : Path
            The directory.
        kinds : mapping, optional
            Name -> class of the settings, where it is not ``cls.kinds``.

        Raises
        ------
        BadInput
            The directory holds something else, something that was changed, or that another
            version of ssi has written.
        """
        saved = Saved(directory, cls.form, cls.kinds if kinds is None else kinds)
        with files.reading(saved.manifest, cls.form.remedy):
            return cls.restored(saved)

    def save(self, directory: str | Path) -> None:
        """Write a directory of ``.npy`` arrays, names and a manifest; never a pickle.

        Raises
        ------
        Refused
            The directory holds something else, or cannot be written.
        """
        with files.replacing(user_path(directory), self.form.manifest, self.form.noun) as new:
            self.write(new)

    def write(self, directory: Path) -> None:
        """Write into a directory that is there or is made."""
        form, contents = self.form, self.contents()
        directory.mkdir(parents=True, exist_ok=True)
        for name, array in contents.arrays.items():
            path = directory / form.folder / f"{name}.npy"
            path.parent.mkdir(parents=True, exist_ok=True)
            np.save(path, array, allow_pickle=False)
        if contents.strings:
            text = json.dumps(contents.strings, ensure_ascii=False)
            (directory / _STRINGS).write_text(text, encoding="utf-8")
        facts: dict[str, Any] = {"format": form.version}
        if contents.settings is not None:
            named = {} if form.names is None else {form.names: contents.settings.name}
            facts |= {**named, "parameters": asdict(contents.settings)}
        integrity.seal_directory(directory, form.manifest, facts | dict(contents.facts))
