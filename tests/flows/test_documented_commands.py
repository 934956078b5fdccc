"""The commands of the documentation, run as they are printed."""

import contextlib
import os
import re
import signal
import subprocess
from itertools import chain
from pathlib import Path

import pytest

from flows.reporting.shipped_tables import NEW_DATA, shipped_tables
from flows.servers.supervisor import GRACE
from tests.flows.machine import wait_for
from tests.flows.pages import NOT_RUN, REPOSITORY, blocks, commands
from tests.flows.printed import (
    INPUTS,
    answers_of,
    clone,
    compiled,
    in_turn,
    ports_of,
    taken,
    variables,
    write_tables,
)

SECTIONS = [
    ("docs/deployment.md", "With one command"),
    ("docs/deployment.md", "Separate services"),
    ("docs/operator.md", None),
]
"""Sections that run in a fresh checkout, and use its servers; None: all of a page."""
TABLES = [("docs/which-table.md", "Links"), ("docs/which-table.md", "Clicks")]
JUDGED = [("docs/which-table.md", "Judged queries")]
STORIES = {
    "own documents": [
        ("docs/own-texts.md", "Two files"),
        ("docs/own-texts.md", "With one command"),
    ],
    "fields": [("docs/fields.md", "Which field matched")],
    "search engineer": [
        ("docs/search-engineer.md", None),
        ("docs/serving.md", "Added and removed documents"),
        ("docs/serving.md", "MLflow's own server"),
    ],
    "reranking": [
        ("docs/reranking.md", "Commands"),
        ("docs/reranking.md", "Features of your own models"),
        ("docs/reranking.md", "One model of two stages"),
        ("docs/reranking.md", "Selection of features"),
    ],
    "researcher": [("docs/researcher.md", None)],
    "backup": [("docs/backup.md", "Commands")],
    "clicks": [("docs/clicks.md", "Only what changed")],
    "export": [("docs/export.md", None)],
    "cluster": [("docs/cluster.md", "From nothing to a table")],
    "codes": [("docs/hash-codes.md", "Commands")],
    "summaries": [("docs/summaries.md", "Commands"), ("docs/summaries.md", "Measured")],
    "feeds": [("docs/feeds.md", "Commands")],
    "site": [("docs/site.md", "From a site to its search")],
    "profiles": [("docs/profiles.md", "Commands")],
    "hashing": [("docs/hashing.md", "Words that go together")],
    "mates": [("docs/mates.md", "Mates: documents of two languages on one subject")],
    "pages": [("docs/mlflow.md", "What MLflow holds")],
    "retraining": [("docs/retraining.md", "Retraining, and who becomes champion")],
}
"""Sections that run one after the other in an empty directory, with the files that they name."""
RUNS = [*SECTIONS, *TABLES, *JUDGED, *chain.from_iterable(STORIES.values())]


def test_blocks_are_what_is_printed(tmp_path, monkeypatch):
    page = (
        "# A\n\n    one \\\n      more\n\n    two\n\ntext\n\n    three\n\n## B\n\n    four\n\n# C\n"
    )
    (tmp_path / "page.md").write_text(page + "\n```sh\nfive\n```\n")
    monkeypatch.setattr("tests.flows.pages.REPOSITORY", tmp_path)
    assert blocks("page.md", "A") == ["one \\\n  more\n\ntwo\n", "three\n", "four\n"]
    assert blocks("page.md", "B") == ["four\n"]
    assert blocks("page.md", "C") == ["five\n"]


@pytest.fixture
def checkout(tmp_path):
    clone(tmp_path)
    return tmp_path


@contextlib.contextmanager
def terminals(checkout, environment):
    """A function that runs a block of commands in a terminal of its own, until it has answered."""
    started = []

    def run(block):
        log = checkout / f"terminal-{len(started)}.log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                ["bash", "-euc", block], cwd=checkout, env=environment,
                stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True,
            )  # fmt: skip
        started.append(process)
        goes_on = answers_of(block)

        def answered():
            if process.poll() is not None:
                assert process.returncode == 0, f"{block}\n{log.read_text()}"
                assert not goes_on, f"{block} ended:\n{log.read_text()}"
                return True
            return bool(goes_on) and goes_on[0](log.read_text)

        wait_for(answered, 900)
        return log.read_text()

    try:
        yield run
    finally:
        for process in reversed(started):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(6 * GRACE)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def run_as_printed(sections, place, environment):
    """Run the commands of sections, or pages, in their order; return what the last printed."""
    printed_blocks = [
        block.text
        for page, heading in sections
        for block in commands(page, heading)
        if block.first not in NOT_RUN.get(page, {})
    ]
    ports = ports_of(printed_blocks)
    with in_turn() if ports else contextlib.nullcontext(), terminals(place, environment) as run:
        if others := taken(ports):
            pytest.skip(f"somebody else has the ports {others}, which the pages name")
        for block in printed_blocks:
            printed = run(block)
    return printed


@pytest.mark.slow
@pytest.mark.parametrize(("page", "heading"), SECTIONS)
def test_the_commands_of_a_deployment_work_as_printed(page, heading, checkout):
    run_as_printed([(page, heading)], checkout, variables(checkout))
    # The sample that `ingest` makes, and nothing outside the checkout.
    assert list((checkout / ".ssi" / "store" / "collection").iterdir())


@pytest.mark.slow
@pytest.mark.parametrize("sections", STORIES.values(), ids=STORIES)
def test_pages_work_as_printed_from_the_beginning_to_the_end(sections, tmp_path):
    for page in dict.fromkeys(page for page, _ in sections):
        write_tables(page, tmp_path)
        INPUTS.get(page, lambda place: None)(tmp_path)
    run_as_printed(sections, tmp_path, compiled(tmp_path))


@pytest.mark.slow
@pytest.mark.parametrize("sections", [TABLES, JUDGED], ids=["links and clicks", "judged"])
def test_the_commands_for_new_data_work_as_printed(sections, tmp_path):
    """On the sample, with compiled kernels; the collection is a real one."""
    if sections == JUDGED:
        if "SSI_REAL_DATA" not in os.environ:
            pytest.skip("needs SSI_REAL_DATA")
        source = Path(os.environ["SSI_REAL_DATA"]) / "ir-test-collections" / "cranfield"
        (tmp_path / "cranfield").symlink_to(source)
    printed = run_as_printed(sections, tmp_path, compiled(tmp_path))
    assert "better, \N{DEGREE SIGN} worse than" in printed


def test_the_page_on_tables_names_shipped_ones_and_all_for_new_data():
    text = (REPOSITORY / "docs" / "which-table.md").read_text(encoding="utf-8")
    rows = [line for line in text.splitlines() if line.startswith("|")]
    named = {word for row in rows for word in re.findall(r"`([a-z]+[a-z0-9]*-[a-z0-9-]+)`", row)}
    assert named <= set(shipped_tables())
    assert set(NEW_DATA.values()) <= {
        word for row in rows for word in re.findall(r"`([^`]+)`", row)
    }
