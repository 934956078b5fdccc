"""Packages of extras, and what the library has in their place."""

import sys

import pytest
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from ssi_core import extras
from ssi_core.text.stems import ENGLISH
from ssi_core.types import Refused


def test_a_package_that_is_not_there_is_named_with_the_extra_that_installs_it(monkeypatch):
    assert extras.module("sklearn.svm", "sklearn").SVC
    monkeypatch.setitem(sys.modules, "sklearn", None)
    monkeypatch.delitem(sys.modules, "sklearn.svm")
    with pytest.raises(Refused, match=r"sklearn is not installed: pip install 'ssi\[sklearn\]'\."):
        extras.module("sklearn.svm", "sklearn")


def test_the_stop_words_are_those_of_scikit_learn():
    assert ENGLISH == ENGLISH_STOP_WORDS
