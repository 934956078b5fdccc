"""What readers decide by a share or a size: each bound from both sides, and what is said beyond."""

import bz2
import gzip

import pytest

from ssi_core.corpus import inputs, packed, tree
from ssi_core.corpus.language import _is_unsplit, guess_language
from ssi_core.corpus.tables import form, json_rows
from ssi_core.corpus.tables.form import written_as
from ssi_core.corpus.web import folder, front_matter
from ssi_core.types import BadInput

THAI, HINDI, HAN, KANA, HANGUL, GREEK, RUSSIAN = "กक自の가αж"


@pytest.mark.parametrize(
    ("letters", "language"),
    [
        ({}, "en"),
        ({GREEK: 9}, "any"),
        # Half of all letters are of a script with a rule of its own.
        ({THAI: 50, "a": 50}, "th"),
        ({THAI: 49, "a": 51}, "any"),
        ({HINDI: 50, GREEK: 50}, "hi"),
        # At most five in a hundred are of others that have one.
        ({THAI: 95, HINDI: 5}, "th"),
        ({THAI: 94, HINDI: 6}, "any"),
        # Words between blanks: at most one in a hundred of such scripts, half of a named one.
        ({"a": 99, THAI: 1}, "en"),
        ({"a": 98, THAI: 2}, "any"),
        ({"a": 99, "ı": 1}, "en"),
        ({"a": 98, "ı": 1, "İ": 1}, "any"),
        ({HANGUL: 60, "a": 40}, "ko"),
        ({"a": 50, GREEK: 30, RUSSIAN: 20}, "en"),
        ({"a": 49, GREEK: 30, RUSSIAN: 21}, "any"),
        # Of Han and kana less than two in a hundred, or at least twenty, are kana.
        ({HAN: 99, KANA: 1}, "zh"),
        ({HAN: 98, KANA: 2}, "any"),
        ({HAN: 81, KANA: 19}, "any"),
        ({HAN: 80, KANA: 20}, "ja"),
        # Digits and signs are no letters.
        ({"7": 1000, "!": 1000, THAI: 1}, "th"),
    ],
)
def test_a_language_is_guessed_by_the_shares_of_its_letters(letters, language):
    assert guess_language(letter * number for letter, number in letters.items()) == language


def form_of(path, lines):
    path.write_bytes(b"\n".join(lines))
    return written_as(path)


UTF_8, LATIN, CLOSE = "ä".encode(), b"\xe4 ", b"\xe4" * 5


@pytest.mark.parametrize(
    ("lines", "encoding"),
    [
        # As many lines that are UTF-8 as that are not; one more that is not.
        ([UTF_8, LATIN], "utf-8"),
        ([UTF_8, LATIN, LATIN], "cp1252"),
        # Of ten letters beyond ASCII three stand before another; four of them.
        ([CLOSE[:4] + b" " + LATIN * 6, b"a"], "cp1252"),
        ([CLOSE + b" " + LATIN * 5, b"a", b"b", b"c"], "utf-8"),
        ([CLOSE + b" " + LATIN * 5, b"a", b"b"], None),
    ],
)
def test_an_encoding_is_guessed_by_the_lines_and_letters_that_fit(tmp_path, lines, encoding):
    if encoding is None:
        with pytest.raises(BadInput, match="neither in UTF-8 nor in an encoding of Western Europe"):
            form_of(tmp_path / "a.csv", lines)
    else:
        assert form_of(tmp_path / "a.csv", lines).encoding == encoding


def test_the_line_at_which_a_sample_is_cut_says_nothing_of_the_encoding(tmp_path, monkeypatch):
    # A letter of two bytes is cut in half; whole lines before it tell.
    for first, encoding in ((b"a", "utf-8"), (LATIN, "cp1252")):
        monkeypatch.setattr(form, "SAMPLE", len(first) + 2)
        assert form_of(tmp_path / "a.csv", [first, UTF_8]).encoding == encoding


@pytest.mark.parametrize(("odd", "separator"), [(2, ","), (3, ";")])
def test_of_signs_that_divide_nearly_as_many_lines_alike_the_one_of_more_fields_counts(
    tmp_path, odd, separator
):
    lines = [b"a,b,c;d"] * (100 - odd) + [b"a,b;d"] * odd
    assert form_of(tmp_path / "a.csv", lines).separator == separator
    # What stands behind the first hundred lines says nothing.
    assert form_of(tmp_path / "a.csv", [*lines, *[b"a;d"] * 50]).separator == separator


def test_a_sign_that_divides_the_first_line_into_one_field_divides_none(tmp_path):
    assert form_of(tmp_path / "a.csv", [b"text", b"a;b", b"c;d"]).separator == ","


# --- sizes ---


def test_a_packed_file_may_unpack_to_a_gibibyte_or_two_hundred_times_its_size():
    assert inputs.unpacked_limit(0) == inputs.unpacked_limit(5_368_709) == 1 << 30
    assert inputs.unpacked_limit(5_368_710) == 1_073_742_000


def refused(read, *given, **how):
    with pytest.raises(BadInput) as caught:
        read(*given, **how)
    return str(caught.value)


@pytest.mark.parametrize("packing", [bytes, gzip.compress, bz2.compress])
def test_as_many_bytes_as_may_be_are_read_and_one_more_is_refused(tmp_path, packing):
    path, content = tmp_path / "a", b"x" * 2049
    path.write_bytes(packing(content))
    assert inputs.read_input(path, most=2049) == content
    said = refused(inputs.read_input, path, most=2048)
    assert said == f"{path}: it has more than 2 KiB. Give a smaller file."
    assert inputs.unpack(packing(content), "a.tar: b", most=2049) == content


def test_a_member_that_unpacks_to_more_than_it_may_is_refused():
    packed = gzip.compress(b"x" * 2049)
    assert refused(inputs.unpack, packed, "a.tar: b", most=2048) == (
        "a.tar: b: it unpacks to more than 2 KiB, which no text of its size does. If it is no "
        "bomb, unpack it first, and name what it unpacks to."
    )
    assert str(inputs.too_large("a", 3 << 30)).startswith("a: it unpacks to more than 3,072 MiB,")
    assert refused(inputs.unpack, packed[:-9], "a.tar: b").startswith("a.tar: b: ")


def test_lines_that_are_read_at_once_have_as_many_letters_as_they_may_with_their_ends():
    assert list(inputs.bounded(["ab", "", "c"], "a", most=6)) == ["ab", "", "c"]
    said = refused(lambda: list(inputs.bounded(["ab", "", "c"], "b.tar: a", most=5)))
    assert said == "b.tar: a: it has more than 0 KiB. Give a smaller file."


def test_a_line_of_as_many_bytes_as_may_be_is_a_line(tmp_path, monkeypatch):
    monkeypatch.setattr(inputs, "LARGEST_LINE", 2048)
    path, whole, long = tmp_path / "a", b"x" * 2047 + b"\n", b"y" * 9000 + b"\n"
    path.write_bytes(whole + long + b"z")
    read = list(inputs.read_lines(path))
    assert [line for line, _ in read] == [whole, None, b"z"]
    assert read[-1][1] == 1
    assert list(inputs.read_blocks(path)) == [(whole + long + b"z", 1)]
    path.write_bytes(whole + b"\xc3\xa4\r\n")
    assert list(inputs.text_lines(path)) == [whole.decode(), "ä\n"]
    path.write_bytes(b"x" + whole)
    said = refused(lambda: list(inputs.text_lines(path)))
    assert said == f"{path}: a line has more than 2 KiB. Restore the file."


def test_the_most_that_is_read_at_once_is_what_the_pages_say():
    sizes = {inputs.LARGEST_LINE: 16, inputs.LARGEST_WHOLE: 256, json_rows.LARGEST_ARRAY: 256}
    sizes |= {folder.LARGEST: 8, packed.XZ_MEMORY: 256}
    assert all(size == mebibytes << 20 for size, mebibytes in sizes.items())
    assert front_matter.LARGEST == 64 << 10


@pytest.mark.parametrize(("letters", "unsplit"), [(3, False), (4, True)])
def test_a_text_is_not_split_if_its_script_has_three_times_as_many_words(letters, unsplit):
    assert _is_unsplit("\u6771" * letters, "en") is unsplit


def test_a_text_has_plain_line_ends_and_no_mark(tmp_path):
    (tmp_path / "a").write_bytes(b"\xef\xbb\xbfa\r\nb\rc\n")
    assert inputs.read_text(tmp_path / "a") == "a\nb\nc\n"


def test_settings_are_toml_of_a_mebibyte_at_most(tmp_path):
    path = tmp_path / "a.toml"
    path.write_text("a = 1\r\n" + "#" * ((1 << 20) - 7))
    assert inputs.read_toml(path, "Mend it.") == {"a": 1}
    path.write_text("a = 1\r\n" + "#" * ((1 << 20) - 6))
    said = refused(inputs.read_toml, path, "Mend it.")
    assert said == f"{path}: it has more than 1 MiB. Give a smaller file."
    path.write_text("a = ")
    assert refused(inputs.read_toml, path, "Mend it.").endswith("Mend it.")


def test_a_packing_is_known_by_how_a_file_begins(tmp_path):
    path = tmp_path / "a"
    begins = {b"\x1f\x8b\x08": ".gz", b"BZh1\x17rE8P\x90": ".bz2", b"BZh91AY&SY": ".bz2",
              b"BZh01AY&SY": "", b"\xfd7zXZ\0": ".xz", b"\x28\xb5\x2f\xfd": ".zst",
              b"\x1f\x8b": "", b"": ""}  # fmt: skip
    for start, ending in begins.items():
        path.write_bytes(start + b"..." * bool(start))
        assert inputs.packing_of(path) == ending


def test_files_that_are_none_are_told_apart(tmp_path):
    assert refused(inputs.require_file, tmp_path).endswith(": it is a folder. Name the file.")
    (tmp_path / "empty").write_bytes(b"")
    said = refused(lambda: list(inputs.read_blocks(tmp_path / "empty")))
    assert said == f"{tmp_path / 'empty'}: the file is empty. Download it again."


# --- folders ---


def test_files_of_a_folder_are_listed_by_their_paths_up_to_a_size(tmp_path):
    names = {"b/a.md": 3, "a.MD": 3, "c.md": 4, "d": 1, "b/.hidden": 1, "z.txt": 1, "e.rst": 9}
    for name, size in names.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"x" * size)
    skipped = tree.Counter()
    assert tree.files_below(tmp_path, (".md", ".txt"), 3, skipped) == ["a.MD", "b/a.md", "z.txt"]
    assert skipped == {"file_too_large": 1, "file_rst": 1, "file_without_suffix": 1, "hidden": 1}
    shallow = [path.name for path in tree.walk(tmp_path, tree.Counter(), deep=False)]
    assert shallow == ["a.MD", "c.md", "d", "e.rst", "z.txt"]


def test_beyond_a_hundred_kinds_of_files_they_are_counted_as_others(tmp_path):
    for number in range(103):
        (tmp_path / f"a.k{number:03}").write_bytes(b"")
    skipped = tree.Counter()
    assert tree.files_below(tmp_path, (), 1, skipped) == []
    assert skipped["file_k099"] == 1
    assert skipped["file_of_other_kinds"] == 3
    assert len(skipped) == 101
