"""A site of the sample's pages, searched."""

import pytest

import ssi_core as ssi
from tests.guests.site.made import encyclopedia


@pytest.fixture(scope="package")
def wiki(tmp_path_factory):
    """Return the folder of a site with its search in ``search``."""
    path = tmp_path_factory.mktemp("site")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SSI_ROOT", str(path / "root"))
        folder = encyclopedia(path / "public")
        ssi.site(folder, folder / "search", budget=60_000)
    return folder
