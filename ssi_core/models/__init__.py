"""The table of contents: name -> model, with the paper it is from.

To add a model: one file in a folder of this one and one line in `MODELS`; a model of another
package is added by an entry point (`ssi_core.registry`).
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ssi_core.registry import Registry

if TYPE_CHECKING:
    from ssi_core.models.base import FittedModel, Model

_HERE = "ssi_core.models"

MODELS: Registry[type[Model]] = Registry(
    "models",
    {
        # Nothing learnt from links, but for their number.
        "tfidf": f"{_HERE}.tfidf:TfIdf",
        "bm25": f"{_HERE}.bm25:Bm25",  # Robertson and Zaragoza 2009
        "bm25f": f"{_HERE}.bm25f:Bm25F",  # Robertson, Zaragoza and Taylor 2004
        "language_model": f"{_HERE}.language_model:LanguageModel",  # Zhai, Lafferty 2004
        "rm3": f"{_HERE}.rm3:Rm3",  # Lavrenko and Croft 2001, Abdul-Jaleel et al. 2004
        "in_degree": f"{_HERE}.in_degree:InDegree",  # links counted, no text
        # Tuned on links: Bai et al. 2010, section 4.
        "query_expansion": f"{_HERE}.query_expansion:QueryExpansion",
        "lsi": f"{_HERE}.latent.lsi:Lsi",
        "lsi_mixture": f"{_HERE}.latent.lsi:LsiMixture",
        # Learnt from links: Bai et al. 2010, section 2.
        "bilinear": f"{_HERE}.bilinear.bilinear:Bilinear",
        "half_transductive": f"{_HERE}.bilinear.half_transductive:HalfTransductive",  # Bai 2009
        "word_pairs": f"{_HERE}.bilinear.word_pairs:WordPairs",
        # From a language to another: section 4.3.
        "cl_lsi": f"{_HERE}.latent.cl_lsi:ClLsi",
        "multi_task": f"{_HERE}.bilinear.multi_task:MultiTask",
        "softmax": f"{_HERE}.latent.softmax:Softmax",
        # Sums of two of these.
        "mixture": f"{_HERE}.combined.mixture:Mixture",
        "residual": f"{_HERE}.combined.residual:Residual",  # Gao et al. 2021
        # One of several, by validation.
        "best_of": f"{_HERE}.combined.best_of:BestOf",
        "untrained": f"{_HERE}.choice.untrained:Untrained",
        "auto": f"{_HERE}.choice.auto:Auto",
    },
)


def load_model(directory: Path) -> FittedModel:
    """Read a saved model; see `FittedModel.save`."""
    from ssi_core.models.base import FittedModel

    return FittedModel.load(directory, MODELS)
