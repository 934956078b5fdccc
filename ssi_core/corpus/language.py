"""The language of texts: guessed from their script where nobody says it, doubted where it is wrong.

A script is not a language, but it decides how words are found: between blanks, by an analyser, or
as pairs of letters. So the guess is careful, by shares of all letters of a sample:

- half or more of a script that has a rule of its own, and at most 5 % of others that have: its
  language ("zh" where Han has less than 2 kana in 100, "ja" where it has 20 or more)
- at most 1 % of such scripts: words between blanks. That is "en" for Latin letters, whatever the
  language is, "ko" for Hangul, "any" for others, and where more than 1 % of the letters are the
  dotted capital and the dotless small i of Turkish, whose small and capital forms others lack
- else "any": words between blanks, and pairs of letters in a script without blanks
"""

from __future__ import annotations

import logging
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import polars as pl

from ssi_core import files
from ssi_core.corpus.texts import PLACEHOLDER
from ssi_core.text.tokenizer import ANY, language_of, tokenize

_log = logging.getLogger(__name__)
_SAMPLE, _CHARACTERS = 1000, 2000
_FEWER = 3  # times fewer words than the rule for any script finds
_MANY = 0.05  # share of the texts
_RULED = {
    "THAI": "th", "LAO": "lo", "MYANMAR": "my", "KHMER": "km", "DEVANAGARI": "hi",
    "BENGALI": "bn", "GURMUKHI": "pa", "GUJARATI": "gu", "ORIYA": "or", "TAMIL": "ta",
    "TELUGU": "te", "KANNADA": "kn", "MALAYALAM": "ml", "SINHALA": "si", "TIBETAN": "bo",
}  # fmt: skip
"""Script, as Unicode's names of letters begin -> a language whose rule of words is its own."""
_HAN, _KANA = ("CJK", "IDEOGRAPHIC"), ("HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA")
_BETWEEN_BLANKS = {"LATIN": "en", "HANGUL": "ko"}
_HALF, _FEW, _HARDLY = 0.5, 0.05, 0.01
_CHINESE, _JAPANESE = 0.02, 0.2  # share of kana among Han and kana: less, or as much


def guess_language(texts: Iterable[str]) -> str:
    """Return the code of a language that splits texts as their script asks for.

    >>> guess_language(["一座古老的城市"]), guess_language(["古い都市の歴史"])
    ('zh', 'ja')
    >>> guess_language(["eine alte Stadt"]), guess_language(["an old city", "一座古老的城市"])
    ('en', 'any')
    """
    letters = _letters(texts)
    han, kana = (sum(letters[name] for name in names) for names in (_HAN, _KANA))
    ruled: Counter[str] = Counter()
    for script, code in _RULED.items():
        ruled[code] += letters[script]
    ruled[_of_east_asia(han, kana)] += han + kana
    total = max(1, letters.total())
    code, most = ruled.most_common(1)[0]
    if most >= _HALF * total and ruled.total() - most <= _FEW * total:
        return code
    if ruled.total() <= _HARDLY * total:
        script, most = (letters.most_common(1) or [("LATIN", 0)])[0]
        if most >= _HALF * letters.total() and letters["TURKISH"] <= _HARDLY * total:
            return _BETWEEN_BLANKS.get(script, "any")
    return "any"


def _of_east_asia(han: int, kana: int) -> str:
    if kana < _CHINESE * (han + kana):
        return "zh"
    return "ja" if kana >= _JAPANESE * (han + kana) else "any"


def _letters(texts: Iterable[str]) -> Counter[str]:
    """Count letters by script."""
    letters: Counter[str] = Counter()
    for letter, number in Counter(unicodedata.normalize("NFKC", "\n".join(texts))).items():
        if letter.isalpha():
            name = "TURKISH" if letter in "İı" else unicodedata.name(letter, "OTHER")
            letters[name.split(" ")[0]] += number
    return letters


def name_languages(collection: Path, sides: Sequence[str]) -> dict[str, str]:
    """Guess the language of the texts of some sides and write it into them; say it in words.

    Queries may be in another language than documents: each side is guessed by itself, and where the
    two agree they are said as one.

    Parameters
    ----------
    collection : Path
        Directory of the collection, not sealed yet.
    sides : sequence of str
        Tables whose language nobody has said.

    Returns
    -------
    dict
        Counts of the manifest: ``language``, or ``queries_language`` and ``documents_language``.
    """
    samples = {side: _sample(collection / side)["text"] for side in sides}
    codes = {side: guess_language(texts) for side, texts in samples.items()}
    for side, code in codes.items():
        for part in files.parts_in(collection / side):
            _rewrite(part, code)
    if len(sides) > 1 and len({*codes.values()}) == 1:
        return {"language": _in_words(codes[sides[0]], sum(map(len, samples.values())))}
    return {f"{side}_language": _in_words(code, len(samples[side])) for side, code in codes.items()}


def _in_words(code: str, texts: int) -> str:
    how = "words between blanks; " if code == PLACEHOLDER else ""
    return f"{code} ({how}guessed from the script of {texts:,} texts)"


def _rewrite(part: Path, code: str) -> None:
    """Name the language in a part, which may be a link to that of another artefact."""
    documents = pl.read_parquet(part, glob=False)
    if (documents["language"] == code).all():
        return
    new = part.with_suffix(".new")
    documents.with_columns(pl.lit(code).alias("language")).write_parquet(new)
    new.replace(part)


def warn_unsplit(path: Path, section: str) -> float:
    """Return the share of the texts that are not split into words; warn where they are many.

    A text is not split if it has few words in its language and many by its script: a sentence in
    Chinese that is read as English is one word. A sample is looked at, the same for the same texts.

    Parameters
    ----------
    path : Path
        Directory of the texts.
    section : str
        Of the map that names their language, "queries" or "documents".
    """
    texts = _sample(path)
    unsplit = [(text, code) for text, code in texts.iter_rows() if _is_unsplit(text, code or "")]
    share = len(unsplit) / max(1, len(texts))
    if share <= _MANY:
        return 0.0
    likely = guess_language(text for text, _ in unsplit)
    _log.warning(
        "%s: %.0f %% of the texts are read as %r, and have one word where there are many: nothing "
        'can be learnt of them. Name their language in the map: [%s] language = "%s"; "any" where '
        "there are several.",
        section, 100 * share, unsplit[0][1], section, likely,
    )  # fmt: skip
    return round(share, 3)


def _sample(path: Path) -> pl.DataFrame:
    parts = files.parts_in(path)
    with files.reading(path):
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
