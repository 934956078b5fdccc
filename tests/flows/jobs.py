"""What worker processes are asked to do in tests; a worker imports it by name."""

import os
import time

from ssi_core.types import BadInput


def whoami():
    return os.getpid()


def variable(name):
    return os.environ.get(name)


def refuse(message):
    raise BadInput(message)


def die():
    os._exit(3)


def wait_or_mark(started, path):
    try:
        started.touch()
        time.sleep(60)
    except KeyboardInterrupt:
        path.write_text("interrupted")
        raise


class Sticky(Exception):
    def __init__(self, one, two):
        super().__init__(one)
        self.two = two


def unpicklable():
    raise Sticky("a", "b")
