"""The search of a static site in Chromium beside Pagefind, lunr and MiniSearch.

    python -m benchmarks.static_sites FOLDER QUERIES QRELS [FOLDER QUERIES QRELS ...] --out FILE

A folder is one of Markdown; queries (id, query) and judgements (query, document, grade) are tables
with tabs, or ``-`` where there are none. Of each site titles and headings without some of their
words are asked, too ("known"), where the page that has them is right: queries of this kind, of
another draw, chose the constants of ``ssi site``. The peers come from npm with their default
settings, into a temporary folder or that of ``--peers``; one that is missing is left out with a
message. Pagefind reads the pages as HTML, each with a first-level heading; lunr and MiniSearch read
title and text, as the examples of their documentation do. All answers of ``ssi site`` and of
Pagefind are those of Chromium; those of ``ssi serve`` are of its searcher. ``docs/site.md`` shows
the table.
"""

from __future__ import annotations

import argparse
import gzip
import html
import json
import random
import re
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from statistics import median
from typing import Any

import cmarkgfm
import numpy as np
import polars as pl

import ssi_core as ssi
from benchmarks.sites import by_query, searched
from ssi_core.evaluation.significance import paired_randomisation
from ssi_core.files import write_result
from ssi_core.guests.site import learning
from ssi_core.guests.site.ranking import SiteIndex
from tests.flows.browser import Browser
from tests.guests.site.made import queries as made_queries

PACKAGES = ("pagefind", "lunr", "minisearch")
DEPTH = 10
KNOWN, KNOWN_SEED = 100, 42
"""Titles and headings that are drawn, and their seed."""
FIRST_ANSWERS = 60
"""Queries whose first answer is weighed, where a site has no typed ones."""
AT_ONCE = 10
"""Queries of one call of the browser, which has a limit of time."""
EQUAL = 1000
"""Queries whose rankings in Chromium and in Python are compared."""
OURS = "ssi site"
SERVED = "ssi serve"
_FRONT = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)
_BEGINS = re.compile(r"\A\s*<h[2-6]>(.*?)</h[2-6]>", re.DOTALL)
_PAGEFIND = """(async () => {
  const pagefind = await import("/pagefind/pagefind.js");
  const found = {};
  for (const [id, text] of %s) {
    const {results} = await pagefind.search(text);
    const best = await Promise.all(results.slice(0, 10).map((one) => one.data()));
    found[id] = best.map((one) => one.url);
  }
  return JSON.stringify(found);
})()"""
_LUNR = """
const lunr = require("lunr");
const {pages, queries} = JSON.parse(require("fs").readFileSync(0, "utf8"));
const index = lunr(function () {
  this.ref("id"); this.field("title"); this.field("text");
  for (const page of pages) this.add(page);
});
const asked = (text) => {
  try { return index.search(text); }
  catch { return index.query((q) => lunr.tokenizer(text).forEach((one) => q.term(`${one}`))); }
};
const bytes = Buffer.byteLength(JSON.stringify(index));
const found = Object.fromEntries(Object.entries(queries).map(([id, text]) =>
  [id, asked(text).slice(0, 10).map((hit) => hit.ref)]));
console.log(JSON.stringify({found, bytes}));
"""
_MINISEARCH = """
const MiniSearch = require("minisearch");
const {pages, queries} = JSON.parse(require("fs").readFileSync(0, "utf8"));
const index = new MiniSearch({fields: ["title", "text"]});
index.addAll(pages);
const bytes = Buffer.byteLength(JSON.stringify(index));
const found = Object.fromEntries(Object.entries(queries).map(([id, text]) =>
  [id, index.search(text).slice(0, 10).map((hit) => hit.id)]));
console.log(JSON.stringify({found, bytes}));
"""


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *said: object) -> None:
        pass


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve a folder, and yield its address."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(folder))) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def as_html(folder: Path, documents: ssi.Documents, out: Path) -> None:
    """Write the pages of a folder as a generator of sites does, with the title as first heading."""
    for page, title in documents.frame.select("id", "title").rows():
        text = _FRONT.sub("", (folder / page).read_text(encoding="utf-8"))
        body = titled(cmarkgfm.github_flavored_markdown_to_html(text), title)
        path = out / f"{page}.html"
        path.parent.mkdir(parents=True, exist_ok=True)
        head = f'<!doctype html><html lang="en"><title>{html.escape(title)}</title>'
        path.write_text(f"{head}<body><main>{body}</main>", encoding="utf-8")


def titled(body: str, title: str) -> str:
    """Return HTML that has a first-level heading: the one that begins it, or else the title.

    >>> titled("<h2>Loops</h2><p>Text", "Loops"), titled("<p>Text", "Loops")
    ('<h1>Loops</h1><p>Text', '<h1>Loops</h1><p>Text')
    """
    if "<h1>" in body:
        return body
    raised, found = _BEGINS.subn(r"<h1>\1</h1>", body, count=1)
    return raised if found else f"<h1>{html.escape(title)}</h1>{body}"


def with_pagefind(peers: Path, pages: Path, queries: Mapping[str, str], browser: Browser) -> Any:
    """Return the run of Pagefind, and its build's seconds."""
    program = peers / "node_modules/.bin/pagefind"
    before = time.perf_counter()
    subprocess.run([program, "--site", pages], check=True, capture_output=True)
    seconds = time.perf_counter() - before
    (pages / "asks.html").write_text("<!doctype html><title>Asks</title>")
    found: dict[str, list[str]] = {}
    with served(pages) as address:
        browser.open(f"{address}/asks.html")
        asked = list(queries.items())
        for first in range(0, len(asked), AT_ONCE):
            found |= json.loads(browser.run(_PAGEFIND % json.dumps(asked[first : first + AT_ONCE])))
    run = {id: [_page_of(url) for url in urls] for id, urls in found.items()}
    return run, {"seconds": seconds}


def _page_of(url: str) -> str:
    return url.lstrip("/").removesuffix(".html")


def with_node(
    peers: Path, source: str, documents: ssi.Documents, queries: Mapping[str, str]
) -> Any:
    """Return the run of a program of JavaScript, and the bytes of its index."""
    asked = {
        "pages": documents.frame.select("id", "title", "text").to_dicts(),
        "queries": dict(queries),
    }
    said = subprocess.run(
        ["node", "--max-old-space-size=4096", "-e", source],
        cwd=peers, input=json.dumps(asked), text=True, capture_output=True, check=True,
    )  # fmt: skip
    value = json.loads(said.stdout)
    return value["found"], {"index_bytes": value["bytes"]}


def known_items(
    documents: ssi.Documents, number: int = KNOWN, seed: int = KNOWN_SEED
) -> tuple[dict[str, str], pl.DataFrame]:
    """Draw titles and headings without some of their words, and the pages that have them."""
    pages: dict[str, set[str]] = {}
    for page, title, headings in documents.frame.select("id", "title", "headings").rows():
        for name in {title, *(headings or "").split("\n")}:
            pages.setdefault(name.lower(), set()).add(page)
    rng = random.Random(seed)
    several = sorted(n for n, of in pages.items() if len(of) <= 3 and len(_words(n)) >= 3)
    queries, judged = {}, []
    for place, name in enumerate(rng.sample(several, min(number, len(several)))):
        words = _words(name)
        most = max(1, len(words) // 2)
        kept = sorted(rng.sample(range(len(words)), len(words) - rng.randint(1, most)))
        queries[f"known{place}"] = " ".join(words[i] for i in kept)
        judged += [(f"known{place}", page, 2) for page in sorted(pages[name])]
    return queries, pl.DataFrame(judged, ["query", "document", "grade"], orient="row")


def _words(name: str) -> list[str]:
    return [word for word in name.split() if any(map(str.isalnum, word))]


def with_ours(
    path: Path,
    pages: Sequence[str],
    queries: Mapping[str, str],
    weighed: Sequence[str],
    browser: Browser,
) -> Any:
    """Return the run in Chromium, and what it costs: bytes, milliseconds, equal rankings."""
    (path / "asks.html").write_text('<!doctype html><script src="search/ssi-search.js"></script>')
    index, facts = SiteIndex(path / "search"), {}
    asked = json.dumps(list(queries.values()))
    with served(path) as address:
        sizes: list[tuple[int, int]] = []
        for text in weighed:
            browser.open(f"{address}/asks.html?{len(sizes)}")
            browser.wait("globalThis.ssi")
            browser.run(f"ssi.search({json.dumps(text)}, 8, true)")
            names = browser.run(
                "performance.getEntriesByType('resource').map((one) => new URL(one.name).pathname)"
                ".filter((one) => one.startsWith('/search/'))"
            )
            files = [(path / name.lstrip("/")).read_bytes() for name in names]
            sizes.append((sum(map(len, files)), sum(len(gzip.compress(one)) for one in files)))
        facts["first_answer_bytes"] = [round(median(one)) for one in zip(*sizes, strict=True)]
        facts["first_answer_most"] = [max(one) for one in zip(*sizes, strict=True)]
        timed = f"""(async () => {{
          const found = [], times = [];
          for (const round of [0, 1]) for (const text of {asked}) {{
            const begin = performance.now();
            const hits = await ssi.search(text, {DEPTH});
            times.push(performance.now() - begin);
            if (round) found.push(hits.map((hit) => hit.page));
          }}
          return JSON.stringify({{found, times}});
        }})()"""
        said = json.loads(browser.run(timed))
        half = len(queries)
        facts["ms_loading"] = median(said["times"][:half])
        facts["ms_loaded"] = [median(said["times"][half:]), max(said["times"][half:])]
        several = [(text, False) for text in queries.values()]
        several += made_queries(index, EQUAL - len(several))
        theirs = []
        for first in range(0, len(several), 10 * AT_ONCE):
            some = json.dumps(several[first : first + 10 * AT_ONCE])
            script = f"""Promise.all({some}.map(([text, typing]) => ssi.rank(text, typing)))
              .then((all) => JSON.stringify(all))"""
            theirs += json.loads(browser.run(script))
        facts["equal"] = sum(
            [tuple(hit) for hit in one] == index.rank(text, typing=typing)
            for one, (text, typing) in zip(theirs, several, strict=True)
        )
    run = {id: [pages[n] for n in hits] for id, hits in zip(queries, said["found"], strict=True)}
    return run, facts


def with_service(documents: ssi.Documents, queries: Mapping[str, str], out: Path) -> Any:
    """Return what `ssi serve` answers with the model that `ssi fit` makes for a search box."""
    return searched(ssi.fit(documents).save(out), queries), {}


def beside_float32(learnt: learning.Learnt, index: SiteIndex, task: ssi.Task) -> dict[str, Any]:
    """Compare the rankings of int8 and of float32, on held-out wordings (or titles) of the test."""
    names, documents = task.data.queries.titles, task.data.documents.ids
    right: dict[str, set[str]] = {}
    for query, document in task.data.test.rows.tolist():
        right.setdefault(names[query], set()).add(documents[document])
    ids, ranks, overlap = learnt.pages["id"], [], []
    for text, pages in right.items():
        exact = learnt.ranked(text)
        rounded = [page for page, _ in index.rank(text)]
        if exact:
            overlap.append(len({*exact[:10]} & {*rounded[:10]}) / len(exact[:10]))
        ranks.append([_reciprocal(ids, one, pages) for one in (exact, rounded)])
    float32, int8 = np.mean(ranks, axis=0).tolist()
    return {
        "queries": len(right),
        "overlap_at_10": float(np.mean(overlap)),
        "mrr_float32": float32,
        "mrr_int8": int8,
    }


def _reciprocal(ids: Sequence[str], ranked: Sequence[int], right: set[str]) -> float:
    return next((1 / n for n, page in enumerate(ranked, 1) if ids[page] in right), 0.0)


def one_site(
    folder: Path, asked: str, judged: str, peers: Path, browser: Browser
) -> tuple[dict[str, Any], dict[str, dict[str, dict[str, np.ndarray]]]]:
    """Measure all engines on a site: what it costs, and values by kind of query and engine."""
    kinds = {"known": known_items(ssi.read(folder))}
    if asked != "-":
        tables = [pl.read_csv(one, separator="\t", quote_char=None) for one in (asked, judged)]
        kinds["typed"] = dict(tables[0].select("id", "query").rows()), tables[1]
    queries = {id: text for several, _ in kinds.values() for id, text in several.items()}
    weighed = list(kinds["typed" if "typed" in kinds else "known"][0].values())[:FIRST_ANSWERS]
    with tempfile.TemporaryDirectory() as work:
        path, pages = Path(work) / "ours", Path(work) / "html"
        path.mkdir()
        before, processor = time.perf_counter(), time.process_time()
        written = ssi.site(folder, path / "search")
        facts: dict[str, Any] = {
            OURS: {
                "seconds": time.perf_counter() - before,
                "cpu_seconds": time.process_time() - processor,
                **written.counts,
            }
        }
        documents = ssi.read(folder)
        as_html(folder, documents, pages)
        learnt = learning.learn(documents)
        task = learning.task_of(documents)
        facts[OURS] |= {"chosen": written.chosen}
        facts[OURS] |= beside_float32(learnt, SiteIndex(path / "search"), task)
        ids = learnt.pages["id"].to_list()
        engines: dict[str, Callable[[], Any]] = {
            OURS: lambda: with_ours(path, ids, queries, weighed, browser),
            SERVED: lambda: with_service(documents, queries, Path(work) / "model"),
            "Pagefind": lambda: with_pagefind(peers, pages, queries, browser),
            "lunr": lambda: with_node(peers, _LUNR, documents, queries),
            "MiniSearch": lambda: with_node(peers, _MINISEARCH, documents, queries),
        }
        values: dict[str, dict[str, dict[str, np.ndarray]]] = {kind: {} for kind in kinds}
        for name, engine in engines.items():
            try:
                run, cost = engine()
            except (OSError, subprocess.CalledProcessError) as error:
                if name == OURS:
                    raise
                print(f"{name} is left out: {error}")
                continue
            facts.setdefault(name, {}).update(cost)
            for kind, (several, right) in kinds.items():
                values[kind][name] = by_query(run, right, list(several))
    return facts, values


def installed(path: Path) -> Path:
    """Install the peers, where they are not."""
    if not (path / "node_modules/lunr").is_dir() and shutil.which("npm"):
        path.mkdir(parents=True, exist_ok=True)
        subprocess.run(
            ["npm", "install", "--no-audit", "--no-fund", "--prefix", path, *PACKAGES], check=False
        )
    return path


def rows(values: Sequence[Mapping[str, Mapping[str, np.ndarray]]]) -> dict[str, Any]:
    """Return means over the queries of all sites, and the differences from ours."""
    names = [name for name in values[0] if all(name in one for one in values)]
    pooled = {
        name: {key: np.concatenate([one[name][key] for one in values]) for key in values[0][name]}
        for name in names
    }
    ours = pooled[OURS]
    return {
        name: {
            key: {"mean": float(one.mean()), **_difference(ours[key], one)}
            for key, one in several.items()
        }
        for name, several in pooled.items()
    }


def _difference(ours: np.ndarray, theirs: np.ndarray) -> dict[str, Any]:
    """Return how much higher ours is, its paired 95 % interval, and p."""
    gain = ours - theirs
    if not gain.any():
        return {}
    half = 1.96 * gain.std(ddof=1) / np.sqrt(len(gain))
    interval = [float(gain.mean() - half), float(gain.mean() + half)]
    return {"ours_more": float(gain.mean()), "interval": interval,
            "p": paired_randomisation(ours, theirs)}  # fmt: skip


def main(argv: Sequence[str] | None = None) -> None:
    """Measure, print, and write the result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sites", nargs="+")
    parser.add_argument("--peers", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args(argv)
    if len(options.sites) % 3:
        parser.error("give a folder, its queries and its judgements, for each site")
    sites = [options.sites[n : n + 3] for n in range(0, len(options.sites), 3)]
    result: dict[str, Any] = {"sites": {}, "together": {}}
    with tempfile.TemporaryDirectory() as work, Browser() as browser:
        peers = installed(options.peers or Path(work))
        values: dict[str, list[Any]] = {}
        for folder, asked, judged in sites:
            facts, of_kinds = one_site(Path(folder), asked, judged, peers, browser)
            of_site = {kind: rows([value]) for kind, value in of_kinds.items()}
            result["sites"][Path(folder).name] = {"facts": facts, "rows": of_site}
            for kind, value in of_kinds.items():
                values.setdefault(kind, []).append(value)
    result["together"] = {kind: rows(several) for kind, several in values.items()}
    write_result(options.out, result)
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
