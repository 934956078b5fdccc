"""What it costs to search all words of all fields, beside the 30,000 most frequent of the text.

    python -m benchmarks.vocabulary 10000 100000

A made-up collection of each size is read in both ways; the stages run one after the other, each in
a process of its own: the task, BM25 and 200,000 triples of `U'V + D` with an index, and 200
searches. Words of the made-up texts follow Zipf's law, so that rare words are as many as in an
encyclopedia.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.memory import measure
from benchmarks.zipf import COMMAND

WAYS = {"30,000 words": ("30000", "text"), "all words": ("all", "text,title,headings,url,anchors")}
SEARCHES = 200

TASK = """
import ssi_core as ssi
words, fields = {words!r}, {fields!r}.split(",")
words = words if words == "all" else int(words)
docs = ssi.read({place!r} + "/corpus")
views = ["counts", "sublinear", "sublinear:50@30000"]
print(ssi.Task.of(docs, "link", words=words, fields=fields, views=views, out={out!r} + "/task"))
"""
FIT = """
import ssi_core as ssi
task = ssi.Task.open({out!r} + "/task")
docs = ssi.read({place!r} + "/corpus")
model = {model}.fit(task)
model.index(docs, out={out!r} + "/{name}-index")
model.save({out!r} + "/{name}")
"""
SEARCH = """
import ssi_core as ssi
docs = ssi.read({place!r} + "/corpus")
index = ssi.load({out!r} + "/{name}").index(docs, out={out!r} + "/{name}-index")
texts = [" ".join(text.split()[:3]) for text in docs.frame["text"].head({searches})]
for text in texts: index.search(text)
"""
MODELS = {"bm25": "ssi.BM25()", "ssi": "ssi.SSI(budget=200_000, patience=1000)"}


def stages(path: Path, out: Path, words: str, fields: str) -> list[tuple[str, str]]:
    """Return the name and the program of each stage."""
    known = {"place": str(path), "out": str(out), "words": words, "fields": fields}
    programs = [("task", TASK.format(**known))]
    for name, model in MODELS.items():
        named = {**known, "name": name, "model": model, "searches": SEARCHES}
        programs.append((f"{name}, index", FIT.format(**named)))
        programs.append((f"{name}, {SEARCHES} searches", SEARCH.format(**named)))
    return programs


def main(argv: Sequence[str] | None = None) -> None:
    """Print a line of Markdown for each stage."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("documents", type=int, nargs="+")
    for documents in parser.parse_args(argv).documents:
        with TemporaryDirectory(prefix="ssi-vocabulary-") as temporary:
            place = Path(temporary)
            command = (sys.executable, "-c", COMMAND, "data", "ingest", "zipf")
            measure([*command, f"--size={documents}", f"--out={place / 'corpus'}"])
            for way, (words, fields) in WAYS.items():
                out = place / words
                out.mkdir()
                for name, program in stages(place, out, words, fields):
                    used = measure([sys.executable, "-c", program], limit=16 << 30)
                    size = sum(one.stat().st_size for one in out.rglob("*") if one.is_file())
                    print(
                        f"| {documents:,} | {way} | {name} | {used.cpu_seconds:.1f} | "
                        f"{used.peak / 2**30:.2f} | {size / 2**20:.0f} |",
                        flush=True,
                    )


if __name__ == "__main__":
    main()
