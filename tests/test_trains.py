import pytest

from ssi_core.models.latent.lsi import leading_vectors
from tests import trains


def test_a_test_that_trains_without_the_marker_fails(request):
    with pytest.raises(AssertionError, match=r"test_a_test_that_trains.* trains: mark it with"):
        leading_vectors(None, [3], None)
    request.node.add_marker("trains")
    with pytest.raises(AttributeError):  # of None, which is no matrix
        leading_vectors(None, [3], None)


class Item:
    def __init__(self, *fixtures):
        self.fixturenames, self.marks = fixtures, []

    def add_marker(self, name):
        self.marks.append(name)


def test_a_test_that_uses_a_trained_model_is_marked():
    user, other = Item("tmp_path", "project"), Item("tmp_path")
    trains.mark([user, other])
    assert (user.marks, other.marks) == (["trains"], [])
