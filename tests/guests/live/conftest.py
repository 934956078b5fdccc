"""Searchers of the core's tests, whose documents come and go here."""

from tests.serving.test_approximate import exact  # noqa: F401
from tests.serving.test_fields import docs, index, task  # noqa: F401
from tests.serving.test_related import place  # noqa: F401
