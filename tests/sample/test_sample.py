import bz2
import gzip
import hashlib
import itertools
import json
import re
import tracemalloc
from collections import Counter
from xml.etree import ElementTree

import numpy as np
import pytest

from ssi_core.collection import open_collection
from ssi_core.sample.clicks import ads_of, click_log
from ssi_core.sample.dice import Dice
from ssi_core.sample.dumps import whole_file
from ssi_core.sample.encyclopedia import (
    EXAMINATION,
    ad_relevance,
    plan_world,
    sample_pages,
    write_sample,
)
from ssi_core.sample.lexicon import CONCEPTS_A_SUBJECT, load_lexicon
from ssi_core.sample.names import first_name_of, name_of
from tests.sources import ingest

EXPORT = "{http://www.mediawiki.org/xml/export-0.11/}"
DOCUMENTS = 200
SAMPLE = "ee765173e42e80354149b2cd471f946e8c892baf1014152d06303c16f8c8a4eb"
WORD = re.compile(r"[a-z]+")
# A row of an INSERT: number, quoted language, quoted title with backslash escapes.
ROW = re.compile(r"\((\d+),'(\w+)','((?:[^'\\]|\\.)*)'\)")


@pytest.fixture(scope="module")
def sample(tmp_path_factory):
    directory = tmp_path_factory.mktemp("sample")
    seen = []
    counts = write_sample(
        directory, documents=DOCUMENTS, seed=3, progress=lambda *now: seen.append(now)
    )
    return directory, counts, seen


@pytest.fixture(scope="module")
def editions():
    return {language: list(sample_pages(DOCUMENTS, 3, language)) for language in ("en", "ja")}


def xml_pages(path):
    with bz2.open(path) as file:
        root = ElementTree.parse(file).getroot()
    return root, root.findall(f"{EXPORT}page")


def letters(text):
    return re.sub(r"\W", "", text)


def value(page, path):
    return page.findtext("/".join(EXPORT + name for name in path.split("/")))


# The lexicon


def test_the_lexicon_is_large_and_every_subject_complete():
    lexicon = load_lexicon()
    assert len(lexicon.subjects) >= 40
    assert len(lexicon.concepts) == CONCEPTS_A_SUBJECT * len(lexicon.subjects)
    assert len({noun for c in lexicon.concepts for noun in c.english}) >= 1450
    assert all(c.subject == n // CONCEPTS_A_SUBJECT for n, c in enumerate(lexicon.concepts))
    assert {"car", "automobile"} <= {n.singular for n in lexicon.concepts[0].english}


def test_a_word_belongs_to_one_concept():
    lexicon = load_lexicon()
    english = Counter(
        form for c in lexicon.concepts for n in c.english for form in {n.singular, n.plural}
    )
    japanese = Counter(word for c in lexicon.concepts for word in c.japanese)
    assert english.most_common(1)[0][1] == 1
    assert japanese.most_common(1)[0][1] == 1


def test_every_word_is_a_lower_case_word_with_a_japanese_equivalent():
    pairs = list(load_lexicon().pairs())
    assert all(WORD.fullmatch(english) for english, _ in pairs)
    assert all(japanese and not japanese.isascii() for _, japanese in pairs)


def test_uses_lead_to_three_other_subjects_at_most_and_are_mostly_one_way():
    lexicon = load_lexicon()
    uses = {
        (n, lexicon.concepts[use].subject) for n, s in enumerate(lexicon.subjects) for use in s.uses
    }
    assert all(2 <= len(subject.uses) <= 3 for subject in lexicon.subjects)
    assert all(source != target for source, target in uses)
    assert sum((b, a) in uses for a, b in uses) < 0.1 * len(uses)


def test_names_are_distinct():
    names = [name_of(number) for number in range(70_000)]
    assert len({latin for latin, _ in names}) == len(names)
    assert first_name_of(0) == first_name_of(16)


# The files


def test_same_seed_same_bytes(tmp_path):
    directory = tmp_path / "first"
    counts = write_sample(directory, documents=40, seed=3)
    assert write_sample(tmp_path / "again", documents=40, seed=3) == counts
    write_sample(tmp_path / "other", documents=40, seed=4)
    names = sorted(path.name for path in directory.iterdir())
    assert names == sorted(
        ["README.txt", "ads.tsv.gz", "clicks-map.toml", "clicks-relevance.tsv.gz",
             "clicks-truth.json", "clicks.tsv.gz", "dictionary.tsv",
             "enwiki-sample-langlinks.sql.gz", "enwiki-sample-pages-articles.xml.bz2",
             "jawiki-sample-pages-articles.xml.bz2"]
    )  # fmt: skip
    for name in names:
        first = (directory / name).read_bytes()
        assert first == (tmp_path / "again" / name).read_bytes()
        if name not in ("clicks-truth.json", "clicks-map.toml", "dictionary.tsv"):
            assert first != (tmp_path / "other" / name).read_bytes()


def test_a_seed_makes_these_files(sample):
    """Figures of the documents come of it: whoever changes what is drawn computes them again."""
    digest = hashlib.sha256()
    for path in sorted(sample[0].rglob("*")):
        opened = {".gz": gzip.open, ".bz2": bz2.open}.get(path.suffix, open)
        if path.is_file():
            with opened(path, "rb") as file:
                digest.update(path.name.encode() + file.read())
    assert digest.hexdigest() == SAMPLE


def test_progress_counts_both_editions_up_to_the_end(sample):
    _, counts, seen = sample
    fractions, messages = zip(*seen, strict=True)
    assert list(fractions) == sorted(fractions)
    assert fractions[-1] == 1
    total = DOCUMENTS + counts["mates"]
    done = [*range(100, total, 100), total]
    assert list(messages) == [f"{number:,} of {total:,} articles" for number in done]


def test_an_interrupted_file_does_not_bear_its_name(tmp_path):
    def write():
        with whole_file(tmp_path / "a.xml.bz2") as file:
            file.write("half")
            raise KeyError

    with pytest.raises(KeyError):
        write()
    assert list(tmp_path.iterdir()) == []


def test_it_says_that_its_text_is_synthetic(sample):
    assert "All text in these files is synthetic" in (sample[0] / "README.txt").read_text()


@pytest.mark.parametrize(("language", "key"), [("en", "english_pages"), ("ja", "japanese_pages")])
def test_a_dump_is_an_export_of_mediawiki(sample, editions, language, key):
    directory, counts, _ = sample
    root, pages = xml_pages(directory / f"{language}wiki-sample-pages-articles.xml.bz2")
    assert root.tag == EXPORT + "mediawiki"
    assert root.attrib["version"] == "0.11"
    assert len(root.findall(f"{EXPORT}siteinfo/{EXPORT}namespaces/{EXPORT}namespace")) == 15
    assert len(pages) == len(editions[language]) == counts[key]
    for page, truth in zip(pages, editions[language], strict=True):
        redirect = page.find(f"{EXPORT}redirect")
        text = page.find(f"{EXPORT}revision/{EXPORT}text")
        assert value(page, "title") == truth.title
        assert int(value(page, "id")) == truth.id
        assert int(value(page, "ns")) == truth.namespace
        assert value(page, "revision/text") == truth.wikitext
        assert int(text.attrib["bytes"]) == len(truth.wikitext.encode())
        assert re.fullmatch("[0-9a-z]{31}", text.attrib["sha1"])
        assert (redirect is None) == (truth.redirect is None)
        assert value(page, "revision/timestamp") == f"{truth.timestamp:%Y-%m-%dT%H:%M:%SZ}"
    assert len({page.id for page in editions[language]}) == len(pages)
    assert len({page.title for page in editions[language]}) == len(pages)


def test_langlinks_are_a_mysql_dump_whose_rows_join_pages_of_both_editions(sample, editions):
    directory, counts, _ = sample
    sql = gzip.decompress((directory / "enwiki-sample-langlinks.sql.gz").read_bytes()).decode()
    assert sql.startswith("-- MySQL dump")
    assert "CREATE TABLE `langlinks`" in sql
    inserts = [line for line in sql.splitlines() if line.startswith("INSERT INTO")]
    for line in inserts:
        assert (
            ROW.sub("", line).strip(",")
            == "INSERT INTO `langlinks` VALUES " + "," * (len(ROW.findall(line)) - 1) + ";"
        )
    rows = [row for line in inserts for row in ROW.findall(line)]
    assert len(rows) > counts["mates"], "other languages are in it as well"
    assert any("\\'" in title for _, _, title in rows)
    mates = {
        int(page): re.sub(r"\\(.)", r"\1", title) for page, lang, title in rows if lang == "ja"
    }
    english = {page.id: page for page in editions["en"]}
    japanese = {page.title: page for page in editions["ja"] if page.redirect is None}
    assert len(mates) == counts["mates"]
    for page, title in mates.items():
        assert english[page].mate == title
        assert japanese[title].mate == english[page].title


# What the pages contain


@pytest.mark.parametrize(
    "pattern",
    [
        r"\[\[[^]|#]+\|[^]]+\]\]",                      # piped
        r"\[\[[^]|#]+#History\|[^]]+\]\]",              # to a section
        r"\[\[#History\|",                              # within the page
        r"\[\[[a-z]+\|",                                # lower-case first letter
        r"\[\[\w+_\w+\|",                               # underscores
        r"\[\[[a-z]+\]\]s\b",                           # plural trail
        r"\[\[19\d\d\]\]",
        r"\[\[4\d BC\]\]",
        r"\[\[File:[^\n]*\|thumb\|[^\n]*\[\[[^\n]*\]\]\n",  # caption with links
        r"\[\[Category:",
        r"\[\[fr:",
        r"\[\[:fr:",
        r"\[https://\S+ [^]]+\]",
        r"\{\{Infobox[^}]*\{\{start date\|[^}]*\{\{small\|\[\[",  # nested, with a link inside
        r"\{\| class=\"wikitable\"(?s:.)*?\[\[(?s:.)*?\|\}",
        r"<ref name=\"r\d\">\{\{cite",
        r"<ref name=\"r\d\" />",
        r"<nowiki>\[\[",
        r"<!-- .*\[\[.* -->",
        r"<math>",
        r"<gallery>",
        r"&nbsp;",
        r"&ndash;",
        r"'''\w",
        r"(?<!')''\w",
        r"^== \w+ ==$",
        r"^=== \w+ ===$",
        r"^\* \[\[",
        r"\{\{Navbox",
        r"\{\{DEFAULTSORT:",
    ],
)  # fmt: skip
def test_wikitext_has_what_real_pages_have(editions, pattern):
    found = re.compile(pattern, re.MULTILINE)
    assert any(found.search(page.wikitext) for page in editions["en"])


def test_namespaces_redirects_and_years_are_of_every_kind(editions):
    pages = editions["en"]
    assert {page.namespace for page in pages} == {0, 1, 4, 10, 14}
    redirects = {page.title: page.redirect for page in pages if page.redirect is not None}
    titles = {page.title for page in pages}
    goals = [goal.partition("#")[0] for goal in redirects.values()]
    assert any("#" in goal for goal in redirects.values())
    assert any(goal not in titles for goal in goals)
    assert any(goal in redirects and redirects[goal] not in redirects for goal in goals)
    assert any(redirects.get(goal) == title for title, goal in redirects.items())
    assert {"1984", "44 BC"} <= titles
    assert any(page.wikitext.startswith("#転送") for page in editions["ja"])


def test_true_links_lead_to_articles_and_are_a_dozen_on_average():
    pages = [page for page in sample_pages(600, 0) if page.concepts]
    titles = {page.title for page in pages}
    assert all(set(page.links) <= titles - {page.title} for page in pages)
    assert all(len(set(page.links)) == len(page.links) for page in pages)
    assert 12 <= np.mean([len(page.links) for page in pages]) <= 15
    by_title = {page.title: page for page in pages}
    mutual = [page.title in by_title[t].links for page in pages for t in page.links]
    assert 0.05 < np.mean(mutual) < 0.3


def test_concepts_are_named_by_their_first_words_alike_in_both_editions(editions):
    known = {concept.english[0].singular: concept for concept in load_lexicon().concepts}
    english, japanese = (
        {page.id: page for page in editions[language] if page.concepts} for language in ("en", "ja")
    )
    named = {name for page in english.values() for name in page.concepts}
    assert named <= known.keys()
    assert any(len(known[name].english) > 1 for name in named)
    assert {id: page.concepts for id, page in japanese.items()} == {
        id: english[id].concepts for id in japanese
    }


@pytest.mark.parametrize("language", ["en", "ja"])
def test_the_reader_of_dumps_finds_the_true_links_and_text(sample, editions, tmp_path, language):
    dump = sample[0] / f"{language}wiki-sample-pages-articles.xml.bz2"
    ingest("wikipedia", [dump], tmp_path / "corpus", processes=1)
    corpus = open_collection(tmp_path / "corpus")
    documents = corpus.documents.collect()
    title = dict(zip(documents["id"], documents["title"], strict=True))
    text = dict(zip(documents["title"], documents["text"], strict=True))
    found = {(title[source], title[target]) for source, target in corpus.links.collect().rows()}
    articles = [page for page in editions[language] if page.text]
    assert set(text) == {page.title for page in articles}
    assert found == {(page.title, target) for page in articles for target in page.links}
    for page in articles:
        # Beside the running text a reader may keep headings and captions.
        read = letters(text[page.title])
        assert all(letters(paragraph) in read for paragraph in page.text.splitlines())


def test_running_text_is_made_of_the_lexicon_numbers_and_names(editions):
    lexicon = load_lexicon()
    known = {english for english, _ in lexicon.pairs()}
    known |= {noun.plural for concept in lexicon.concepts for noun in concept.english}
    names = {name_of(number)[0].lower() for number in range(DOCUMENTS)}
    names |= {first_name_of(number)[0].lower() for number in range(16)}
    words = {w for page in editions["en"] for w in WORD.findall(page.text.lower())}
    assert words - known - names == set()


def test_lengths_vary(editions):
    lengths = [len(page.text.split()) for page in editions["en"] if page.concepts]
    assert min(lengths) < 90
    assert 120 < np.mean(lengths) < 200
    assert max(lengths) > 250


def test_one_thing_has_different_words_on_different_pages(editions):
    words = [set(WORD.findall(page.text.lower())) for page in editions["en"] if page.concepts]
    says_car = [bool(w & {"car", "cars"}) for w in words]
    says_automobile = [bool(w & {"automobile", "automobiles"}) for w in words]
    assert {(True, False), (False, True)} <= set(zip(says_car, says_automobile, strict=True))


def test_the_japanese_edition_is_japanese(editions):
    articles = [page for page in editions["ja"] if page.concepts]
    assert 0.6 < len(articles) / DOCUMENTS < 0.8
    for page in articles:
        assert "。" in page.text
        assert not re.search(r"[a-zA-Z]{3}", page.text)


# Size


def test_pages_are_generated_one_by_one():
    world = plan_world(20_000, 0)
    arrays = [v for v in vars(world).values() if isinstance(v, np.ndarray)]
    arrays += [*world.entities]
    assert sum(array.nbytes for array in arrays) < 64 * 20_000
    few = list(itertools.islice(sample_pages(4_000, 0), 3))
    assert few[0].concepts
    pages = sample_pages(4_000, 0)
    next(pages)
    tracemalloc.start()
    for _ in itertools.islice(pages, 400):
        pass
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 500_000


def test_a_stream_of_dice_is_blocks_of_256_numbers_each_from_its_end():
    key = np.array([3, (4 << 40) + 5], np.uint64)
    numbers = np.random.Generator(np.random.Philox(key=key)).random((3, 256))
    dice, other = Dice(3, 4, 5), Dice(3, 4, 6)
    drawn = [(dice.uniform(), other.uniform())[0] for _ in range(3 * 256)]
    assert drawn == numbers[:, ::-1].ravel().tolist()


def test_a_page_does_not_depend_on_the_pages_before_it():
    world = plan_world(50, 1)
    assert world.links(30) == plan_world(50, 1).links(30)


@pytest.mark.parametrize(("documents", "seed"), [(19, 0), (20, -1)])
def test_a_size_or_seed_out_of_range_is_named(documents, seed):
    with pytest.raises(ValueError, match=r"documents=19|seed=-1"):
        plan_world(documents, seed)


def test_the_smallest_sample_is_whole(tmp_path):
    counts = write_sample(tmp_path, documents=20)
    assert counts["english_pages"] > 20


# Clicks


def test_the_click_log_is_a_table_of_known_pages_and_ads(sample, editions):
    directory, counts, _ = sample
    lines = gzip.decompress((directory / "clicks.tsv.gz").read_bytes()).decode().splitlines()
    assert lines[0].split("\t") == [
        "session", "time", "page", "title", "ad", "text", "position", "clicked"
    ]  # fmt: skip
    rows = [line.split("\t") for line in lines[1:]]
    ads = gzip.decompress((directory / "ads.tsv.gz").read_bytes()).decode().splitlines()
    text = dict(line.split("\t") for line in ads[1:])
    title = {str(page.id): page.title for page in editions["en"]}
    assert all(title[row[2]] == row[3] and text[row[4]] == row[5] for row in rows)
    assert sum(int(row[7]) for row in rows) == counts["clicks"] > 500
    slates = Counter(row[0] for row in rows)
    assert len(slates) == counts["sessions"]
    assert set(slates.values()) == {4, 5, 6}
    assert len(text) == counts["ads"]
    assert [row[1] for row in rows] == sorted(row[1] for row in rows)


def test_clicks_follow_examination_and_relevance(sample):
    world = plan_world(DOCUMENTS, 3)
    expected, clicked = np.zeros(6), np.zeros(6)
    bids = [[] for _ in EXAMINATION]
    for showing in click_log(world, 10_000):
        position = showing.position - 1
        expected[position] += ad_relevance(world, showing.page, showing.ad.concept)
        clicked[position] += showing.clicked
        bids[position].append(showing.ad.bid)
    np.testing.assert_allclose((clicked / expected)[:4], EXAMINATION[:4], rtol=0.15)
    means = [np.mean(bid) for bid in bids]
    assert means == sorted(means, reverse=True)
    truth = json.loads((sample[0] / "clicks-truth.json").read_text())
    assert truth["examination"] == list(EXAMINATION)


def test_relevance_falls_with_the_distance_of_topics():
    world = plan_world(DOCUMENTS, 3)
    own = world.own_concept(0)
    used = world.used_concepts(0)[0]
    active = range(world.subjects * CONCEPTS_A_SUBJECT)
    relevance = {concept: ad_relevance(world, 0, concept) for concept in active}
    assert relevance[own] > relevance[used] > min(relevance.values())
    assert len(set(relevance.values())) == 4
    assert {ad.concept for ad in ads_of(world)} == set(active)
