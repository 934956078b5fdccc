"""The pages whose figures come from result files."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[2]


def pages() -> list[str]:
    """Return README.md and the pages of docs/, relative to the root."""
    found = ["README.md", *(str(path.relative_to(ROOT)) for path in (ROOT / "docs").glob("*.md"))]
    return sorted(found)
