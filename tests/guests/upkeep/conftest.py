"""A sealed directory, as the core's tests have it."""

from tests.test_integrity import sealed  # noqa: F401
