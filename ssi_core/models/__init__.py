"""The table of contents: name -> model, with the paper it is from.

To add a model: one file in this folder and one line in `MODELS`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ssi_core.models import base
from ssi_core.models.auto import Auto
from ssi_core.models.base import FittedModel, Model
from ssi_core.models.best_of import BestOf
from ssi_core.models.bilinear import Bilinear
from ssi_core.models.bilinear_cuda import BilinearCuda
from ssi_core.models.bm25 import Bm25
from ssi_core.models.bm25f import Bm25F
from ssi_core.models.cl_lsi import ClLsi
from ssi_core.models.fusion import Fusion
from ssi_core.models.half_transductive import HalfTransductive
from ssi_core.models.in_degree import InDegree
from ssi_core.models.language_model import LanguageModel
from ssi_core.models.lsi import Lsi, LsiMixture
from ssi_core.models.mixture import Mixture
from ssi_core.models.multi_task import MultiTask
from ssi_core.models.opca import Opca
from ssi_core.models.pca import Pca
from ssi_core.models.query_expansion import QueryExpansion
from ssi_core.models.reranked import Reranked
from ssi_core.models.rm3 import Rm3
from ssi_core.models.s2net import S2Net
from ssi_core.models.softmax import Softmax
from ssi_core.models.tfidf import TfIdf
from ssi_core.models.topic_model import TopicModel
from ssi_core.models.translation_model import TranslationModel
from ssi_core.models.trec_run import TrecRun
from ssi_core.models.untrained import Untrained
from ssi_core.models.word_pairs import WordPairs

MODELS: Mapping[str, type[Model]] = {
    model.name: model
    for model in (
        # Nothing learnt from links, but for their number.
        TfIdf,
        Bm25,  # Robertson and Zaragoza 2009
        Bm25F,  # Robertson, Zaragoza and Taylor 2004
        LanguageModel,  # Zhai and Lafferty 2004
        Rm3,  # Lavrenko and Croft 2001, Abdul-Jaleel et al. 2004
        InDegree,  # links counted, no text
        # Tuned on links: Bai et al. 2010, section 4.
        QueryExpansion,
        Lsi,
        LsiMixture,
        # Learnt from links: Bai et al. 2010, section 2.
        Bilinear,
        BilinearCuda,  # the same on a GPU
        HalfTransductive,  # Bai, Weston et al. 2009
        WordPairs,
        # From a language to another: section 4.3.
        ClLsi,
        MultiTask,
        Softmax,
        # Learnt from queries and the titles that were clicked: Gao et al. 2011.
        TopicModel,
        TranslationModel,
        Pca,
        Opca,
        S2Net,
        # Another system's ranking.
        TrecRun,
        # Sums of two of these, and of the ranks of several.
        Mixture,
        Fusion,  # Cormack, Clarke and Buettcher 2009
        # A ranker of pairs of features, behind a first stage.
        Reranked,
        # One of several, by validation.
        BestOf,
        Untrained,
        Auto,
    )
}


def load_model(directory: Path) -> FittedModel:
    """Read a saved model; see `base.load`."""
    return base.load(directory, MODELS)
