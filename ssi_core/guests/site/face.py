"""The search of a static site in Python: `site` writes it, `Site` reads it and ranks alike."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ssi_core.face.documents import Documents, read
from ssi_core.guests.site.addresses import STYLES, Addresses, root_of
from ssi_core.guests.site.learning import BUDGET, language_of, learn
from ssi_core.guests.site.ranking import SiteIndex
from ssi_core.guests.site.writing import require_ours, rule_of, write_site
from ssi_core.root import user_path
from ssi_core.strict import instead
from ssi_core.types import BadInput


@dataclass(frozen=True)
class Hit:
    """A page that was found.

    Attributes
    ----------
    title : str
        Its title.
    url : str
        Its address, relative to the root of the site.
    score : float
        The score, float64.
    page : int
        Its number in the index.
    """

    title: str
    url: str
    score: float
    page: int


class Site:
    """The search of a static site, as `site` or ``ssi site`` has written it.

    Parameters
    ----------
    directory : str or Path
        Directory of the files.

    Attributes
    ----------
    path : Path
        The directory.
    counts : dict
        Numbers of pages, words, files and bytes; empty where it was not written by this call.
    chosen : dict
        Settings that validation chose; empty where it was not written by this call.

    Raises
    ------
    BadInput
        The directory holds no search of a site.
    """

    def __init__(self, directory: str | Path) -> None:
        self._index = SiteIndex(user_path(directory))
        self.path = self._index.path
        self.counts: dict[str, int] = {}
        self.chosen: dict[str, Any] = {}

    def search(self, text: str, k: int = 10, *, typing: bool = False) -> list[Hit]:
        """Return the best pages, with the scores of the program in a browser.

        Parameters
        ----------
        text : str
            The query.
        k : int
            Number of pages at most.
        typing : bool
            Whether the last word is still typed, so that it stands for all words that begin so.
        """
        hits = []
        for page, score in self._index.rank(text, typing=typing)[:k]:
            title, url, _ = self._index.pages[page]
            hits.append(Hit(title, url, score, page))
        return hits

    def __len__(self) -> int:
        return len(self._index)

    def __repr__(self) -> str:
        return f"Site of {len(self):,} pages, {self.path}"


def site(
    folder: str | Path | Documents,
    out: str | Path,
    *,
    root: str | None = None,
    addresses: Addresses = "html",
    language: str | None = None,
    budget: int = BUDGET,
    random_state: int = 0,
) -> Site:
    r"""Write a search of a static site: files that a browser ranks by, without a server.

    A page's score is BM25F over its fields and the phrases of its names, times how far it answers
    the whole query (`matching`), plus a latent part that is learnt on the site's own links, titles
    and headings, if that is a gain on held-out wordings of the links::

        f(q, d) = (sum_i (k3 + 1) q_i / (k3 + q_i) * w_i(d) + p(q, d)) * m(q, d) + <u, V d>
        u = sum_i idf_i U_i / sqrt(sum_i idf_i^2)

    over the words i of a query, with w_i(d) in 255 steps, and idf_i U_i and V d in steps of int8.

    Parameters
    ----------
    folder : str, Path or Documents
        Folder of Markdown or of a built site, with links between its pages.
    out : str or Path
        Directory to write; an earlier search there is replaced.
    root : str, optional
        Address of the pages, relative to ``out`` or a whole one. By default the place of ``folder``
        above ``out``, or else ``"../"``.
    addresses : str, optional
        Address of ``guide/intro.md``: "html" (``guide/intro.html``), "folders" (``guide/intro/``),
        "bare" (``guide/intro``) or "files" (``guide/intro.md``). Pages of HTML have their paths.
    language : str, optional
        Code of the language, by default guessed from the script.
    budget : int, optional
        Triples of each of three trainings; 0: BM25F alone.
    random_state : int, optional
        Seed; the same pages and seed give the same bytes.

    Raises
    ------
    BadInput
        There is no page or no link, or the language needs a dictionary.
    Refused
        ``out`` holds something else.

    Examples
    --------
    >>> from pathlib import Path
    >>> import ssi_core as ssi
    >>> Path("pages").mkdir()
    >>> _ = Path("pages/car.md").write_text("# Car\n\nIt has [wheels](wheel.md) and an engine.")
    >>> _ = Path("pages/wheel.md").write_text("# Wheel\n\nIt turns on an axle.")
    >>> found = ssi.site("pages", "pages/search").search("wheels")
    >>> [hit.url for hit in found]
    ['wheel.html', 'car.html']
    """
    if addresses not in STYLES:
        raise BadInput(f"addresses: no style {instead(addresses, STYLES)}")
    path = user_path(out)
    require_ours(path)
    if isinstance(folder, Documents):
        documents = folder
    else:
        documents = read(folder, source="folder", language=language)
        if root is None:
            root = root_of(user_path(folder).resolve(), path.resolve())
    rule_of(language_of(documents))
    learnt = learn(documents, budget=budget, seed=random_state)
    counts = write_site(learnt, path, root=root or "../", addresses=addresses)
    written = Site(path)
    written.counts, written.chosen = counts, dict(learnt.facts)
    return written
