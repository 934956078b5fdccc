"""Blocks of commands, Python and TOML that a page of the documentation prints."""

import re
import shlex
import textwrap
import tomllib
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
NOT_RUN = tomllib.loads((REPOSITORY / "tests/docs/not_run.toml").read_text(encoding="utf-8"))
"""Page -> first line of a block of commands -> why no test runs it."""
PAGES = ("README.md", *sorted(f"docs/{p.name}" for p in (REPOSITORY / "docs").glob("*.md")))


@dataclass(frozen=True)
class Block:
    """What a page prints between fences, or indented by four blanks.

    Attributes
    ----------
    heading : str
        Heading above the block.
    kind : str
        Language behind the opening fence; "" for an indented block.
    text : str
        The block without its indentation.
    """

    heading: str
    kind: str
    text: str

    @property
    def first(self):
        """Its first line, less a comment: the name by which `not_run.toml` knows it."""
        return self.text.splitlines()[0].partition("  #")[0].rstrip()


def section(page, heading):
    """Text below a heading of a Markdown file, to the next one of its level or above."""
    text = (REPOSITORY / page).read_text(encoding="utf-8")
    found = re.search(rf"^(#+) {re.escape(heading)}\n", text, re.MULTILINE)
    assert found, f"{page} has no heading {heading!r}"
    after = text[found.end() :]
    end = re.search(rf"^#{{1,{len(found[1])}}} ", after, re.MULTILINE)
    return after[: end.start()] if end else after


def blocks(page, heading):
    """Texts of the blocks of a section, each as it is printed."""
    return [block.text for block in parsed(section(page, heading))]


def every_block(page):
    """All blocks of a page, with their headings."""
    return parsed((REPOSITORY / page).read_text(encoding="utf-8"))


def commands(page, heading=None):
    """Blocks of the shell of a page, or of a section."""
    found = every_block(page) if heading is None else parsed(section(page, heading))
    return [block for block in found if block.kind in ("", "sh")]


_PART = re.compile(
    r"^```(?P<kind>\w*)\n(?P<fenced>(?:(?!```).*\n)*)```"
    r"|^#+ (?P<heading>.+)"
    r"|(?P<indented>(?:^ {4}.*\n(?:[ \t]*\n(?= {4}))*)+)",
    re.MULTILINE,
)


def parsed(text):
    """Return the blocks of a text of Markdown."""
    found, heading = [], ""
    for part in _PART.finditer(text.rstrip("\n") + "\n"):
        if part["heading"] is not None:
            heading = part["heading"]
        elif part["fenced"] is not None:
            found.append(Block(heading, part["kind"], part["fenced"]))
        else:
            found.append(Block(heading, "", textwrap.dedent(part["indented"]).strip() + "\n"))
    return found


def command_lines(block):
    """Words of each command of a block of the shell; comments and pipes end a command."""
    joined = block.text.replace("\\\n", " ")
    for line in joined.splitlines():
        lexer = shlex.shlex(line, posix=True, punctuation_chars="|&;")
        lexer.whitespace_split = True
        command = []
        for word in [*lexer, "&&"]:
            if set(word) <= set("|&;"):
                if command:
                    yield command
                command = []
            else:
                command.append(word)
