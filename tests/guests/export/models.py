"""Fitted models of random arrays on the small corpus, of every kind that is exported."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ssi_core.models.base import FittedModel, fitted
from ssi_core.models.bilinear.bilinear import Bilinear
from ssi_core.models.bm25 import Bm25
from ssi_core.models.bm25f import Bm25F
from ssi_core.models.combined.mixture import Mixture
from ssi_core.models.in_degree import InDegree
from ssi_core.models.known import fingerprints
from ssi_core.models.language_model import LanguageModel
from ssi_core.models.latent.cl_lsi import ClLsi
from ssi_core.models.latent.lsi import Lsi, LsiMixture
from ssi_core.models.latent.softmax import Softmax
from ssi_core.models.tfidf import TfIdf
from ssi_core.types import Task
from ssi_core.views.names import PHRASES
from ssi_core.views.phrases import view_of

N = 12
LATENT = {"model": "bilinear", "dimensions": N, "diagonal": "none", "view": "sublinear:10"}


def with_phrases(task: Task) -> Task:
    """A task whose documents have titles of common words."""
    lines = [f"music{n % 7} common{n % 5} music{n % 3}" for n in range(len(task.documents))]
    view = view_of(task.documents.views["counts"], [lines])
    matrices = {**task.documents.matrices, PHRASES: view.count(lines)}
    views = {**task.documents.views, PHRASES: view}
    return replace(task, documents=replace(task.documents, matrices=matrices, views=views))


def random_models(task: Task, seed: int = 0) -> dict[str, FittedModel]:
    """Models by the names that papers give them; D has negative entries."""
    rng, task = np.random.default_rng(seed), with_phrases(task)
    D = len(task.documents.views["raw"].words)

    def floats(*shape: int, scale: float = 1.0) -> np.ndarray:
        return (scale * rng.normal(size=shape)).astype(np.float32)

    maps = {"U": floats(D, N), "V": floats(D, N)}
    small = {"U": floats(D, N, scale=0.1), "V": floats(D, N, scale=0.1)}
    diagonal = rng.uniform(-0.5, 2, D).astype(np.float32)
    bm25 = {"idf": np.abs(floats(D)) + 1, "mean_length": np.array([30.0])}
    phrases = len(task.documents.views[PHRASES].words)
    bm25f = {
        "idf": bm25["idf"],
        "mean_lengths": np.full(5, 30.0),
        "settings": np.array([10.0, 2.0, 2.0, 2.0, 0.75, 2.0, 0.3, 0.0]),
        "phrase_idf": np.abs(floats(phrases)) + 1,
        "phrase_weight": np.array([0.5]),
    }
    alpha = np.array([0.3], np.float32)
    known = {
        "known": np.sort(fingerprints(task.documents)),
        "links": np.arange(len(task.documents), dtype=np.float32),
    }
    share = np.full(D, 1 / D)
    models = {
        "TF-IDF": (TfIdf("sublinear:10"), {}),
        "BM25": (Bm25(), bm25),
        "BM25F": (Bm25F(), bm25f),
        "language model": (LanguageModel(), {"share": share, "background": np.array([0.3])}),
        "in-degree": (InDegree(), known),
        "D": (Bilinear(form="zero", diagonal="learned"), {"diagonal": diagonal}),
        "U'V": (Bilinear(dimensions=N, diagonal="none"), maps),
        "U'U + I": (Bilinear(dimensions=N, tied=True), {"U": maps["U"]}),
        "U'V + I": (Bilinear(dimensions=N, view="sublinear:10", diagonal_view="raw"), maps),
        "U'V + alpha I": (
            Bilinear(dimensions=N, diagonal="alpha"),
            {**maps, "diagonal": np.array([2.5], np.float32)},
        ),
        "U'V + alpha BM25": (
            Bilinear(dimensions=N, diagonal="alpha", view="sublinear:10", diagonal_view="bm25"),
            {**small, "diagonal": np.array([2.5], np.float32)},
        ),
        "U'V + alpha lm": (
            Bilinear(dimensions=N, diagonal="alpha", view="sublinear:10", diagonal_view="lm"),
            {**small, "diagonal": np.array([2.5], np.float32)},
        ),
        "U'V + D": (
            Bilinear(dimensions=N, diagonal="learned", diagonal_view="raw-sublinear"),
            {**maps, "diagonal": diagonal},
        ),
        "LSI": (Lsi(dimensions=N), {"V": maps["V"]}),
        "LSI + TF-IDF": (
            LsiMixture(dimensions=N, tfidf_view="sublinear"),
            {"V": maps["V"], "alpha": alpha},
        ),
        "softmax": (Softmax(dimensions=N), maps),
        "CL-LSI": (ClLsi(dimensions=N, measure="dot"), maps),
        "BM25 + U'V": (
            Mixture(parts=({"model": "bm25"}, LATENT)),
            {
                **{f"part_1_{name}": array for name, array in bm25.items()},
                **{f"part_2_{name}": array for name, array in small.items()},
                "beta": np.array([3.0], np.float32),
            },
        ),
        "BM25F + U'V": (
            Mixture(parts=({"model": "bm25f"}, LATENT)),
            {
                **{f"part_1_{name}": array for name, array in bm25f.items()},
                **{f"part_2_{name}": array for name, array in small.items()},
                "beta": np.array([3.0], np.float32),
            },
        ),
        "TF-IDF + D": (
            Mixture(
                parts=(
                    {"model": "tfidf", "view": "sublinear"},
                    {"model": "bilinear", "form": "zero", "diagonal": "learned"},
                )
            ),
            {"part_2_diagonal": diagonal, "beta": np.array([2.0], np.float32)},
        ),
        "BM25 + in-degree": (
            Mixture(parts=({"model": "bm25"}, {"model": "in_degree"})),
            {
                **{f"part_1_{name}": array for name, array in bm25.items()},
                **{f"part_2_{name}": array for name, array in known.items()},
                "beta": np.array([0.5], np.float32),
            },
        ),
    }
    return {name: fitted(model, task, arrays) for name, (model, arrays) in models.items()}
