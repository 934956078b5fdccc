"""A folder served over HTTP, as strictly as a site may."""

import threading
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; base-uri 'none'"


class _Handler(SimpleHTTPRequestHandler):
    def end_headers(self):
        self.send_header("Content-Security-Policy", POLICY)
        self.send_header("Cache-Control", "no-store")
        super().end_headers()

    def do_GET(self):
        self.path = self.path.replace("/below/a/path", "", 1)
        super().do_GET()

    def log_message(self, *said):
        pass


@contextmanager
def served(folder):
    """Yield the address of a folder, which lies below a path."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Handler, directory=folder)) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/below/a/path"
        finally:
            server.shutdown()
            thread.join()
