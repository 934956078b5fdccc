"""Warn of texts that are read in a language whose words stand between blanks, and have none."""

from __future__ import annotations

import logging
import re
from pathlib import Path

import polars as pl

from ssi_core import files
from ssi_core.text.tokenizer import ANY, language_of, tokenize

_log = logging.getLogger(__name__)
_SAMPLE, _CHARACTERS = 1000, 2000
_FEWER = 3  # times fewer words than the rule for any script finds
_MANY = 0.05  # share of the texts
_SCRIPTS = {
    "ja": r"[\u3041-\u30ff]", "th": r"[\u0e00-\u0e7f]", "lo": r"[\u0e80-\u0eff]",
    "my": r"[\u1000-\u109f]", "km": r"[\u1780-\u17ff]", "zh": r"[\u3400-\u9fff]",
}  # fmt: skip
"""Language that is likely where a letter occurs; the first of several."""


def warn_unsplit(corpus: Path, section: str) -> float:
    """Return the share of the texts that are not split into words; warn where they are many.

    A text is not split if it has few words in its language and many by its script: a sentence in
    Chinese that is read as English is one word. A sample is looked at, the same for the same texts.

    Parameters
    ----------
    corpus : directory of the texts
    section : of the map that names their language, "pages" or "ads"
    """
    texts = _sample(corpus)
    unsplit = [(text, code) for text, code in texts.iter_rows() if _is_unsplit(text, code or "")]
    share = len(unsplit) / max(1, len(texts))
    if share <= _MANY:
        return 0.0
    together = "".join(text for text, _ in unsplit)
    likely = next((code for code, letters in _SCRIPTS.items() if re.search(letters, together)), "")
    _log.warning(
        "%s: %.0f %% of the texts are read as %r, and have one word where there are many: nothing "
        'can be learnt of them. Name their language in the map: [%s] language = "%s"; "any" where '
        "there are several.",
        section, 100 * share, unsplit[0][1], section, likely or "any",
    )  # fmt: skip
    return round(share, 3)


def _sample(corpus: Path) -> pl.DataFrame:
    parts = files.parts_in(corpus / "documents")
    with files.reading(corpus / "documents"):
        documents = pl.scan_parquet(parts, glob=False)
        ids = documents.select("id").collect()["id"]
        order = pl.DataFrame({"id": ids, "hash": ids.hash()}).sort("hash", "id")
        chosen = order["id"].head(_SAMPLE)
        text = pl.col("text").str.slice(0, _CHARACTERS)
        return (
            documents.filter(pl.col("id").is_in(chosen.implode()))
            .select(text, "language")
            .collect()
        )


def _is_unsplit(text: str, code: str) -> bool:
    language = language_of(code)
    if language is ANY or not language.by_chunk:
        return False
    return len(tokenize(text, "any")) >= _FEWER * max(1, len(tokenize(text, code)))
