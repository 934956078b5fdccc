"""Relatedness of concepts by the pages that link to both: the link-based measure WLM."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from ssi_core.types import Float64, Int64


def relatedness(links_in: sparse.csr_array, concepts: Int64, confidence: float) -> sparse.csr_array:
    """Return the relatedness of each two of some concepts, where it exceeds a confidence.

    With A and B the sets of pages that link to two concepts, and N the number of pages,

        1 - (ln max(|A|, |B|) - ln |A and B|) / (ln N - ln min(|A|, |B|)),

    or 0 where that is negative or no page links to both. A concept is related to itself by 1.

    Source: D. Milne, I. H. Witten, An effective, low-cost measure of semantic relatedness obtained
    from Wikipedia links (2008); the matrix RM of Miao and Li (2010), section 3.2.

    Parameters
    ----------
    links_in : CSR bool (N, N)
        Row c: the pages that link to c.
    concepts : int64 (w,)
        Rows.
    confidence : float
        From 0 to 1.

    Returns
    -------
    CSR float64 (w, w), symmetric
    """
    width, pages = len(concepts), links_in.shape[0]
    rows = sparse.csr_array(links_in[concepts]).astype(np.float64)
    both = sparse.coo_array(rows @ rows.T)
    one, other = both.coords
    apart = one != other
    one, other, common = one[apart], other[apart], both.data[apart]
    sizes = np.diff(rows.indptr).astype(np.float64)
    larger = np.maximum(sizes[one], sizes[other])
    smaller = np.minimum(sizes[one], sizes[other])
    # A concept that every page links to says nothing: ln N - ln N.
    spread = np.log(pages) - np.log(smaller)
    distance = np.log(larger) - np.log(common)
    values: Float64 = 1 - np.divide(distance, spread, out=np.ones_like(spread), where=spread > 0)
    kept = values > confidence
    itself = np.arange(width)
    cells = np.concatenate([one[kept], itself]), np.concatenate([other[kept], itself])
    data = np.concatenate([values[kept], np.ones(width)])
    return sparse.csr_array((data, cells), shape=(width, width))
