import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

from benchmarks.load import ask


class Sometimes(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    asked = 0

    def do_GET(self):
        Sometimes.asked += 1
        assert self.path.startswith("/search?q=w")
        self.send_response(503 if Sometimes.asked == 3 else 200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *said):
        pass


def test_clients_time_every_answer_and_keep_what_is_no_success():
    with HTTPServer(("127.0.0.1", 0), Sometimes) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            found = ask(server.server_port, 1, 0.5)
        finally:
            server.shutdown()
            thread.join()
    assert len(found.times) == Sometimes.asked > 3
    assert found.errors == ["503"]
    assert min(found.times) > 0
    assert found.seconds >= 0.5
