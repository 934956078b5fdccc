"""Commands that a page of the documentation prints."""

import re
import textwrap
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]


def section(page, heading):
    """Text below a heading of a Markdown file, to the next one of its level or above."""
    text = (REPOSITORY / page).read_text(encoding="utf-8")
    found = re.search(rf"^(#+) {re.escape(heading)}\n", text, re.MULTILINE)
    assert found, f"{page} has no heading {heading!r}"
    after = text[found.end() :]
    end = re.search(rf"^#{{1,{len(found[1])}}} ", after, re.MULTILINE)
    return after[: end.start()] if end else after


def blocks(page, heading):
    """Blocks of commands of a section, each as it is printed: indented, or between fences."""
    text = section(page, heading)
    fenced = re.findall(r"^```\w*\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    if fenced:
        return fenced
    found = re.findall(r"(?:^(?: {4}.*)?\n)+", text, re.MULTILINE)
    return [textwrap.dedent(block).strip() + "\n" for block in found if block.strip()]
