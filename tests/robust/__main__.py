"""``python -m tests.robust`` writes docs/bad-input.md: each bad input, asked once."""

from __future__ import annotations

import os
import shutil
import tempfile
import textwrap
from itertools import groupby
from pathlib import Path

from tests.robust.cases import CASES, DONE, Answer, Case, ask

PAGE = Path(__file__).parents[2] / "docs" / "bad-input.md"

_HEAD = """# What ssi does with bad input

Every command ends with one line that names the file, the place and a remedy, and with an exit code:
0 done, 1 failed, 2 wrong usage, 3 bad input, 4 refused (memory, disk, a lock, a permission). A
command that fails leaves what was whole as it was, and nothing half made in its place; where there
was no room, the whole parts that the next run goes on from lie beside it as `.NAME.work`.

What is not noticed: a byte that flips inside the numbers of an array or inside the letters of a
text that was ingested. Files are looked at for their form and for fitting together; for their bits
trust a file system with checksums.

Below is what it prints, as it stands, wrapped. The paths are those of a small project; amounts of
disk, digests and the measures of a model, which differ from machine to machine, are made up. The
page is written by `python -m tests.robust`, and the tests look whether it is still true.
"""
_THEMES = {
    "Dumps": "Dumps of a Wikipedia",
    "Wikispeedia": "The files of Wikispeedia",
    "Mates": "Mates of two languages",
    "Clicks": "Click logs",
    "Corpora": "A corpus, on the way to a task",
    "Tasks": "A task directory",
    "Models": "Models and questions",
    "Tables": "Tables of rows (TOML)",
    "Machine": "Disk, permissions, a second run",
}


def entry(case: Case, answer: Answer) -> str:
    """What the page says of a case: the input, the command, the exit code, the message."""
    lines = answer.printed.splitlines()
    if case.code == DONE and len(lines) > 4:
        # Of what was done well, the line that matters.
        lines = [next(line.strip() for line in lines if case.said in line)]
    if case.code == DONE:
        lines = [" ".join(lines)]
    said = [
        part for line in lines for part in textwrap.wrap(line, 96, break_on_hyphens=False) or [""]
    ]
    printed = "\n".join(f"    {line}".rstrip() for line in said)
    return f"**{case.what}** · `ssi {case.command}` · exit code {case.code}\n\n{printed}\n"


def main() -> None:
    """Write the page."""
    from tests.flows.project import make

    parts = [_HEAD]
    with tempfile.TemporaryDirectory() as place:
        project = make(Path(place))
        for theme, cases in groupby(CASES, key=lambda case: case.theme):
            parts.append(f"## {_THEMES[theme]}\n")
            parts += [entry(case, _asked(case, project)) for case in cases]
    PAGE.write_text("\n".join(parts), encoding="utf-8")


def _asked(case: Case, project: Path) -> Answer:
    with tempfile.TemporaryDirectory() as place:
        here = Path(place)
        os.environ["SSI_ROOT"] = str(here / "root")
        for name in ("corpus", "task", "model"):
            shutil.copytree(project / name, here / name)
        shutil.copy(project / "dump.xml.bz2", here)
        return ask(case, here)


if __name__ == "__main__":
    main()
