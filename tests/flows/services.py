"""Services for tests: two small models, and a server in a thread."""

import contextlib
import threading
import time

import httpx
import uvicorn

from flows.serve.app import make_app
from flows.serve.service import Service
from flows.servers.server import free_port
from ssi_core.guests.live.changes import Changes
from ssi_core.serving.index import build_index
from tests.serving.models import documents, random_models

MODELS = random_models(0)
TFIDF, BILINEAR = MODELS[0], MODELS[-1]


def write_model(fitted, directory, texts=()):
    """A directory with a model and an index of six documents, with their texts if there are any."""
    fitted.save(directory / "model")
    own = documents(dict(fitted.document_views))
    build_index(fitted, own, directory / "index", parents={"model": directory.name}, texts=texts)
    return directory


@contextlib.contextmanager
def answering(service):
    """A client of a service that runs in a thread."""
    port = free_port()
    config = uvicorn.Config(make_app(service), port=port, log_config=None, access_log=False)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started:
            assert thread.is_alive()
            time.sleep(0.01)
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=30) as client:
            yield client
    finally:
        server.should_exit = True
        thread.join(30)


class Registry:
    """What names mean; ``registry.place[name] = directory`` changes it."""

    def __init__(self, **place):
        self.place = place

    def __call__(self, name):
        found = self.place[name.removeprefix("models:/ssi@")]
        if isinstance(found, Exception):
            raise found
        return found


def service(path, registry, *names):
    """A service of the models of some names, with documents of its own."""
    return Service([f"models:/ssi@{name}" for name in names], Changes(path), registry)
