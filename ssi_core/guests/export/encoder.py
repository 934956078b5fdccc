"""Turn a text into the query of a search engine, by what `ssi export` has written of a model.

    python encoder.py encoder.json "old automobile" 10

It needs no package, so that this file and ``encoder.json`` can be copied into any service.
``encoder.js`` is the same in JavaScript.
"""

import base64
import hashlib
import json
import math
import re
import sys
import unicodedata
from array import array
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import combinations
from pathlib import Path
from typing import Any

_RUN = re.compile(r"[^\W_]+")


class Encoder:
    """Encoder of the queries of one model.

    Parameters
    ----------
    path : str or Path
        The file ``encoder.json`` of an export.

    Raises
    ------
    ValueError
        The file is not as it was written.
    """

    def __init__(self, path: str | Path) -> None:
        self.model = json.loads(checked(path), object_hook=_numbers)
        self.columns = {word: column for column, word in enumerate(self.model["words"])}
        self.names: list[str] = []
        for part in self.model["parts"]:
            if "embedding" not in part:
                part["first"] = len(self.names)
                self.names += self._names_of(part)
            if "phrases" in part:
                part["columns"] = {name: column for column, name in enumerate(part["phrases"])}

    def query(self, text: str, k: int = 10, body: str = "query") -> Any:
        """Return the body of a search for the ``k`` best documents.

        Parameters
        ----------
        text : str
            What is searched.
        k : int
            Documents to return.
        body : str
            "query"; or "rescore", where only the first thousand are scored in full.
        """
        weights, latent = self.vectors(text)
        words = {self.names[position]: x for position, x in weights.items()}
        plain = {(f"m_{w}" if x < 0 else w): abs(x) for w, x in words.items() if x}
        signed = {f"{'n' if x < 0 else 'p'}_{k}": abs(x) for k, x in enumerate(latent) if x}
        scale = 64 / max([64, *plain.values(), *signed.values()])
        beyond = {len(self.names) + k: x for k, x in enumerate(latent)}
        values = {
            "$k": k,
            "$words": {term: scale * x for term, x in plain.items()},
            "$latent": {term: scale * x for term, x in signed.items()},
            "$terms": {term: scale * x for term, x in {**plain, **signed}.items()},
            "$signed": words,
            "$vector": latent,
            "$sparse": _sparse({**weights, **beyond}),
            "$sparse_words": _sparse(weights),
        }
        return _filled(self.model["bodies"][body], values)

    def vectors(self, text: str) -> tuple[dict[int, float], list[float]]:
        """Return the weights of words, by their places in ``names``, and the latent vector."""
        counts = Counter(self.columns[w] for w in self._words(text) if w in self.columns)
        rows = {name: weigh(counts, view) for name, view in self.model["views"].items()}
        weights: dict[int, float] = {}
        latent: list[float] = []
        for part in self.model["parts"]:
            row = rows[part["view"]] if "view" in part else {0: 1.0}
            if "phrases" in part:
                for column in self._phrases(counts, part):
                    weights[part["first"] + column] = part["scale"] / (len(counts) - 1)
            elif "embedding" in part:
                latent += _embedded(row, part)
            else:
                for column, weight in row.items():
                    x = _factor(part["scale"], column) * _saturated(weight, part["saturation"])
                    weights[part["first"] + column] = x
        return weights, latent

    def _words(self, text: str) -> Iterator[str]:
        letters = str.maketrans(self.model.get("letters", {}))
        return tokenize(unicodedata.normalize("NFKC", text).translate(letters))

    def _phrases(self, counts: Mapping[int, int], part: Mapping[str, Any]) -> list[int]:
        words = [self.model["words"][column] for column in sorted(counts)]
        pairs = (f"{one}+{other}{part['after']}" for one, other in combinations(words, 2))
        return sorted(part["columns"][pair] for pair in pairs if pair in part["columns"])

    def _names_of(self, part: Mapping[str, Any]) -> list[str]:
        if "phrases" in part:
            return list(part["phrases"])
        if "view" not in part:
            return [part["name"]]
        words = self.model["words"][: self.model["views"][part["view"]]["words"]]
        return [part["before"] + word + part["after"] for word in words]


def sealed(model: Mapping[str, Any]) -> bytes:
    """Return the bytes of ``encoder.json``: its first line has the SHA-256 of all others."""
    rest = (json.dumps(model, indent=1, ensure_ascii=False)[2:] + "\n").encode()
    return _first_line(rest) + rest


def checked(path: str | Path) -> bytes:
    """Read what `sealed` returned."""
    content = Path(path).read_bytes()
    first, line_end, rest = content.partition(b"\n")
    if first + line_end != _first_line(rest):
        raise ValueError(
            f"{path}: it was changed after it was written. Copy it from the export again, or "
            "export the model anew (ssi export)."
        )
    return content


def _first_line(rest: bytes) -> bytes:
    return f'{{"sha256": "{hashlib.sha256(rest).hexdigest()}",\n'.encode()


def tokenize(text: str) -> Iterator[str]:
    """Yield the words of a text: runs of letters and digits, in lower case."""
    for run in _RUN.findall(unicodedata.normalize("NFKC", text)):
        yield from _RUN.findall(run.lower())


def weigh(counts: Mapping[int, int], view: Mapping[str, Any]) -> dict[int, float]:
    """Weigh the words of a text, by their columns, as a view does."""
    row = {column: float(counts[column]) for column in sorted(counts)}
    if "most" in view:
        most = sum(count * view["most"][column] for column, count in row.items())
        return {column: count / most for column, count in row.items()}
    kind, idf = view["kind"], view["idf"]
    if kind != "counts":
        row = {c: frequency(kind, counts[c]) * idf[c] for c in sorted(counts) if idf[c] > 0}
    if view["cut"] and len(row) > view["cut"]:
        heaviest = sorted(row, key=lambda column: (-row[column], column))[: view["cut"]]
        row = {column: row[column] for column in sorted(heaviest)}
    if kind != "counts":
        length = math.sqrt(sum(weight * weight for weight in row.values()))
        row = {column: weight / length for column, weight in row.items()}
    return {column: weight for column, weight in row.items() if column < view["words"]}


def frequency(kind: str, count: int) -> float:
    """Return what the count of a word is worth."""
    return {"raw": count, "sublinear": 1 + math.log(count), "binary": 1}[kind]


def _embedded(row: Mapping[int, float], part: Mapping[str, Any]) -> list[float]:
    width, embedding = part["width"], part["embedding"]
    vector = [0.0] * width
    for column, weight in row.items():
        for k in range(width):
            vector[k] += weight * embedding[column * width + k]
    length = math.sqrt(sum(x * x for x in vector)) if part["unit"] else 1.0
    return [part["scale"] * x / (length or 1.0) for x in vector]


def _factor(scale: Any, column: int) -> float:
    return float(scale[column] if isinstance(scale, array) else scale)


def _saturated(weight: float, k: float | None) -> float:
    return weight if k is None else (k + 1) * weight / (k + weight)


def _sparse(weights: Mapping[int, float]) -> dict[str, list[Any]]:
    return {"indices": list(weights), "values": list(weights.values())}


def _filled(body: Any, values: Mapping[str, Any]) -> Any:
    if isinstance(body, dict):
        return {name: _filled(part, values) for name, part in body.items()}
    if isinstance(body, list):
        return [_filled(part, values) for part in body]
    return values.get(body, body) if isinstance(body, str) else body


def _numbers(value: dict[str, Any]) -> Any:
    """Decode an array of float32, which is written ``{"float32": BASE64}``."""
    if "float32" not in value:
        return value
    numbers = array("f", base64.b64decode(value["float32"]))
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers


if __name__ == "__main__":
    try:
        encoder = Encoder(sys.argv[1])
    except ValueError as error:
        sys.exit(str(error))
    wanted = encoder.query(sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 10)
    print(json.dumps(wanted, ensure_ascii=False))
