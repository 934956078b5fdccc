"""Settings of a task as a command gives them."""

import pytest

from ssi_core.tasks.settings import FeaturesSettings
from ssi_core.types import BadInput


def test_a_collection_says_what_is_relevant_unless_the_command_does(corpus_dir):
    given = FeaturesSettings.of_command(corpus=str(corpus_dir), views=("raw", "sublinear:10"))
    assert (given.relevant, given.views) == ("link", ("counts", "raw", "sublinear:10"))
    asked = FeaturesSettings.of_command(corpus="nowhere", relevant="click", words=3)
    assert (asked.relevant, asked.spec.words) == ("click", 3)


def test_a_view_that_is_none_is_named_before_a_collection_is_opened():
    with pytest.raises(ValueError, match="view='rw'"):
        FeaturesSettings.of_command(corpus="nowhere", views=("raw", "rw"))


def test_settings_that_mean_nothing_are_named_as_those_of_the_command(corpus_dir):
    with pytest.raises(BadInput, match=r"ssi data features: .*split"):
        FeaturesSettings.of_command(corpus=str(corpus_dir), split="pages")
