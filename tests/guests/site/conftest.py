"""A site of the sample's pages, searched."""

import pytest

import ssi_core as ssi
from ssi_core.guests.site import face, learning
from tests.guests.site.made import encyclopedia


@pytest.fixture(scope="package")
def made(tmp_path_factory):
    """A site whose search is in ``search``, what was learnt, BM25F, and its sum with `U'V`."""
    path = tmp_path_factory.mktemp("site [a]")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SSI_ROOT", str(path / "root"))
        folder, kept = encyclopedia(path / "public"), []

        def keeping(function):
            def kept_too(*given, **how):
                kept.append(function(*given, **how))
                return kept[-1]

            return kept_too

        patch.setattr(learning, "_chosen", keeping(learning._chosen))
        patch.setattr(face, "learn", keeping(learning.learn))
        ssi.site(folder, folder / "search", budget=60_000)
    models, learnt = kept
    return folder, learnt, *models


@pytest.fixture(scope="package")
def wiki(made):
    """The folder of that site."""
    return made[0]
