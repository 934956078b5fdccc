"""Find the decimals of a page that no marker accounts for."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from tests.docs.markers import markers

ALLOWED = Path(__file__).with_name("allowed.toml")
"""Page -> phrase with a decimal -> why it may stand there without a marker."""

_CODE = re.compile(
    r"^```(?!text)\w+\n.*?^```|^ {4}[^\n]*|`[^`\n]*`|\]\([^)]*\)|https?://\S+|<!--.*?-->",
    re.MULTILINE | re.DOTALL,
)
_DECIMAL = re.compile(r"(?<![\w.])\d*\.\d+(?!\w*\.?\d)")


def allowed() -> dict[str, dict[str, str]]:
    """Return the decimals that may stand without a marker: page -> phrase -> reason."""
    return tomllib.loads(ALLOWED.read_text(encoding="utf-8"))


def unaccounted(page: str, text: str, phrases: dict[str, str]) -> list[str]:
    """Return ``PAGE:LINE: message`` for each decimal without a marker, and each phrase unused.

    Commands, settings and names (code, links) are passed over.
    """
    for marker in reversed(list(markers(text))):
        text = _blanked(text, marker.begin, marker.end)
    text = _CODE.sub(lambda match: _blank(match[0]), text)
    problems = []
    for phrase in phrases:
        pattern = re.compile(r"\s+".join(map(re.escape, phrase.split())))
        if not pattern.search(text):
            problems.append(f"{page}: {phrase!r} of {ALLOWED.name} is not there; remove it")
        text = pattern.sub(lambda match: _blank(match[0]), text)
    for match in _DECIMAL.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        problems.append(
            f"{page}:{line}: {match[0]} stands in no marker. Take it from a result file (<!-- "
            "result: ... -->), say which command measured it (<!-- measured: ... -->), or give "
            f"the reason in tests/docs/{ALLOWED.name}; docs/numbers.md explains these"
        )
    return problems


def _blanked(text: str, begin: int, end: int) -> str:
    return text[:begin] + _blank(text[begin:end]) + text[end:]


def _blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)
