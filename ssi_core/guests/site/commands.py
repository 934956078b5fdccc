"""The verb ``site``: the search of a static site."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ssi_core.command.fields import DIRECTORY, NEW_DIRECTORY, argument, option
from ssi_core.command.options import SEED
from ssi_core.command.verb import Outcome, verb
from ssi_core.guests.site.addresses import Addresses

if TYPE_CHECKING:
    from rich.console import Console


@dataclass(frozen=True, kw_only=True)
class SiteSettings:
    """Settings of ``ssi site``."""

    folder: Path = argument("FOLDER", type=DIRECTORY)
    out: Path = option(
        ...,
        "Directory to write, which is published with the site. A search that is already there is "
        "replaced.",
        type=NEW_DIRECTORY,
    )
    site_root: str | None = option(
        None,
        "Address of the pages, relative to --out or a whole one. [default: the place of FOLDER "
        "above --out, else ../]",
        metavar="URL",
    )
    addresses: Addresses = option(
        "html",
        "Address of guide/intro.md: guide/intro.html (html), guide/intro/ (folders), guide/intro "
        "(bare) or guide/intro.md (files). Pages of HTML have their own.",
    )
    language: str | None = option(None, "Code of the language. [default: guessed from the script]")
    budget: int = option(
        400_000, "Triples of each of the three trainings. 0: no training.", metavar="TRIPLES", ge=0
    )
    seed: int = SEED


@verb(
    SiteSettings,
    examples=(
        "ssi site public/ --out public/search",
        "ssi site docs/ --out public/search --addresses folders",
    ),
)
def site(given: SiteSettings) -> Outcome:
    r"""Write a search for a static site, which needs no server.

    FOLDER holds the pages, as HTML of a site's generator or as Markdown, with links between them.
    The ranking is BM25F over titles, headings, addresses, words of links and texts, plus a part
    that is learnt on the site's own links, if held-out words of links are answered better with it.

    \b
    In each page:
      <script src="search/ssi-search.js" defer></script>
      <ssi-search></ssi-search>

    In Python: ssi.site(FOLDER, DIR).
    """
    from ssi_core.guests.site.face import site as written

    made = written(
        given.folder,
        given.out,
        root=given.site_root,
        addresses=given.addresses,
        language=given.language,
        budget=given.budget,
        random_state=given.seed,
    )
    value: dict[str, Any] = {"path": str(made.path), **made.counts, "chosen": made.chosen}

    def show(console: Console) -> None:
        counts = made.counts
        console.print(
            f"{made.path}: {counts['pages']:,} pages, {counts['words']:,} words, "
            f"{counts['files']:,} files, {counts['bytes'] / 1e6:.1f} MB"
        )
        console.print(f"  {_told(made.chosen)}")

    return Outcome(value, show)


def _told(chosen: dict[str, Any]) -> str:
    if "queries" not in chosen:
        return "BM25F with its defaults: there are too few pages to choose by."
    asked = {"anchors": "words of links", "titles": "titles"}.get(chosen["queries"], "words")
    with_latent = "with" if chosen["latent"] else "without"
    return f"BM25F {with_latent} a latent part, chosen on held-out {asked}."
