"""Files and folders of a stranger: refused or left out, counted, and at no more than their size."""

import bz2
import gzip
import io
import lzma
import os
import random
import subprocess
import tarfile
import threading
import zlib
from collections import Counter
from contextlib import suppress
from pathlib import Path

import polars as pl
import pytest
import zstandard

from ssi_core.collection import open_collection
from ssi_core.corpus import archive, inputs
from ssi_core.corpus.tables.json_rows import is_array
from ssi_core.corpus.tables.parquet import parquet_batches, parquet_columns
from ssi_core.corpus.tables.reader import header_of
from ssi_core.corpus.tree import files_below, walk
from ssi_core.corpus.web import front_matter as front_matter_reader
from ssi_core.corpus.web.folder import read_page
from ssi_core.corpus.web.front_matter import read_front_matter
from ssi_core.datasets.wikipedia.stream import read_xml
from ssi_core.types import BadInput
from tests.robust.tally import attempt
from tests.sources import ingest

pytestmark = pytest.mark.hostile("tables")
packed, parquet, pages, folders, outputs, front_matter = map(
    pytest.mark.hostile,
    ("packed files", "parquet", "pages", "folders", "outputs", "front matter"),
)
MIB = 1 << 20
ZEROS = b"0" * (2 * MIB)


@pytest.fixture
def _small(monkeypatch):
    monkeypatch.setattr(inputs, "LARGEST_SHARE", MIB)
    monkeypatch.setattr(inputs, "LARGEST_LINE", MIB)


PACKERS = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": zstandard.ZstdCompressor().compress,
}


# --- bombs ---


READERS = {
    "blocks": lambda path: list(inputs.read_blocks(path)),
    "lines": lambda path: list(inputs.read_lines(path)),
    "text": lambda path: inputs.read_text(path),
    "table": lambda path: ingest("table", [path], path.parent / "out"),
}


@packed
@pytest.mark.usefixtures("_small")
@pytest.mark.parametrize("ending", PACKERS)
@pytest.mark.parametrize("reader", READERS)
def test_a_bomb_ends_at_the_limit_with_the_file_and_a_remedy(tmp_path, ending, reader):
    path = tmp_path / f"a.jsonl{ending}"
    path.write_bytes(PACKERS[ending](b'{"id": "1", "text": "x"}\n' * 20_000 + ZEROS))
    with (
        pytest.raises(BadInput, match=r"a\.jsonl\.\w+: it unpacks to more than 1 MiB.*unpack it"),
        attempt(),
    ):
        READERS[reader](path)


@packed
@pytest.mark.usefixtures("_small")
@pytest.mark.parametrize("ending", PACKERS)
def test_text_that_packs_as_text_does_is_read_whatever_its_size(tmp_path, ending):
    random.seed(1)
    text = " ".join(f"word{random.randrange(9999)}" for _ in range(150_000)).encode()
    path = tmp_path / f"a.txt{ending}"
    path.write_bytes(PACKERS[ending](text))
    with attempt():
        assert b"".join(block for block, _ in inputs.read_blocks(path)) == text
    # By its content, too, whatever it is named.
    assert inputs.read_input(path.rename(tmp_path / "plain")) == text


@packed
@pytest.mark.usefixtures("_small")
def test_a_dump_that_is_a_bomb_ends_at_the_limit(tmp_path):
    path = tmp_path / "enwiki.xml.bz2"
    path.write_bytes(bz2.compress(ZEROS))
    with pytest.raises(BadInput, match="unpacks to more than 1 MiB"), attempt():
        Counter(len(block) for block, _ in read_xml(path))


@packed
def test_a_zstd_bomb_is_unpacked_by_little_pieces(tmp_path):
    bomb = zstandard.ZstdCompressor(level=19).compress(bytes(512 * MIB))
    path = tmp_path / "a.zst"
    path.write_bytes(bomb)
    with attempt(), inputs.open_input(path) as file:
        file.read(10)
        assert len(file.raw._stream._ready) < 160 * MIB


def xz(content, dictionary):
    """Content as an xz stream that asks for a dictionary of a size."""
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 0, "dict_size": 1 << 20}]
    packed = bytearray(lzma.compress(content, filters=filters))
    # The header of the block: sizes, flags, the filter, its one property; then its checksum.
    assert packed[12:16] == bytes([2, 0, 0x21, 1])
    packed[16] = dictionary
    packed[20:24] = zlib.crc32(packed[12:20]).to_bytes(4, "little")
    return bytes(packed)


@packed
def test_a_dictionary_of_gigabytes_is_refused_and_that_of_any_preset_is_read(tmp_path):
    path = tmp_path / "a.xz"
    path.write_bytes(xz(b"text", 39))  # 3 GiB
    with pytest.raises(BadInput, match=r"a\.xz: .* more than 256 MiB of memory.*unpack"), attempt():
        inputs.read_input(path)
    for preset in range(10):
        path.write_bytes(lzma.compress(b"text", preset=preset))
        assert inputs.read_input(path) == b"text"


@packed
def test_streams_of_xz_may_follow_each_other_and_what_is_cut_off_is_an_error(tmp_path):
    path, one = tmp_path / "a.xz", lzma.compress(b"one")
    path.write_bytes(one + bytes(8) + lzma.compress(b"two") + bytes(4))
    assert inputs.read_input(path) == b"onetwo"
    for wrong in (one[:-1], one[:20], one + b"more", one[:30] + b"x" + one[31:]):
        path.write_bytes(wrong)
        with pytest.raises(BadInput, match=r"a\.xz: "), attempt():
            inputs.read_input(path)


def test_one_line_does_not_fill_the_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(inputs, "LARGEST_LINE", 1000)
    path = tmp_path / "a.csv"
    path.write_bytes(b"id,text\n" + b"x" * 5000)
    with attempt():
        assert [line is None for line, _ in inputs.read_lines(path)] == [False, True]
    with pytest.raises(BadInput, match="a line has more than"), attempt():
        list(inputs.text_lines(path))


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000, '{"id": "1"}\n' + "[" * 9999])
def test_deep_json_is_a_message(tmp_path, text):
    path = tmp_path / "a.jsonl"
    path.write_text(text)
    with attempt():
        assert is_array(path, "utf-8") == text.startswith("[")
    if text.startswith('{"id'):
        with attempt():
            assert header_of(path) == ["id"]
    else:
        with pytest.raises(BadInput, match=r"a\.jsonl: "), attempt():
            header_of(path)


# --- archives ---


def tar(path, *members):
    with tarfile.open(path, "w:gz") as out:
        for name, size, change in members:
            member = tarfile.TarInfo(name)
            member.size = size
            for key, value in change.items():
                setattr(member, key, value)
            out.addfile(member, io.BytesIO(bytes(size)) if member.isreg() else None)
    return path


@packed
def test_members_are_bounded_and_regular(tmp_path, monkeypatch):
    monkeypatch.setattr(inputs, "LARGEST_WHOLE", MIB)
    links = ("a/key", 0, {"type": tarfile.SYMTYPE, "linkname": "/etc/passwd"})
    pipe = ("a/pipe", 0, {"type": tarfile.FIFOTYPE})
    path = tar(tmp_path / "a.tar.gz", links, pipe, ("a/x", 10, {}))
    pattern = archive.re.compile(r"a/\w+")
    with attempt():
        assert [name[0] for name, _ in archive.read_matching(path, pattern)] == ["a/x"]
    tar(path, ("a/big", 2 * MIB, {}))
    with (
        pytest.raises(BadInput, match=r"a\.tar\.gz: the member 'a/big' has more than 1 MiB"),
        attempt(),
    ):
        list(archive.read_matching(path, pattern))


@packed
def test_a_name_of_megabytes_is_refused_unread(tmp_path):
    path = tar(tmp_path / "a.tar.gz", ("n" * (2 * MIB), 1, {}))
    with pytest.raises(BadInput, match="a name of more than 1 MiB"), attempt():
        list(archive.read_matching(path, archive.re.compile(".*")))


@packed
def test_what_folds_leave_out_is_said(tmp_path, caplog):
    letor = pytest.importorskip("ssi_core.guests.reranking.letor", reason="no guest is here")
    (tmp_path / "Fold1").mkdir()
    for side in ("train", "vali", "test"):
        (tmp_path / "Fold1" / f"{side}.txt").symlink_to("/etc/passwd")
    with pytest.raises(BadInput, match="it has no fold"), attempt("folders"):
        letor.read_folds(tmp_path)
    assert "file_outside_of_the_folder 3" in caplog.text


@packed
def test_what_an_archive_and_a_folder_leave_out_although_it_matches_is_said(tmp_path, caplog):
    link = ("a/key", 0, {"type": tarfile.SYMTYPE, "linkname": "/etc/passwd"})
    path = tar(tmp_path / "a.tar.gz", link, ("a/x", 10, {}))
    with attempt():
        assert len(list(archive.read_matching(path, archive.re.compile(r"a/\w+")))) == 1
    assert f"{path}: left out of what it holds: member_not_regular 1" in caplog.text
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "x").symlink_to("/etc/passwd")
    with attempt("folders"):
        assert not list(archive.read_matching(tmp_path / "folder", archive.re.compile("x")))
    assert "file_outside_of_the_folder 1" in caplog.text


# --- folders ---


@folders
def test_links_of_folders_hidden_files_and_foreign_names_are_counted(tmp_path):
    directory = tmp_path / "site"
    (directory / "in").mkdir(parents=True)
    (directory / "in" / "a.md").write_text("a")
    (directory / ".git").mkdir()
    (directory / "again").symlink_to(directory / "in")
    (directory / "etc").symlink_to("/etc")
    (directory / "key.md").symlink_to("/etc/passwd")
    (directory / os.fsdecode(b"\xff.md")).touch()
    os.mkfifo(directory / "pipe.md")
    skipped = Counter()
    with attempt():
        assert files_below(directory, (".md",), MIB, skipped) == ["in/a.md"]
    assert skipped == {
        "hidden": 1, "folder_that_is_a_link": 2, "file_outside_of_the_folder": 1,
        "file_name_not_utf8": 1, "file_not_regular": 1,
    }  # fmt: skip


@folders
def test_a_folder_of_any_depth_and_many_suffixes_is_walked(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for _ in range(2500):
        Path("d").mkdir()
        os.chdir("d")
    monkeypatch.chdir(tmp_path)
    for number in range(300):
        (tmp_path / f"x.s{number}").touch()
    (tmp_path / "a.md").write_text("a")
    skipped = Counter()
    try:
        with attempt():
            assert files_below(tmp_path, (".md",), MIB, skipped) == ["a.md"]
    finally:  # too deep for what tidies up
        subprocess.run(["rm", "-rf", tmp_path / "d"], check=True)
    assert skipped["folder_unreadable"] == 1
    assert skipped["file_of_other_kinds"] >= 200


@folders
def test_a_pipe_that_is_named_is_read_once_and_refused_where_it_is_read_again(tmp_path):
    pipe = tmp_path / "map.toml"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=("a = 1\n",))
    writer.start()
    assert inputs.read_toml(pipe, "Write it.") == {"a": 1}
    writer.join()
    with pytest.raises(BadInput, match="no regular file, and is read more than once"), attempt():
        inputs.digest_inputs([pipe])
    with pytest.raises(BadInput, match="it has more than 1 MiB"), attempt():
        inputs.read_toml(Path("/dev/zero"), "Write it.")


# --- pages ---

N = MIB
TOML = "+++\n[" + ".".join("a" * 15_000) + "]\n" + "".join(f"k{i}=1\n" for i in range(4500))
PAGES = {
    "shortcodes.md": "{{<ref x " * (N // 9),
    "attributes.html": "<a " + " ".join(f"a{i}=b" for i in range(N // 8)) + ">",
    "scripts.html": "<script>x</script>a" * (N // 19),
    "headings.html": "".join(f"<h{1 + i % 6}><div>" for i in range(120)) + "word " * (N // 5),
    "images.md": "![[]()" * (N // 6),
    "quotes.md": "> " * (N // 2),
    "sequence.md": "---\n" + "[" * 65_000 + "\n---\n",
    "mapping.md": "---\n" + "{" * 65_000 + "\n---\n",
    "header.md": f"{TOML}+++\n",
    "dotted.md": "+++\n" + ".".join("a" * 32_000) + "=1\n+++\n",
    "nested.md": "+++\nx=" + "[" * 65_000 + "\n+++\n",
}


@pages
@pytest.mark.parametrize("name", PAGES)
def test_a_page_costs_no_more_than_its_size(tmp_path, name):
    (tmp_path / name).write_text(PAGES[name])
    with attempt():
        assert read_page(tmp_path / name) is not None


@front_matter
def test_yaml_that_is_nested_deep_takes_no_time_that_grows_with_its_square():
    """Each level that is read costs as much as all before it."""
    levels = front_matter_reader._DEEPEST
    for depth, values in ((levels - 1, {"kind": ["page"]}), (levels + 1, {})):
        with attempt():
            block = f"---\ndeep: {'[' * depth}{']' * depth}\nkind: page\n---\nText"
            assert read_front_matter(block) == (values, 1, "Text")


@front_matter
def test_keys_around_a_deep_value_stay():
    deep = "deep: " + "[" * 90 + "]" * 90
    with attempt():
        read = read_front_matter(f"---\ntitle: Car\n{deep}\nkind: page\n---\nText")
    assert (read.values, read.dropped) == ({"title": ["Car"], "kind": ["page"]}, 1)


@pages
def test_a_page_that_is_nested_too_deep_is_counted(tmp_path):
    (tmp_path / "site").mkdir()
    for depth in (100, 300):
        text = f"<p>before</p>{'<div>' * depth}deep{'</div>' * depth}<p>after</p>"
        (tmp_path / "site" / f"{depth}.html").write_text(text)
        quoted = f"before\n\n{'> ' * depth}deep\n\nafter"
        (tmp_path / "site" / f"{depth}.md").write_text(quoted)
    (tmp_path / "site/0.md").write_text("whole")
    with attempt():
        artefact = ingest("folder", tmp_path / "site", tmp_path / "out")
    assert artefact.skipped["page_cut_where_nested_too_deep"] == 2
    texts = open_collection(artefact.path).documents.collect().sort("id")["text"]
    assert texts.to_list() == ["whole", *["before\ndeep\nafter"] * 2, *["before"] * 2]


@pages
def test_a_tag_of_many_attributes_is_told_from_many_tags(tmp_path):
    (tmp_path / "a.html").write_text('<p class="x" id=y>word ' * 9000)
    with attempt():
        assert read_page(tmp_path / "a.html").text.startswith("word\nword")
    quoted = "<a " + " ".join(f"a{i}='<b >'" for i in range(9000)) + ">text"
    (tmp_path / "b.html").write_text(quoted)
    with attempt():
        assert read_page(tmp_path / "b.html").text == ""


# --- parquet ---


@parquet
def test_parquet_gives_what_was_written(tmp_path):
    path = tmp_path / "a.parquet"
    frame = pl.DataFrame({"id": [1, 2, 3], "text": ["a", None, "c"], "tags": [["x"], [], None]})
    frame.write_parquet(path)
    assert parquet_columns(path) == ["id", "text", "tags"]
    assert pl.concat(parquet_batches(path)).equals(frame)
    assert pl.concat(parquet_batches(path, ["text"])).equals(frame.select("text"))


@parquet
def test_a_reader_that_dies_is_a_message(tmp_path, monkeypatch):
    path = tmp_path / "a.parquet"
    pl.select(n=pl.repeat(7, 30_000_000, dtype=pl.Int64)).write_parquet(
        path, row_group_size=1 << 30
    )
    monkeypatch.setattr("ssi_core.resources.memory_available", lambda: 300 * MIB)
    with (
        pytest.raises(BadInput, match=r"a\.parquet: it is damaged, or its rows do not fit"),
        attempt(),
    ):
        list(parquet_batches(path))


@parquet
@pytest.mark.usefixtures("_small")
def test_parquet_of_one_long_value_is_bounded(tmp_path):
    path = tmp_path / "a.parquet"
    value = pl.Series("text", ["x" * 1_000_000]).new_from_index(0, 20)
    pl.DataFrame({"text": value}).write_parquet(path)
    assert path.stat().st_size < 10_000
    with (
        pytest.raises(BadInput, match=r"unpacks to more than 1 MiB.*write it as JSON lines"),
        attempt(),
    ):
        list(parquet_batches(path))


@parquet
@pytest.mark.parametrize("seed", range(int(os.environ.get("SSI_FLIPS", "12"))))
def test_damaged_parquet_ends_no_process_but_its_reader(tmp_path, seed):
    path = tmp_path / "a.parquet"
    names = [f"word{number}" for number in range(200)]
    pl.DataFrame({"id": names, "tags": [[name] for name in names]}).write_parquet(path)
    data, rng = bytearray(path.read_bytes()), random.Random(seed)
    for _ in range(rng.choice((1, 1, 3, 10))):
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    path.write_bytes(data)
    with suppress(BadInput), attempt():
        list(parquet_batches(path))


@folders
def test_what_is_read_to_its_end_is_a_regular_file(tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    for name, said in (("pipe.csv", "no regular file"), ("none.csv", "no such file")):
        for read in (inputs.read_blocks, inputs.read_lines):
            with pytest.raises(BadInput, match=rf"{name}: .*{said}"), attempt():
                list(read(tmp_path / name))


@folders
def test_a_folder_with_an_entry_of_each_kind_is_ingested(tmp_path):
    directory = tmp_path / "site"
    directory.mkdir()
    for name, text in PAGES.items():
        (directory / name).write_text(text[:60_000])
    (directory / "good.md").write_text("---\ntitle: Good\n---\nwords")
    with attempt():
        artefact = ingest("folder", directory, tmp_path / "out")
    assert "Good" in open_collection(artefact.path).documents.collect()["title"].to_list()
    assert list(walk(directory, Counter()))
