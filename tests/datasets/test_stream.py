import bz2
import codecs
import subprocess
import sys

import pytest

from ssi_core.collection import open_collection
from ssi_core.datasets.wikipedia import stream
from ssi_core.datasets.wikipedia.dump import index_of, read_pieces
from ssi_core.datasets.wikipedia.pages import read_pages
from ssi_core.datasets.wikipedia.source import Wikipedia
from ssi_core.datasets.wikipedia.stream import decompress
from ssi_core.types import BadInput
from tests.datasets import dumps
from tests.sources import ingest

LIMIT = 4000
LARGE = dumps.page(99, "Large", "word " * 5000)


def with_large(n=30):
    """Pages of which the first, one in the middle, two neighbours and the last are too large."""
    pages = dumps.many(n)
    for position in (n, 20, 19, 10, 0):
        pages.insert(position, LARGE.replace("99", str(900 + position)))
    return pages


def read(path, size):
    chunks = [chunk.load() for chunk in read_pieces(path, size)]
    ids = [page.id for chunk in chunks for page in read_pages(chunk)]
    return ids, sum(chunk.left_out for chunk in chunks)


@pytest.fixture(params=[100, 3000])
def limit(monkeypatch, request):
    monkeypatch.setattr(stream, "LARGEST_PAGE", LIMIT)
    monkeypatch.setattr(stream, "_BLOCK", request.param)


@pytest.mark.usefixtures("limit")
@pytest.mark.parametrize("size", [1, 3000, 1 << 20])
@pytest.mark.parametrize("suffix", [".xml", ".xml.bz2"])
def test_pages_that_are_too_large_are_left_out_and_counted(tmp_path, size, suffix):
    path = dumps.write(tmp_path / f"enwiki{suffix}", dumps.xml(*with_large()))
    assert read(path, size) == (list(range(1, 31)), 5)
    multi = dumps.write_multistream(tmp_path, with_large(), per_stream=3)
    assert index_of(multi) is not None
    assert read(multi, size) == (list(range(1, 31)), 5)


@pytest.mark.usefixtures("limit")
def test_a_large_page_is_in_the_account_of_the_corpus(tmp_path):
    path = dumps.write(tmp_path / "enwiki-1.xml", dumps.xml(*with_large()))
    whole = ingest("wikipedia", [path], tmp_path / "out", processes=1, part_bytes=3000)
    dumps.accounts(whole)
    assert (whole.counts["pages"], whole.skipped["page_too_large"]) == (35, 5)
    again = ingest(
        "wikipedia",
        [path],
        tmp_path / "again",
        processes=1,
        part_bytes=3000,
        since=tmp_path / "out",
    )
    assert again.skipped == whole.skipped
    assert again.counts["pages"] == 35
    alone = dumps.write(tmp_path / "enwiki-2.xml", dumps.xml(LARGE))
    with pytest.raises(BadInput, match="no page of the main namespace"):
        ingest("wikipedia", [alone], tmp_path / "none", processes=1)


@pytest.mark.usefixtures("limit")
def test_places_after_a_large_page_are_those_in_the_xml(tmp_path):
    text = dumps.xml(LARGE, *dumps.many(8)).replace("word6", "</b>")
    place = text.index("</page>", text.index("<title>Page 5")) + len("</page>")
    path = dumps.write(tmp_path / "enwiki.xml", text)
    with pytest.raises(BadInput, match=f"'Page 6' at byte {place}"):
        read(path, 1 << 20)


@pytest.mark.usefixtures("limit")
def test_a_large_page_without_an_end(tmp_path):
    text = dumps.xml(dumps.page(1, "A", "a"), LARGE)
    path = dumps.write(tmp_path / "enwiki.xml", text[: text.rindex("</text>")])
    with pytest.raises(BadInput, match="within the page 'Large'"):
        read(path, 1 << 20)


# Not ru_maxrss, which begins with that of the process that starts the child.
_CHILD = """
import sys
from pathlib import Path
from tests.sources import ingest
corpus = ingest("wikipedia", [Path(sys.argv[1])], Path(sys.argv[2]), processes=1)
status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
print(corpus.skipped["page_too_large"], status["VmHWM"].split()[0])
"""


def test_a_bomb_of_a_few_kilobytes_takes_little_memory(tmp_path):
    before, after = dumps.xml(dumps.page(1, "A", "a"), dumps.page(2, "B", "@")).split("@")
    words = bz2.compress(b"word " * (4 << 18))
    path = tmp_path / "enwiki-1.xml.bz2"
    path.write_bytes(bz2.compress(before.encode()) + words * 12 + bz2.compress(after.encode()))
    assert path.stat().st_size < 50_000
    command = [sys.executable, "-c", _CHILD, path, tmp_path / "out"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    left_out, peak = map(int, done.stdout.split())
    assert left_out == 1
    # 0.14 GB; a page of 60 MB takes 0.7 GB where it is read.
    assert peak * 1024 < 400 << 20


def in_utf16(text, mark):
    name = "utf-16-le" if mark == codecs.BOM_UTF16_LE else "utf-16-be"
    return mark + ('<?xml version="1.0" encoding="UTF-16"?>\n' + text).encode(name)


@pytest.mark.parametrize("mark", [codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE])
@pytest.mark.parametrize("suffix", [".xml", ".xml.bz2"])
def test_a_dump_in_utf16_is_read(tmp_path, monkeypatch, mark, suffix):
    # Blocks of an odd length cut characters, and pairs of surrogates.
    monkeypatch.setattr(stream, "_BLOCK", 4099)
    text = dumps.xml(*dumps.many(40), dumps.page(41, "車", "自動車 🚗 [[Page 1]]"))
    wide = dumps.write(tmp_path / f"jawiki-1{suffix}", in_utf16(text, mark))
    plain = dumps.write(tmp_path / f"jawiki-2{suffix}", text)
    for path in (wide, plain):
        ingest("wikipedia", [path], tmp_path / path.stem, processes=1, part_bytes=9000)
    documents, same = (open_collection(tmp_path / path.stem).documents for path in (wide, plain))
    assert documents.collect().equals(same.collect())
    assert documents.collect()["text"][-1] == "自動車 🚗 Page 1"


def test_a_multistream_dump_in_utf16_is_read_in_order(tmp_path):
    dump = dumps.write_multistream(tmp_path, dumps.many(40))
    index, streams = index_of(dump), []
    text = [dumps.head(), *("".join(dumps.many(40)[i : i + 10]) for i in range(0, 40, 10))]
    for position, part in enumerate([*text, dumps.TAIL]):
        mark = codecs.BOM_UTF16_LE if not position else b""
        streams.append(bz2.compress(mark + part.encode("utf-16-le")))
    dump.write_bytes(b"".join(streams))
    starts = [sum(map(len, streams[: i + 1])) for i in range(4)]
    dumps.write(index, "".join(f"{start}:{i}:Page\n" for i, start in enumerate(starts)))
    assert read(dump, 1000)[0] == list(range(1, 41))


def test_a_dump_in_utf16_that_is_cut_within_a_character(tmp_path):
    text = in_utf16(dumps.xml(*dumps.many(5)), codecs.BOM_UTF16_LE)
    path = dumps.write(tmp_path / "enwiki.xml", text[:-1])
    with pytest.raises(BadInput, match="in UTF-16 and isn't valid after byte"):
        read(path, 1000)


@pytest.mark.parametrize("start", [0, 100])
def test_damaged_bz2_is_named_by_its_bytes_in_the_file(tmp_path, start):
    path, packed = tmp_path / "a.xml.bz2", bz2.compress(b"text" * 9)
    path.write_bytes(packed)
    given = {} if start == 0 else {"start": start}
    assert b"".join(decompress(path, [packed[:20], packed[20:]], **given)) == b"text" * 9
    with pytest.raises(BadInput) as caught:
        list(decompress(path, [packed, b"BZx"], **given))
    end = start + len(packed)
    said = f"{path}: corrupt bz2 between bytes {end} and {end + 3}. Download it again"
    assert str(caught.value).startswith(said)
    with pytest.raises(BadInput, match=rf"the bz2 data end at byte {start + 30} within a stream"):
        list(decompress(path, [packed[:30]], **given))


def test_a_dump_is_known_by_the_end_of_its_name(tmp_path):
    (tmp_path / "folder.xml").mkdir()
    names = {
        "a.xml": True,
        "a.xml.bz2": True,
        "a.xml.gz": False,
        "a.md": False,
        "folder.xml": False,
    }
    assert {name: Wikipedia.looks_like(tmp_path / name) for name in names} == names
