"""The wording of an anchor: one spelling of what people call a document."""

from __future__ import annotations

import re
import unicodedata

LONGEST = 200
"""Characters of the longest wording; more is a paragraph, or a link that was never closed."""
PLAIN = re.compile(r"(?=[A-Za-z0-9])[A-Za-z0-9(),.!-]++(?: [A-Za-z0-9(),.!-]++)*+")
"""Words that are their own wording, but for capitals and `LONGEST`; no markup of wikitext."""


def wording_of(text: str) -> str | None:
    r"""Return a plain text in NFKC, in lower case, with one blank for each run of white space.

    Returns
    -------
    the wording; "" where there is no letter and no digit; None where it is longer than `LONGEST`

    >>> wording_of("  The Ｍoon\nlanding "), wording_of("↑")
    ('the moon landing', '')
    >>> len(wording_of("x" * 200) or ""), wording_of("x" * 201)
    (200, None)
    """
    plain = text if text.isascii() else unicodedata.normalize("NFKC", text)
    words = " ".join(plain.lower().split())
    if not words[:1].isalnum() and not any(map(str.isalnum, words)):
        return ""
    return words if len(words) <= LONGEST else None
