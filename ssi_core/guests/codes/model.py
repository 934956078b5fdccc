"""A directory with all that gives a text its code: words, hash function, codes of the texts."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from ssi_core import files, integrity
from ssi_core.arrays import ArraySpec, check_arrays, load_array
from ssi_core.guests.codes.base import FittedHasher, Hasher
from ssi_core.guests.codes.hashers import HASHERS
from ssi_core.guests.codes.packed import BallIndex, Codes
from ssi_core.guests.codes.words import Words
from ssi_core.strict import converted
from ssi_core.types import BadInput, Int32

FORMAT = 1
_MANIFEST = "codes.json"
_AGAIN = "Train it again."


@dataclass(frozen=True)
class CodeModel:
    """A fitted hasher with its words, and the identifiers of the texts that have codes.

    Attributes
    ----------
    words : Words
        Vocabulary and weights.
    fitted : FittedHasher
        Hash function, and the codes of the training texts.
    ids : tuple of str
        Identifier of each training text.
    """

    words: Words
    fitted: FittedHasher
    ids: tuple[str, ...]

    @classmethod
    def of(
        cls,
        hasher: Hasher,
        texts: tuple[str, ...],
        labels: Int32 | None = None,
        ids: tuple[str, ...] | None = None,
    ) -> CodeModel:
        """Learn words and codes of texts.

        Parameters
        ----------
        hasher : Hasher
            Hyper-parameters.
        texts : tuple of str
            Training texts, which are also those that are searched.
        labels : int32 (texts,), optional
            Their classes, for a supervised hasher.
        ids : tuple of str, optional
            Their identifiers; else their numbers.
        """
        words = Words.of(texts)
        fitted = hasher.fit(words.rows(texts), labels)
        named = ids if ids is not None else tuple(map(str, range(len(texts))))
        return cls(words, fitted, named)

    def encode(self, texts: tuple[str, ...]) -> Codes:
        """Return the codes of texts by the hash function."""
        return self.fitted.encode(self.words.rows(texts))

    def index(self) -> BallIndex:
        """Return the codes of the training texts as an index."""
        return BallIndex(self.fitted.codes, self.fitted.hasher.bits)

    def save(self, directory: Path) -> None:
        """Write a directory of ``.npy`` arrays, words and a manifest; never a pickle.

        Raises
        ------
        Refused
            The directory holds something else, or cannot be written.
        """
        with files.replacing(Path(directory), _MANIFEST, "codes") as new:
            self._write(new)

    def _write(self, directory: Path) -> None:
        (directory / "arrays").mkdir(parents=True)
        arrays = {"codes": self.fitted.codes, "idf": self.words.idf, **self.fitted.arrays}
        for name, array in arrays.items():
            np.save(directory / "arrays" / f"{name}.npy", array, allow_pickle=False)
        strings = {"stems": self.words.stems, "ids": self.ids}
        text = json.dumps(strings, ensure_ascii=False)
        (directory / "strings.json").write_text(text, encoding="utf-8")
        facts = {
            "format": FORMAT,
            "hasher": self.fitted.hasher.name,
            "parameters": asdict(self.fitted.hasher),
            "arrays": sorted(self.fitted.arrays),
            "facts": self.fitted.facts,
        }
        integrity.seal_directory(directory, _MANIFEST, facts)

    @classmethod
    def load(cls, directory: Path) -> CodeModel:
        """Read what `save` wrote.

        Raises
        ------
        BadInput
            The directory holds no codes, some that were changed, or those of another version.
        """
        directory = Path(directory)
        manifest = integrity.open_sealed(directory, _MANIFEST, "codes", _AGAIN)
        if manifest["format"] != FORMAT or manifest["hasher"] not in HASHERS:
            raise BadInput(f"{directory}: another version of ssi has written it. {_AGAIN}")
        kind = HASHERS[manifest["hasher"]]
        with files.reading(directory / _MANIFEST, _AGAIN):
            hasher = kind(**converted(kind, manifest["parameters"]))
            strings = files.read_object(directory / "strings.json", _AGAIN)
            stems, ids = (tuple(map(str, strings[name])) for name in ("stems", "ids"))
            place, names = directory / "arrays", {*manifest["arrays"], "codes", "idf"}
            arrays = {name: load_array(place / f"{name}.npy") for name in names}
            specs = {
                **hasher.array_specs(len(ids), len(stems)),
                "codes": ArraySpec("uint64", (len(ids), -(-hasher.bits // 64))),
                "idf": ArraySpec("float64", (len(stems),), least=0),
            }
            check_arrays(specs, arrays, place, _AGAIN)
        codes, idf = arrays.pop("codes"), arrays.pop("idf")
        fitted = FittedHasher(hasher, arrays, codes, manifest["facts"])
        return cls(Words(stems, idf), fitted, ids)
