"""Queries of each kind of model, taken apart into what the encoder of an export can compute.

`PARTS` has a function for each kind of model whose queries are read by their words alone; a test
compares what they say with ``embed_queries`` for every model that there is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from ssi_core.models.base import FittedModel, Model
from ssi_core.models.bilinear.bilinear import Bilinear
from ssi_core.models.bm25 import Bm25, settings_of
from ssi_core.models.bm25f import Bm25F
from ssi_core.models.combined.mixture import Mixture
from ssi_core.models.combined.parts import fitted_parts
from ssi_core.models.in_degree import InDegree
from ssi_core.models.latent.cl_lsi import ClLsi
from ssi_core.models.latent.lsi import LsiMixture
from ssi_core.models.latent.projection import Projection
from ssi_core.models.latent.softmax import Softmax
from ssi_core.models.tfidf import TfIdf
from ssi_core.text.tokenizer import LANGUAGES, spoken
from ssi_core.types import BadInput, Float32, View
from ssi_core.views.names import BM25, LM, PHRASES
from ssi_core.views.text_view import TextView
from ssi_core.views.weighting import WEIGHTINGS

Factor: TypeAlias = float | Float32
"""A factor of all words, or one for each."""


@dataclass(frozen=True)
class Words:
    """A part of the sparse vector: the words of a view, each times a factor.

    Attributes
    ----------
    view : str
        View whose words become terms.
    scale : float or float32
        Factor of each weight.
    saturation : float or None
        k of ``(k + 1) x / (k + x)``, which a weight x becomes; None: it stays.
    before, after : str
        What stands around a word in the name of its term.
    """

    view: str
    scale: Factor = 1.0
    saturation: float | None = None
    before: str = ""
    after: str = ""


@dataclass(frozen=True)
class Phrases:
    """A part of the sparse vector: pairs of the query's words, each ``1 / (words - 1)``.

    Attributes
    ----------
    names : sequence of str
        ``word+other`` of the pairs that are terms, the word of the lower column first.
    scale : float
        Factor of each weight.
    after : str
        What stands behind a pair in the name of its term.
    """

    names: Sequence[str]
    scale: Factor = 1.0
    after: str = ""


@dataclass(frozen=True)
class Constant:
    """A part of the sparse vector that is one term, the same for every query."""

    name: str
    scale: float = 1.0


@dataclass(frozen=True)
class Latent:
    """A part of the dense vector: the words of a view, each times its row of an embedding.

    Attributes
    ----------
    view : str
        View whose words are embedded.
    embedding : float32 (words, N)
        Latent vector of each word.
    unit : bool
        The vector is brought to unit length.
    scale : float
        Factor of what comes out.
    """

    view: str
    embedding: Float32
    unit: bool = False
    scale: float = 1.0


Part: TypeAlias = Words | Phrases | Constant | Latent


def parts_of(fitted: FittedModel) -> list[Part]:
    """Return the parts of a model's queries.

    Raises
    ------
    BadInput
        A query is more than its words to this model, or they are read in a way that the encoder
        has not: the message says which.
    """
    for name, view in fitted.query_views.items():
        _require_encodable(name, view)
    if fitted.model.counts_queries:
        return [Words("counts")]
    for kind, parts in PARTS.items():
        if isinstance(fitted.model, kind):
            return parts(fitted)
    raise BadInput(f"a query of model {fitted.model.name!r} is not a function of its words alone")


def _require_encodable(name: str, view: View) -> None:
    known = (*WEIGHTINGS, BM25, LM)
    if not isinstance(view, TextView) or view.weighting.kind not in known:
        raise BadInput(f"view {name!r} is not one of {', '.join(known)} of plain words")
    if spoken(view.language) != view.language:
        raise BadInput("the words of a query are stems (--stems), which an encoder does not make")
    if view.language in LANGUAGES and view.language != "en":
        raise BadInput(f"texts in {view.language!r} are not split into words by blanks and signs")


def _bilinear(fitted: FittedModel) -> list[Part]:
    model = fitted.model
    assert isinstance(model, Bilinear)
    parts: list[Part] = []
    if model.diagonal != "none":
        scale: Factor = 1.0
        if model.diagonal == "alpha":
            scale = float(fitted.arrays["diagonal"][0])
        elif model.diagonal == "learned":
            scale = np.asarray(fitted.arrays["diagonal"])
        parts.append(Words(model.diagonals_view, scale))
    if model.form == "low_rank":
        parts.append(Latent(model.view, np.asarray(model.embedding(fitted, "query"))))
    return parts


def _tfidf(fitted: FittedModel) -> list[Part]:
    assert isinstance(fitted.model, TfIdf)
    return [Words(fitted.model.view)]


def _bm25(fitted: FittedModel) -> list[Part]:
    model, phrases = fitted.model, fitted.document_views.get(PHRASES)
    k3 = model.k3 if isinstance(model, Bm25F) else settings_of(fitted)["k3"]
    words = Words("counts", saturation=k3)
    return [words] if phrases is None else [words, Phrases(phrases.words)]


def _in_degree(fitted: FittedModel) -> list[Part]:
    view = fitted.sparse_view("query")
    assert view is not None
    return [Constant(view.words[0])]


def _unit(fitted: FittedModel) -> list[Part]:
    assert isinstance(fitted.model, Projection | Softmax)
    # The map is that of the query's side, whichever array the model keeps it in.
    return [Latent(fitted.model.view, _map(fitted), unit=True)]


def _cl_lsi(fitted: FittedModel) -> list[Part]:
    assert isinstance(fitted.model, ClLsi)
    return [Latent(fitted.model.view, _map(fitted), unit=fitted.model.measure == "cosine")]


def _map(fitted: FittedModel) -> Float32:
    arrays = fitted.arrays
    return np.asarray(arrays["U"] if "U" in arrays else arrays["V"])


def _lsi_mixture(fitted: FittedModel) -> list[Part]:
    model = fitted.model
    assert isinstance(model, LsiMixture)
    alpha = float(fitted.arrays["alpha"][0])
    latent = Latent(model.view, np.asarray(fitted.arrays["V"]), unit=True, scale=alpha)
    return [Words(model.tfidf_view or model.view, 1 - alpha), latent]


def _mixture(fitted: FittedModel) -> list[Part]:
    """Return the parts of both models, the second times the root of beta."""
    scales = (1.0, float(np.sqrt(fitted.arrays["beta"][0])))
    return [
        _second(part, scale) if number else part
        for number, (one, scale) in enumerate(zip(fitted_parts(fitted), scales, strict=True))
        for part in parts_of(one)
    ]


def _second(part: Part, scale: float) -> Part:
    if isinstance(part, Latent):
        return replace(part, scale=part.scale * scale)
    if isinstance(part, Constant):
        return Constant(f"{part.name}′", part.scale * scale)
    return replace(part, scale=part.scale * scale, after="′")


PARTS: Mapping[type[Model], Callable[[FittedModel], list[Part]]] = {
    Bilinear: _bilinear,
    TfIdf: _tfidf,
    Bm25: _bm25,
    Bm25F: _bm25,
    InDegree: _in_degree,
    LsiMixture: _lsi_mixture,
    Projection: _unit,
    Softmax: _unit,
    ClLsi: _cl_lsi,
    Mixture: _mixture,
}
"""Kind of model -> the function that gives the parts of its queries, in their order."""
