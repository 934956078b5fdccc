"""``python -m tests.docs`` fills the pages in, and writes the schema of tables."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path

from flows.reporting import result_file
from ssi_core.types import BadInput
from tests.docs.figures import EARLIER, RESULTS, MissingResult, Results
from tests.docs.markers import filled
from tests.docs.pages import ROOT, pages
from tests.docs.schema import FILE, written


def main() -> int:
    """Fill in what can be had; say what cannot, and why."""
    (ROOT / FILE).write_text(written(), encoding="utf-8")
    (ROOT / RESULTS / EARLIER).write_text("".join(f"{name}\n" for name in earlier()), "utf-8")
    results, problems = Results(ROOT / RESULTS), []
    missing: set[str] = set()
    for page in pages():
        path = ROOT / page
        text = path.read_text(encoding="utf-8")
        done = filled(page, text, results)
        if done.text != text:
            path.write_text(done.text, encoding="utf-8")
            print(f"{page}: filled in")
        problems += done.problems
        missing |= {*done.missing}
    for problem in problems:
        print(problem, file=sys.stderr)
    for name in sorted(missing):
        print(MissingResult(Path(f"{name}.json")), file=sys.stderr)
    return 1 if problems or missing else 0


def earlier() -> list[str]:
    """Return the names of the tables that other code, or other settings, would compute today."""
    found = {}
    for path in sorted((ROOT / RESULTS).glob("*.json")):
        with contextlib.suppress(BadInput):  # no table
            found[path.stem] = result_file.load(path)
    return [name for name, result in found.items() if result_file.earlier(result)]


if __name__ == "__main__":
    sys.exit(main())
