import bz2

import pytest

from ssi_core.datasets.wikipedia.dump import index_of, read_pieces, read_site
from ssi_core.datasets.wikipedia.pages import read_pages
from ssi_core.types import BadInput
from tests.datasets import dumps


def pages_of(path, size=1 << 20):
    read_site(path)
    return [page for chunk in read_pieces(path, size) for page in read_pages(chunk)]


@pytest.mark.parametrize("version", ["0.10", "0.11", "0.99"])
@pytest.mark.parametrize("suffix", [".xml", ".xml.bz2"])
def test_pages_of_any_schema_and_compression(tmp_path, version, suffix):
    text = dumps.xml(
        dumps.page(1, "A & B", "x < y\n"), dumps.page(2, "C", redirect='A "&" B'), version=version
    )
    first, second = pages_of(dumps.write(tmp_path / f"enwiki{suffix}", text))
    assert (first.id, first.namespace, first.title, first.text) == (1, 0, "A & B", "x < y\n")
    assert (first.revision, first.timestamp.isoformat()) == (1001, "2024-05-06T07:08:09+00:00")
    assert (first.redirect, second.redirect) == (None, 'A "&" B')


@pytest.mark.parametrize("size", [1, 700, 5000, 1 << 20])
def test_pieces_of_any_size_hold_all_pages(tmp_path, size):
    path = dumps.write(tmp_path / "enwiki.xml.bz2", dumps.xml(*dumps.many(50)))
    assert [page.id for page in pages_of(path, size)] == list(range(1, 51))


def test_a_multistream_dump_gives_the_same_pages(tmp_path):
    path = dumps.write_multistream(tmp_path, dumps.many(95))
    assert index_of(path) is not None
    with_index = pages_of(path, 1000)
    chunks = list(read_pieces(path, 1000))
    assert len(chunks) > 3
    assert chunks[-1].done == 1
    index_of(path).unlink()
    assert pages_of(path, 1000) == with_index
    assert [page.id for page in with_index] == list(range(1, 96))


def test_a_page_of_20_mb(tmp_path):
    text = dumps.xml(dumps.page(1, "A", "word " * (4 << 20)), dumps.page(2, "B"))
    pages = pages_of(dumps.write(tmp_path / "enwiki.xml", text))
    assert [len(page.text) for page in pages] == [20 << 20, 0]


def test_the_newest_revision_counts(tmp_path):
    two = dumps.page(1, "A", "old").replace(
        "</page>", "<revision><id>9</id><text>new</text></revision></page>"
    )
    (page,) = pages_of(dumps.write(tmp_path / "enwiki.xml", dumps.xml(two)))
    assert (page.text, page.revision, page.timestamp) == ("new", 9, None)


def test_only_a_page_and_its_revision_have_fields(tmp_path):
    inner = "<id>7</id><title>X</title><timestamp>no time</timestamp><text>no</text>"
    odd = dumps.page(1, "A", "words").replace(
        "<revision>", f"<upload>{inner}</upload><revision><contributor>{inner}</contributor>"
    )
    odd = odd.replace("</revision>", f"<content>{inner}</content></revision>")
    odd = odd.replace("</page>", f"<revisions><revision>{inner}</revision></revisions></page>")
    xml = dumps.xml(odd, dumps.page(2, "B").replace("<page>", "<page><page/>"))
    first, second = pages_of(dumps.write(tmp_path / "enwiki.xml", xml))
    assert (first.id, first.title, first.text, first.revision) == (1, "A", "words", 1001)
    assert first.timestamp.isoformat() == "2024-05-06T07:08:09+00:00"
    assert (second.id, second.title, second.text) == (2, "B", "")


@pytest.mark.parametrize(
    ("name", "header", "given", "language"),
    [
        ("jawiki-1-pages-articles.xml", "en", None, "ja"),
        ("simplewiki-latest-pages-articles.xml", "en", None, "en"),
        ("zh_yuewiki-1.xml", "zh", None, "zh-yue"),
        ("commonswiki-1.xml", "de", None, "de"),
        ("some.xml", "fr", None, "fr"),
        ("jawiki-1.xml", "en", "ko", "ko"),
    ],
)
def test_the_name_of_a_dump_wins_over_its_header(tmp_path, name, header, given, language):
    path = dumps.write(tmp_path / name, dumps.xml(dumps.page(1, "A"), language=header))
    assert read_site(path, given).language == language


def test_the_header_tells_namespaces_and_case(tmp_path):
    text = dumps.xml(dumps.page(1, "A"), case="case-sensitive")
    site = read_site(dumps.write(tmp_path / "enwiki.xml", text))
    assert site.namespaces["pics"] == 6
    assert not site.first_letter


def bad(tmp_path, content, name="enwiki-1-pages.xml.bz2"):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(BadInput) as caught:
        pages_of(path, 5000)
    assert name.partition("-")[0] in str(caught.value)
    return str(caught.value)


WHOLE = dumps.xml(*dumps.many(60)).encode()


def test_damaged_compression(tmp_path):
    packed = bz2.compress(WHOLE)
    assert "end at byte" in bad(tmp_path, packed[: len(packed) // 2])
    broken = bytearray(packed)
    broken[len(broken) // 2] ^= 0xFF
    assert "corrupt bz2" in bad(tmp_path, bytes(broken))
    assert "corrupt bz2" in bad(tmp_path, b"PK not bz2 at all")
    assert "corrupt bz2" in bad(tmp_path, packed + b"garbage")
    assert "is empty" in bad(tmp_path, b"")


def test_text_that_is_no_xml(tmp_path):
    wrong = WHOLE.replace(b"word20", b"\xff\xfe")
    assert "the page 'Page 20' at byte" in bad(tmp_path, bz2.compress(wrong))
    wrong = WHOLE.replace(b"word21", b"</b>")
    assert "the page 'Page 21' at byte" in bad(tmp_path, bz2.compress(wrong))
    wrong = WHOLE.replace(b"<id>31</id>", b"<id>none</id>")
    assert "'Page 30', can't be read" in bad(tmp_path, bz2.compress(wrong))
    wrong = WHOLE.replace(b"<title>Page 30</title>", b"")
    assert "no title" in bad(tmp_path, bz2.compress(wrong))
    wrong = WHOLE.replace(b"<id>31</id>", b"<id>" + b"9" * 30 + b"</id>")
    assert "too large" in bad(tmp_path, bz2.compress(wrong))


def test_what_is_no_dump(tmp_path):
    assert "holds no page" in bad(tmp_path, bz2.compress(dumps.xml().encode()))
    assert "no header" in bad(tmp_path, bz2.compress(b"some text"))
    assert "expected <mediawiki>" in bad(tmp_path, b"<html></html>", "enwiki-1.xml")
    assert "expected a dump named" in bad(tmp_path, b"x", "enwiki-1.7z")
    numbered = WHOLE.replace(b'key="4"', b'key="x"')
    assert "namespace numbered 'x'" in bad(tmp_path, bz2.compress(numbered))
    with pytest.raises(BadInput, match="no such file"):
        read_site(tmp_path / "absent.xml")


def test_an_entity_bomb_is_no_header(tmp_path):
    bomb = b'<!DOCTYPE mediawiki [<!ENTITY a "' + b"x" * 1000 + b'">]>' + WHOLE
    path = dumps.write(tmp_path / "enwiki-1.xml", bomb.replace(b"word20", b"&a;"))
    with pytest.raises(BadInput, match="'Page 20'"):
        pages_of(path)


def test_an_index_of_another_dump(tmp_path):
    path = dumps.write_multistream(tmp_path, dumps.many(40))
    index = index_of(path)
    lines = bz2.decompress(index.read_bytes()).decode()

    def read_with(text):
        dumps.write(index, text)
        with pytest.raises(BadInput) as caught:
            pages_of(path, 1000)
        return str(caught.value)

    assert "no bz2 stream begins" in read_with("7:1:A\n")
    assert "isn't 'offset:id:title'" in read_with("x\n")
    assert "are missing in it" in read_with("")
    skipped = lines.splitlines()[10:]
    assert "are missing in it" in read_with("\n".join(skipped) + "\n")
    index.write_bytes(b"BZh9 broken")
    with pytest.raises(BadInput, match="index"):
        pages_of(path)


def test_a_multistream_dump_that_is_cut_off(tmp_path):
    path = dumps.write_multistream(tmp_path, dumps.many(40))
    whole = path.read_bytes()
    path.write_bytes(whole[: -len(bz2.compress(dumps.TAIL.encode()))])
    with pytest.raises(BadInput, match="no end of the export"):
        pages_of(path)
    path.write_bytes(whole[:-60])
    with pytest.raises(BadInput, match="within a stream"):
        pages_of(path)
