"""Files of users are opened at the one door, `ssi_core.corpus.inputs`; all other places are listed.

A reader that opens a file by itself forgets one of: links out of a folder, pipes, bytes that are
bounded after they are unpacked, a message with the file and a remedy.
"""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2] / "ssi_core"
ROOMS = ("corpus", "guests", "datasets", "command", "face", "tasks")
OTHERS = (
    "experiment/toml.py",
    "evaluation/trec.py",
)
DOOR = {"corpus/inputs.py", "corpus/archive.py", "corpus/tables/parquet.py", "corpus/tree.py"}

PARTS = "files of an artefact, whose digests were checked when it was opened"
WORK = "files that this run of the ingestion has written"
NAMED = "only names are looked at; a file that is taken is opened at the door"
ALLOWED = {
    "datasets/wikipedia/before.py": PARTS,
    "guests/click_logs/before.py": PARTS,
    "guests/click_logs/judged_log.py": PARTS,
    "corpus/language.py": WORK,
    "datasets/query_log.py": WORK,
    "guests/click_logs/quarantine.py": WORK,
    "guests/click_logs/shards.py": WORK,
    "guests/click_logs/texts.py": PARTS,
    "guests/live/page.py": "the text of a page that is searched for, and not kept",
    "guests/monitoring/click_rates.py": PARTS,
    "guests/monitoring/trial.py": "manifests, which are compared with what they were",
    "guests/upkeep/listing.py": NAMED,
    "guests/upkeep/verify.py": NAMED,
    "guests/off_policy/visits.py": PARTS,
    "guests/export/encoder.py": "files of an export, which have digests",
    "guests/export/search_bm25s.py": "as above",
    "guests/export/search_faiss.py": "as above",
    "guests/export/targets/bm25s.py": "sizes of files that this export has written",
    "guests/export/targets/faiss.py": "as above",
    "guests/export/writing.py": "programs of this package, and names of files that were written",
    "guests/site/ranking.py": "files of a site's search, which 'ssi site' writes",
    "guests/site/writing.py": "programs of this package, and the sizes of files that were written",
    "datasets/wikispeedia_clicks.py": WORK,
    "datasets/smart.py": NAMED,
    "datasets/wikipedia/download.py": "bytes fetched now, compared with a published checksum",
    "corpus/web/folder.py": WORK,
    "corpus/judged/queries.py": PARTS,
    "corpus/judged/judgements.py": WORK,
    "datasets/wikipedia/mediawiki.py": WORK,
    "corpus/user_texts.py": WORK,
    "datasets/wikipedia/readings.py": PARTS,
    "corpus/earlier.py": PARTS,
    "guests/click_logs/source.py": NAMED,
    "corpus/sources/judged.py": NAMED,
    "corpus/tables/documents.py": WORK,
    "guests/reranking/commands.py": NAMED,
    "command/index.py": PARTS,
    "command/mistakes.py": NAMED,
    "experiment/toml.py": NAMED,
    "guests/feeds/writing.py": "the directory that is written must be empty",
    "guests/trec_run/trec_run.py": "bytes that were read at the door",
    "guests/reranking/table.py": "tables that the package ships, by their names",
    "guests/summary/concepts.py": PARTS,
    "guests/clickthrough/topic_model.py": "numbers that this training has written",
    "tasks/counted.py": PARTS,
    "tasks/impressions.py": PARTS,
    "tasks/fields.py": PARTS,
    "tasks/frozen.py": PARTS,
    "tasks/names.py": PARTS,
    "tasks/reading.py": PARTS,
    "evaluation/trec.py": WORK,
}  # fmt: skip
"""File that reads elsewhere than at the door -> what it reads."""

METHODS = {"read_text", "read_bytes", "open", "glob", "rglob", "iterdir", "fromfile", "loadtxt"}
MODULES = {"gzip", "bz2", "lzma", "tarfile", "zipfile", "zstandard", "tomllib", "shutil", "mmap"}
UNPACKING = {"GzipFile", "BZ2File", "LZMAFile", "decompress", "is_tarfile", "ZipFile", "load",
             "unpack_archive", "open", "mmap"}  # fmt: skip
OS = {"open", "walk", "scandir", "listdir", "fdopen"}


def opened(tree):
    """Yield the line and the name of each call that opens, lists or unpacks a file."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or writes(node):
            continue
        called = node.func
        if isinstance(called, ast.Name) and called.id == "open":
            yield node.lineno, "open"
        elif isinstance(called, ast.Attribute):
            owner = called.value.id if isinstance(called.value, ast.Name) else ""
            if owner == "pl":
                names = called.attr.startswith(("read_", "scan_")) and called.attr != "read_ipc"
            elif owner in MODULES:
                names = called.attr in UNPACKING
            elif owner in ("os", "np"):
                names = called.attr in OS | {"load", "loadtxt", "fromfile", "memmap", "genfromtxt"}
            else:
                names = called.attr in METHODS and owner not in ("inputs", "Task", "cls")
            if names:
                yield node.lineno, ast.unparse(called)


def writes(call):
    """Tell whether a call opens a file for writing alone."""
    modes = [one.value for one in [*call.args, *(k.value for k in call.keywords if k.arg == "mode")]
             if isinstance(one, ast.Constant) and isinstance(one.value, str)]  # fmt: skip
    return any(set(mode) <= set("wabxt") and set(mode) & set("wax") for mode in modes)


def sources():
    files = [path for room in ROOMS for path in (ROOT / room).rglob("*.py")]
    return sorted([*files, *(ROOT / name for name in OTHERS)])


def test_files_are_opened_at_the_door_alone():
    elsewhere = {}
    for path in sources():
        name = path.relative_to(ROOT).as_posix()
        calls = list(opened(ast.parse(path.read_text(encoding="utf-8"))))
        if calls and name not in DOOR:
            elsewhere[name] = calls
    assert {name: calls for name, calls in elsewhere.items() if name not in ALLOWED} == {}
    here = {name for name in ALLOWED if (ROOT / name).parent.is_dir()}  # the core may stand alone
    assert here - elsewhere.keys() == set(), "no longer needed"


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("open(p)", ["open"]),
        ("p.read_bytes()", ["p.read_bytes"]),
        ("Path(p).open('rb')", ["Path(p).open"]),
        ("gzip.open(p, 'rt')", ["gzip.open"]),
        ("gzip.decompress(b)", ["gzip.decompress"]),
        ("pl.scan_parquet(p)", ["pl.scan_parquet"]),
        ("tarfile.open(p)", ["tarfile.open"]),
        ("tomllib.load(f)", ["tomllib.load"]),
        ("os.walk(p)", ["os.walk"]),
        ("np.load(p)", ["np.load"]),
        ("p.open('wb'); inputs.open_input(p); tomllib.loads(t)", []),
    ],
)  # fmt: skip
def test_openings_are_recognised(code, names):
    assert [name for _, name in opened(ast.parse(code))] == names
