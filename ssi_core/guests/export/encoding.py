"""The file that the encoder of queries reads, and the same encoder on the model itself."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from ssi_core.guests.export.encoder import Encoder, sealed
from ssi_core.guests.export.parts import Latent, Part, Phrases, Words
from ssi_core.guests.export.terms import Layout
from ssi_core.guests.export.writing import program
from ssi_core.models.base import FittedModel
from ssi_core.serving.searcher import texts_of
from ssi_core.text.tokenizer import ANY, MARKS, language_of
from ssi_core.types import BadInput, View
from ssi_core.views.text_view import TextView
from ssi_core.views.weighting import most_of

FILE = "encoder.json"
_OF_WORDS, _OF_LATENT = {"$words", "$signed", "$sparse_words"}, {"$vector", "$latent"}


def bodies_of(bodies: Mapping[str, Any], layout: Layout) -> dict[str, Any]:
    """Return the searches of an engine without the places that a model has nothing for."""
    absent = (set() if len(layout.words) else _OF_WORDS) | (set() if layout.latent else _OF_LATENT)
    if absent:
        bodies = {"query": bodies["query"]}
    return {name: _without(body, absent) for name, body in bodies.items()}


def _without(body: Any, absent: set[str]) -> Any:
    if not isinstance(body, dict):
        return body
    kept = {name: part for name, part in body.items() if str(part) not in absent}
    return {name: _without(part, absent) for name, part in kept.items()}


def write_encoder(
    path: Path, fitted: FittedModel, parts: Sequence[Part], bodies: Mapping[str, Any]
) -> None:
    """Write ``encoder.json`` and the two programs that read it, in Python and in JavaScript."""
    read = sorted({part.view for part in parts if isinstance(part, Words | Latent)})
    views = {name: _plain(fitted.query_views[name]) for name in read}
    vocabularies = {view.vocabulary.digest(): view.vocabulary for view in views.values()}
    if len(vocabularies) > 1:
        raise BadInput(f"views {', '.join(read)} have different words")
    words = [word for vocabulary in vocabularies.values() for word in vocabulary]
    model: dict[str, Any] = {
        "words": words,
        "views": {name: _view(view) for name, view in views.items()},
        "parts": [_part(part) for part in parts],
        "bodies": dict(bodies),
    }
    if any(language_of(view.language) is ANY for view in views.values()):
        model["letters"] = MARKS
    (path / FILE).write_bytes(sealed(model))
    for name in ("encoder.py", "encoder.js"):
        program(name, path / name)


def _plain(view: View) -> TextView:
    assert isinstance(view, TextView)
    return view


def _view(view: TextView) -> dict[str, Any]:
    weighting, words = view.weighting.of("query"), len(view.words)
    if weighting.two_sided:
        most = _floats(most_of(view.statistics, weighting))
        return {"kind": weighting.kind, "cut": None, "words": words, "most": most}
    return {"kind": weighting.kind, "cut": weighting.cut, "words": words, "idf": _floats(view.idf)}


def _part(part: Part) -> dict[str, Any]:
    if isinstance(part, Latent):
        facts = {"view": part.view, "unit": part.unit, "scale": part.scale}
        return {**facts, "width": part.embedding.shape[1], "embedding": _floats(part.embedding)}
    if isinstance(part, Words):
        scale = _floats(part.scale) if isinstance(part.scale, np.ndarray) else part.scale
        return {**asdict(part), "scale": scale}
    if isinstance(part, Phrases):
        names = [f"{name}{part.after}" for name in part.names]
        return {"phrases": names, "after": part.after, "scale": part.scale}
    return {"name": part.name, "scale": part.scale, "saturation": None}


def _floats(numbers: Any) -> dict[str, str]:
    data = np.ascontiguousarray(numbers, "<f4").tobytes()
    return {"float32": base64.b64encode(data).decode("ascii")}


class ModelEncoder(Encoder):
    """The encoder of a model in memory, of any kind and language.

    Parameters
    ----------
    fitted : FittedModel
        Model whose queries are encoded.
    layout : Layout
        Its terms.
    bodies : mapping
        Searches of an engine, see `Target`.
    """

    def __init__(self, fitted: FittedModel, layout: Layout, bodies: Mapping[str, Any]) -> None:
        self.fitted, self.names = fitted, list(layout.words)
        self.model = {"bodies": bodies}

    def vectors(self, text: str) -> tuple[dict[int, float], list[float]]:
        """Return the weights of words, by their places in ``names``, and the latent vector."""
        vectors = self.fitted.embed_queries(texts_of([text], self.fitted.query_views))
        rows, dense = vectors.sparse, vectors.dense
        weights: dict[int, float] = {}
        if rows is not None:
            weights = dict(zip(rows.indices.tolist(), rows.data.tolist(), strict=True))
        return weights, [] if dense is None else dense[0].tolist()
