"""Folders of pages, and queries for them."""

import html
import random

import polars as pl

import ssi_core as ssi
from ssi_core.collection import open_collection

HOSTILE = '<img src=x onerror="document.title = 1"> & "<b>"'


def encyclopedia(folder, documents=200):
    """Write a site of HTML with the pages and links of the sample, and the words of its links."""
    docs = ssi.read_sample(documents)
    words = pl.scan_parquet(open_collection(docs.path).relation("anchor"), glob=False).collect()
    wordings = {(source, target): text for source, target, text, _ in words.rows()}
    links = {}
    for source, target in docs.links.rows():
        links.setdefault(source, []).append(target)
    titles = dict(docs.frame.select("id", "title").rows())
    (folder / "wiki").mkdir(parents=True)
    for page, title, text in docs.frame.select("id", "title", "text").rows():
        leads = "".join(
            f'<li><a href="{one}.html">{html.escape(words)}</a></li>'
            for one in links.get(page, [])
            for words in [wordings.get((page, one), titles[one])]
        )
        (folder / f"wiki/{page}.html").write_text(
            f"<!doctype html><title>{html.escape(title)}</title><main>"
            f"<h1>{html.escape(title)}</h1><p>{html.escape(text)}</p><ul>{leads}</ul></main>"
        )
    return folder


def queries(site, count, seed=0):
    """Make queries of words of the pages, half of them while the last word is typed."""
    rng = random.Random(seed)
    made = []
    for number in range(count):
        title, _, text = rng.choice(site.pages)
        words = rng.choice([title, text]).split() or ["nothing"]
        first = rng.randrange(len(words))
        query = " ".join(words[first : first + rng.randint(1, 5)])
        if number % 2:
            query = query[: max(2, len(query) - rng.randint(0, 4))]
        made.append((query, number % 2 == 1))
    return made


def small(folder):
    """Write five pages in four scripts, of which one has a title that is markup."""
    pages = {
        "index.md": "# Start\n\n[Cars](cars.md), [strange](strange.md), [Hebrew](he.md)",
        "cars.md": "# Old cars\n\n## Wheels\n\nA car has four wheels. See [Start](index.md).",
        "strange.md": f"---\ntitle: '{HOSTILE}'\n---\n\nA strange page. [Cars](cars.md)",
        "he.md": "# מכונית ישנה\n\nלמכונית יש ארבעה גלגלים. [Cars](cars.md)",
        "el.md": "# ΣΊΣΥΦΟΣ Straße ﬁlm\n\nİstanbul café. [Cars](cars.md)",
    }
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder
