"""The sample encyclopedia as documents: `read_sample`."""

from __future__ import annotations

from ssi_core.face.documents import Documents, read_source

DOCUMENTS = 500


def read_sample(documents: int = DOCUMENTS, seed: int = 0) -> Documents:
    """Make documents to try things on: the English edition of a made-up encyclopedia, with links.

    Its texts are synthetic. Pages on one subject use different words for one thing, and its links
    teach which. What is made lies in the store, as what `read` reads, so that a second call takes
    next to no time.

    Parameters
    ----------
    documents : int, optional
        Articles, from 20 to 1,000,000; some pages on years come on top.
    seed : int, optional
        Same seed and number, same documents.

    Raises
    ------
    BadInput
        The number is out of its bounds.

    Examples
    --------
    >>> import ssi_core as ssi
    >>> docs = ssi.read_sample(documents=50)
    >>> docs.relevant
    ('link', 'anchor')
    >>> ssi.read_sample(documents=50).path == docs.path
    True
    """
    # One process: a script without a guard for its main module can start no others.
    settings = {"documents": documents, "seed": seed, "processes": 1}
    return Documents(read_source("sample", settings))
