"""Readers against inputs that nobody meant: only the documented errors, in bounded time and memory.

``SSI_FUZZ_EXAMPLES`` sets how many inputs each reader gets (`make fuzz`: 2,000); how many it got is
printed (``pytest -s``). Every input has a few seconds of a processor, then the alarm goes off.
"""

from __future__ import annotations

import bz2
import copy
import functools
import json
import os
import random
import resource
import shutil
import tomllib
from collections import Counter
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from ssi_core import store
from ssi_core.arrays import load_array
from ssi_core.corpus.tables.parquet import parquet_batches
from ssi_core.datasets.wikipedia.dump import read_pieces, read_site
from ssi_core.datasets.wikipedia.pages import read_pages
from ssi_core.datasets.wikipedia.titles import read_target
from ssi_core.datasets.wikipedia.wikitext import links, read_wikitext, strip_anchor
from ssi_core.experiment import load_table, parse_table
from ssi_core.models import load_model
from ssi_core.serving.index import open_index
from ssi_core.tasks.task import open_task
from ssi_core.text.wording import wording_of
from ssi_core.types import BadInput
from ssi_core.views.text_view import load_view
from tests.datasets import dumps
from tests.robust.tally import Hangs, alarm

EXAMPLES = int(os.environ.get("SSI_FUZZ_EXAMPLES", "40"))
SECONDS = 20
MEMORY = 2 << 30
TRIED: Counter[str] = Counter()
REFUSED: Counter[str] = Counter()

fuzz = settings(
    max_examples=EXAMPLES,
    deadline=None,
    database=None,
    derandomize="SSI_FUZZ_EXAMPLES" not in os.environ,
    phases=(Phase.explicit, Phase.generate, Phase.shrink),
    suppress_health_check=list(HealthCheck),
)


def guarded(test):
    """Count an input, take `BadInput` for an answer, and set an alarm over it."""

    @functools.wraps(test)
    def run(*args, **kwargs):
        TRIED[test.__name__] += 1
        said = ""
        try:
            with alarm(SECONDS):
                test(*args, **kwargs)
        except BadInput as error:
            REFUSED[test.__name__] += 1
            said = str(error)
        except Hangs as hang:  # as an error, of which Hypothesis shows the input
            raise AssertionError(f"{test.__name__}: {hang}") from hang
        assert len(said) < 2000

    return run


@pytest.fixture(scope="module", autouse=True)
def _bounded():
    """Limit the memory of the readers, and report what was tried."""
    limits = resource.getrlimit(resource.RLIMIT_DATA)
    used = next(
        int(line.split()[1]) << 10
        for line in Path("/proc/self/status").read_text().splitlines()
        if line.startswith("VmData:")
    )
    resource.setrlimit(resource.RLIMIT_DATA, (used + MEMORY, limits[1]))
    yield
    resource.setrlimit(resource.RLIMIT_DATA, limits)
    for name in sorted(TRIED):
        print(f"\n{name}: {TRIED[name]:,} inputs, {REFUSED[name]:,} refused", end="")
    print(f"\nfuzzed with {sum(TRIED.values()):,} inputs")


# --- damage ---


@st.composite
def damaged(draw, data: bytes, tokens: tuple[bytes, ...] = ()):
    """Bytes with a few flips, cuts, splices, and repeated or foreign pieces."""
    rng = random.Random(draw(st.integers(0, 2**64 - 1)))
    spoilt = bytearray(data)
    for _ in range(draw(st.integers(1, 6))):
        kind = draw(st.sampled_from(("flip", "cut", "drop", "splice", "insert", "noise")))
        at, to = sorted(rng.randrange(len(spoilt) + 1) for _ in range(2))
        to = min(to, at + rng.choice((1, 10, 1000)))
        if kind == "flip" and spoilt:
            spoilt[at % len(spoilt)] ^= 1 << rng.randrange(8)
        elif kind == "cut":
            del spoilt[max(to, len(spoilt) - rng.choice((1, 100, 10_000))) :]
        elif kind == "drop":
            del spoilt[at:to]
        elif kind == "splice":
            here = rng.randrange(len(spoilt) + 1)
            spoilt[here:here] = spoilt[at:to] * rng.choice((1, 2, 50))
        elif kind == "insert" and tokens:
            spoilt[at:at] = rng.choice(tokens) * rng.choice((1, 3, 500))
        else:
            spoilt[at:to] = rng.randbytes(to - at)
    return bytes(spoilt)


def real_pages(most: int = 40) -> list[str]:
    """Wikitext of the real excerpt, where there is one, and of the small pages here."""
    found = [page.text for page in _pages_of(_small())]
    root = os.environ.get("SSI_REAL_DATA")
    dump = Path(root or "/nowhere", "wiki-dumps", "simplewiki-minidump.xml.bz2")
    if dump.exists():
        found += [page.text for page in _pages_of(dump)][:most]
    return found


@functools.cache
def _small() -> Path:
    import tempfile

    path = Path(tempfile.mkdtemp()) / "enwiki-1.xml.bz2"
    return dumps.write(path, dumps.xml(*dumps.many(30), dumps.page(99, "Markup", _MARKUP)))


def _pages_of(path: Path):
    read_site(path)
    return [page for piece in read_pieces(path, 5000) for page in read_pages(piece)]


_MARKUP = """'''A''' [[b|c]] {{t|{{u}}|x=[[d]]}} <ref name=a>e</ref><ref name="b" />
{| class="x"
|-
| cell || [[f]]
|}
[[File:x.jpg|thumb|caption [[g]] {{h}}]] <nowiki>[[i]]</nowiki> <!-- [[j]] --> http://k.org
[l://m n]
== Head ==
* item &amp; &#91; &nbsp; <math>x</math> <pre>{{y}}</pre> __TOC__ ----
[[Category:Z]] [[fr:Z]] <gallery>
File:q.jpg|[[r]]
</gallery>"""

TOKENS = (
    *("[[", "]]", "{{", "}}", "{|", "|}", "\n|-", "\n|", "|", "<ref", "<ref>", "</ref>", "<ref/>"),
    *("<!--", "-->", "<nowiki>", "</nowiki>", "<pre>", "</pre>", "<math>", "</math>", "<", ">"),
    *("''", "'''''", "==", "\n==", "\n*", "\n:", "\n#", "----", "__TOC__", "&amp;", "&#x110000;"),
    *("&#", "[[File:", "[[Category:", "[[:", "[http://", "https://", "<gallery>", "</gallery>"),
    *("<table", "</table>", "{{{", "}}}", "[[[[", "\0", "\ud800", "\u200e", "é", "日本", "\n", " "),
)


# --- wikitext ---


@fuzz
@given(text=st.lists(st.sampled_from(TOKENS) | st.text(max_size=8), max_size=60).map("".join))
@guarded
def test_wikitext_of_tokens(text):
    check_wikitext(text)


@functools.cache
def _real() -> tuple[bytes, ...]:
    return tuple(text.encode() for text in real_pages() if text) or (_MARKUP.encode(),)


@fuzz
@given(data=st.data())
@guarded
def test_wikitext_of_damaged_pages(data):
    page = data.draw(st.sampled_from(range(len(_real()))))
    tokens = tuple(token.encode(errors="replace") for token in TOKENS)
    text = data.draw(damaged(_real()[page], tokens)).decode(errors="replace")
    check_wikitext(text)


def check_wikitext(text: str) -> None:
    words, found = read_wikitext(text)
    assert len(words) <= 2 * len(text) + 10
    assert list(links(text)) == found
    for target, anchor in found:
        wording_of(strip_anchor(anchor))
        read_target(target, SITE)


SITE = read_site(_small())


# --- dumps ---


@functools.cache
def _dump_bytes(packed: bool) -> bytes:
    data = _small().read_bytes()
    return data if packed else bz2.decompress(data)


@fuzz
@given(data=st.data(), packed=st.booleans(), repacked=st.booleans())
@guarded
def test_damaged_dumps(tmp_path_factory, data, packed, repacked):
    tokens = (b"<page>", b"</page>", b"<title>", b"</mediawiki>", b"&#x0;", b"<![CDATA[", b"]]>")
    tokens += (b"<!DOCTYPE", b"<text>", b"<id>9999999999999999999999</id>", b"\xff\xfe", b"<?xml")
    content = data.draw(damaged(_dump_bytes(packed), tokens))
    if repacked and not packed:
        content = bz2.compress(content)
    path = _scratch(tmp_path_factory) / f"enwiki.xml{'.bz2' if packed or repacked else ''}"
    path.write_bytes(content)
    pages = _pages_of(path)
    assert all(page.title for page in pages)
    assert len(pages) < 10_000


# --- tables ---


def _tables() -> list[str]:
    folder = Path(__file__).parents[2] / "flows" / "tables"
    return [path.read_text() for path in sorted(folder.glob("*.toml"))]


@fuzz
@given(data=st.data())
@guarded
def test_damaged_tables(tmp_path_factory, data):
    text = data.draw(st.sampled_from(_tables())).encode()
    tokens = (b"[[rows]]\n", b"[tasks.x]\n", b"= nan\n", b"= 1e999\n", b"= []\n", b"= {}\n", b'"')
    path = _scratch(tmp_path_factory) / "my.toml"
    path.write_bytes(data.draw(damaged(text, (*tokens, b"[", b"\n", b"9" * 30, b"= 1979-05-27\n"))))
    check_table(load_table(path, Path(__file__).parents[2] / "flows" / "tables"))


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.dates(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)


@fuzz
@given(data=st.data())
@guarded
def test_tables_with_foreign_values(data):
    said = tomllib.loads(data.draw(st.sampled_from([t for t in _tables() if "extends" not in t])))
    said = copy.deepcopy(said)
    for _ in range(data.draw(st.integers(1, 3))):
        place = said
        while isinstance(place, dict | list) and place:
            keys = list(place) if isinstance(place, dict) else range(len(place))
            key = data.draw(st.sampled_from(keys))
            if (
                not isinstance(place[key], dict | list)
                or not place[key]
                or data.draw(st.booleans())
            ):
                place[key] = data.draw(VALUES)
                break
            place = place[key]
    check_table(parse_table(said, "fuzzed"))


def check_table(table) -> None:
    for row in table.rows:
        row.ranker()
    # By their spelling: a NaN, which a table may hold, is not equal to itself.
    assert repr(parse_table(table.to_dict())) == repr(table)


# --- artefacts, views, models, arrays ---


# numpy tells of an old name of a type in a damaged header, which is refused.
@pytest.mark.filterwarnings("ignore:Data type alias:DeprecationWarning")
@fuzz
@given(data=st.data())
@guarded
def test_damaged_directories(project, tmp_path_factory, data):
    """One file of a task or a model is damaged: it opens, or it is refused; nothing else."""
    kind, reader = data.draw(st.sampled_from(READERS))
    every = [path for path in sorted((project / kind).rglob("*")) if path.is_file()]
    chosen = data.draw(st.sampled_from(every))
    place = _scratch(tmp_path_factory) / "spoilt"
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(project / kind, place)
    spoilt = place / chosen.relative_to(project / kind)
    spoilt.write_bytes(data.draw(damaged(chosen.read_bytes(), (b"{", b"}", b'"', b"null", b"9"))))
    reader(place)


READERS = (
    ("task", open_task),
    ("task/view", load_view),
    ("model", load_model),
    ("model/index", open_index),
    ("corpus", store.read),
    ("corpus/documents", lambda d: [list(parquet_batches(path)) for path in sorted(d.glob("*"))]),
)


@fuzz
@given(said=VALUES | st.dictionaries(st.sampled_from(("kind", "key", "counts", "parents")), VALUES))
@guarded
def test_foreign_manifests(tmp_path_factory, said):
    path = _scratch(tmp_path_factory) / "artefact.json"
    path.write_text(json.dumps(said, default=str))
    store.read(path.parent)


@fuzz
@given(array=st.sampled_from((np.zeros((3, 4), np.float32), np.arange(9), np.array(["a"]))),
       data=st.data())  # fmt: skip
@guarded
def test_damaged_arrays(tmp_path_factory, array, data):
    path = _scratch(tmp_path_factory) / "array.npy"
    np.save(path, array)
    path.write_bytes(
        data.draw(damaged(path.read_bytes(), (b"(9999999999,)", b"'|O'", b"\x93NUMPY")))
    )
    for mapped in (True, False):
        assert load_array(path, mapped=mapped).nbytes <= path.stat().st_size


@settings(fuzz, max_examples=max(1, EXAMPLES // 5))  # a process each
@given(data=st.data())
@guarded
def test_damaged_parquet(tmp_path_factory, data):
    path = _scratch(tmp_path_factory) / "table.parquet"
    pl.DataFrame({"word": [f"word{i}" for i in range(50)]}).write_parquet(path)
    path.write_bytes(data.draw(damaged(path.read_bytes(), (b"PAR1", b"\xff" * 4))))
    list(parquet_batches(path, ["word"]))


def _scratch(factory: pytest.TempPathFactory) -> Path:
    directory = factory.getbasetemp() / "fuzz"
    directory.mkdir(exist_ok=True)
    return directory
