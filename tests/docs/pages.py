"""The pages whose figures come from result files."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[2]
_WRITTEN = ("docs/bad-input.md",)
"""Pages that another program writes as a whole."""


def pages() -> list[str]:
    """Return README.md and the pages of docs/, relative to the root."""
    found = ["README.md", *(str(path.relative_to(ROOT)) for path in (ROOT / "docs").glob("*.md"))]
    return sorted(page for page in found if page not in _WRITTEN)
