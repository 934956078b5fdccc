"""Words of documents that training taught nothing about, in models of the likelihood of a query.

Topics and translations are learnt from pairs. Of a title's word that no pair has, the formulas say
nothing that is learnt: (1) of Gao, Toutanova and Yih (2011) has no ``P(q | w)`` for it, and in (2)
it is equally likely in all topics, but for the prior. The paper does not say what is done with it.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ssi_core.types import Float64

Unseen: TypeAlias = Literal["nothing", "itself"]
"""What an unseen word of a document becomes in a query: nothing but what the formula of the model
makes of it, or this very word, with all of its share of the document."""


def own_weights(seen: NDArray[Any], unigram: float, unseen: Unseen) -> Float64:
    """Return with which weight each word of documents stands for itself.

    That is ``unigram`` (lambda_2), and 1 for a word that is unseen and becomes itself: the model
    explains the others alone.

    Parameters
    ----------
    seen : array of bool
        Whether the training pairs have the word.
    unigram : float
        Weight of the document's own words.
    unseen : Unseen
        What becomes of unseen words.
    """
    return np.where(seen, unigram, 1.0 if unseen == "itself" else unigram)
