"""Fitted models of random arrays on a handful of texts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl
from scipy import sparse

from ssi_core.models import MODELS
from ssi_core.models.base import FittedModel
from ssi_core.models.bilinear.bilinear import Bilinear
from ssi_core.models.bilinear.word_pairs import WordPairs
from ssi_core.models.bm25 import Bm25
from ssi_core.models.latent.lsi import Lsi, LsiMixture
from ssi_core.models.query_expansion import QueryExpansion
from ssi_core.models.tfidf import TfIdf
from ssi_core.types import Texts, View
from ssi_core.views.lexicon import Vocabulary
from ssi_core.views.statistics import Statistics
from ssi_core.views.text_view import TextView
from ssi_core.views.weighting import Weighting

WORDS = ("car", "automobile", "engine", "moon", "rocket", "wheel", "planet", "road")
TEXTS = (
    "car engine wheel road car",
    "automobile engine road",
    "moon rocket planet",
    "planet moon moon",
    "car rocket",
    "wheel wheel road automobile engine planet",
)
TITLES = ("Car", "Automobile", "Moon rocket", "Planets", "Rocket car", "Wheels")


def views(*names: str, words: Sequence[str] = WORDS) -> dict[str, View]:
    statistics = Statistics(np.linspace(0.5, 2.0, len(words)).astype(np.float32), 100, 10.0)
    base = TextView(
        "en",
        Vocabulary(pl.Series("word", list(words))),
        statistics,
        Weighting("counts"),
    )
    return {name: base.named(name) for name in ("counts", *names)}


def documents(used: dict[str, View], texts: Sequence[str] = TEXTS) -> Texts:
    ids = pl.Series("id", [f"d{row}" for row in range(len(texts))])
    titles = pl.Series("title", [*TITLES, *ids.to_list()[len(TITLES) :]][: len(texts)])
    return Texts(ids, titles, {name: view.transform(texts) for name, view in used.items()}, used)


def write_parts(directory: Path, texts: Sequence[str], urls: Sequence[str | None]) -> list[Path]:
    """Texts and addresses in two files, as a task has them."""
    columns = {
        "id": [f"d{row}" for row in range(len(texts))],
        "title": [*TITLES, *[None] * len(texts)][: len(texts)],
        "url": list(urls),
        "text": list(texts),
    }
    frame = pl.DataFrame(columns, dict.fromkeys(columns, pl.String))
    directory.mkdir(parents=True)
    places = [directory / f"part-{number:05d}.parquet" for number in range(2)]
    frame[:2].write_parquet(places[0])
    frame[2:].write_parquet(places[1])
    return places


def random_models(seed: int, dimensions: int = 3) -> list[FittedModel]:
    rng = np.random.default_rng(seed)
    used = views("raw", "sublinear")
    n = len(WORDS)

    def floats(*shape: int) -> np.ndarray:
        return rng.normal(size=shape).astype(np.float32)

    # Counted here: a view compiles its kernels, which no collection of tests need wait for.
    counts = [[text.split().count(word) for word in WORDS] for text in TEXTS]
    collection = sparse.csr_array(np.array(counts, np.float32))
    expanded = {
        "indptr": collection.indptr,
        "indices": collection.indices,
        "data": collection.data,
        "ids": np.array([f"d{row}" for row in range(len(TEXTS))]),
        "expansion": np.array([2]),
        "beta": np.array([0.7], np.float32),
    }
    alpha = np.array([0.3], np.float32)
    models = [
        (TfIdf(), {}),
        (Bm25(), {"idf": np.abs(floats(n)), "mean_length": np.array([3.0])}),
        (QueryExpansion(), expanded),
        (Lsi(dimensions=dimensions), {"V": floats(n, dimensions)}),
        (
            LsiMixture(dimensions=dimensions, tfidf_view="sublinear"),
            {"V": floats(n, dimensions), "alpha": alpha},
        ),
        (Bilinear(form="zero", diagonal="learned"), {"diagonal": floats(n)}),
        (Bilinear(tied=True, dimensions=dimensions), {"U": floats(n, dimensions)}),
        (
            Bilinear(dimensions=dimensions, diagonal="none"),
            {"U": floats(n, dimensions), "V": floats(n, dimensions)},
        ),
        (WordPairs(form="dense", diagonal="none"), {"W": floats(n, n)}),
        (
            WordPairs(form="sparse", diagonal="identity", diagonal_view="sublinear"),
            {
                "W_indptr": np.arange(n + 1) * 2,
                "W_indices": np.tile([1, 4], n).astype(np.int32),
                "W_data": floats(2 * n),
            },
        ),
        (WordPairs(buckets=11, diagonal="learned"), {"W": floats(11), "diagonal": floats(n)}),
        *(
            (
                MODELS[name](topics=dimensions),
                {
                    "topics": np.abs(floats(n, dimensions)),
                    "words": np.abs(floats(n, dimensions)),
                    "share": np.abs(floats(n)).astype(np.float64) + 0.1,
                    "weights": np.array([0.5, 0.4]),
                },
            )
            for name in {"topic_model"} & set(MODELS)  # a guest
        ),
        (
            Bilinear(dimensions=dimensions, diagonal="alpha", diagonal_view="sublinear"),
            {
                "U": floats(n, dimensions),
                "V": floats(n, dimensions),
                "diagonal": np.array([2.5], np.float32),
            },
        ),
    ]
    return [
        FittedModel(model, arrays, own, own)
        for model, arrays in models
        for own in [{name: used[name] for name in model.views()}]
    ]
