"""Every engine and framework of docs/engines.md ranks as the model does, as the page prints it."""

import numpy as np
import pytest

from tests.flows.pages import every_block

PACKAGES = {
    "SQLite": "sqlite3",
    "DuckDB": "duckdb",
    "LanceDB": "lancedb",
    "LangChain": "langchain_core",
    "Haystack": "haystack",
    "PyTerrier": "pyterrier",
}
"""Heading of the page -> the module that its block needs."""
FIRST, *BLOCKS = [block for block in every_block("docs/engines.md") if block.kind == "python"]
# What these packages warn of is theirs.
pytestmark = [pytest.mark.trains, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(scope="module")
def names(tmp_path_factory):
    """What the first block of the page defines."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SSI_ROOT", str(tmp_path_factory.mktemp("engines")))
        names = {}
        exec(FIRST.text, names)
        yield names


def test_every_example_is_run():
    assert [block.heading for block in BLOCKS] == [*PACKAGES]


@pytest.mark.parametrize("block", BLOCKS, ids=[*PACKAGES])
def test_a_printed_search_finds_what_the_model_ranks_first(names, block, tmp_path, monkeypatch):
    pytest.importorskip(PACKAGES[block.heading], reason="make peers installs it")
    monkeypatch.chdir(tmp_path)
    here = dict(names)
    exec(block.text, here)
    model = here.get("latent", here["model"])
    ids = here["pages"]["id"].to_list()
    documents = model.encode_documents(here["docs"])
    for text in here["pages"]["title"][:30]:
        query = model.encode_queries([text])
        scores = query.dense[0] @ documents.dense.T
        if documents.sparse.shape[1]:
            scores = scores + (query.sparse @ documents.sparse.T).toarray()[0]
        best = [ids[n] for n in np.argsort(-scores, kind="stable")[:10]]
        found = here["search"](text)
        assert len({*found} & {*best}) >= 9  # equal scores, and the last bits of others
        assert found[0] == best[0] or np.isclose(*scores[[ids.index(found[0]), ids.index(best[0])]])
