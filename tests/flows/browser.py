"""A headless Chromium, driven over its DevTools protocol."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from websockets.sync.client import connect

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("chrome")


class LeftPage(Exception):
    """The page led elsewhere before it could answer, as one does that logs in."""


class Browser:
    """One page; what it logs as an error is in ``errors``."""

    def __enter__(self):
        self._profile = Path(tempfile.mkdtemp())
        self._process = subprocess.Popen(
            [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
             "--no-first-run", "--disable-background-networking", "--lang=en",
             f"--user-data-dir={self._profile}", "--remote-debugging-port=0", "about:blank"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        port = self._profile / "DevToolsActivePort"
        self.until(lambda: port.exists() and port.read_text().count("\n"), "a browser")
        number, path = port.read_text().split()[:2]
        self._socket = connect(
            f"ws://127.0.0.1:{number}{path}", max_size=None, proxy=None, ping_interval=None
        )  # a busy machine answers late
        self._last, self._session, self.errors = 0, None, []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        return self

    def __exit__(self, *raised):
        self._socket.close()
        self._process.terminate()
        self._process.wait(30)
        shutil.rmtree(self._profile, ignore_errors=True)

    def call(self, method, **parameters):
        """Ask the browser, and keep the errors that it tells meanwhile."""
        self._last += 1
        asked = {"id": self._last, "method": method, "params": parameters}
        if self._session:
            asked["sessionId"] = self._session
        self._socket.send(json.dumps(asked))
        while True:
            said = json.loads(self._socket.recv(timeout=60))
            if said.get("id") == self._last:
                if "navigated" in said.get("error", {}).get("message", ""):
                    raise LeftPage
                assert "error" not in said, said
                return said["result"]
            if said.get("method") == "Runtime.exceptionThrown":
                self.errors.append(said["params"]["exceptionDetails"])
            if said.get("method") == "Log.entryAdded":
                entry = said["params"]["entry"]
                # An answer of 4xx is one that the page reads.
                if entry["level"] == "error" and entry["source"] != "network":
                    self.errors.append(entry)

    def run(self, script):
        """Value of a script in the page."""
        asked = {"expression": script, "returnByValue": True, "awaitPromise": True}
        said = self.call("Runtime.evaluate", **asked)
        assert "exceptionDetails" not in said, said
        return said["result"].get("value")

    def until(self, holds, what):
        """Wait until it holds."""
        end = time.monotonic() + 300  # a busy machine is slow
        while not (found := holds()):
            assert time.monotonic() < end, f"waited for {what}"
            time.sleep(0.05)
        return found

    def wait(self, script):
        """Wait until a script's value is true; it may fail before, as where a page has no body."""
        asked = f"(() => {{ try {{ return !!({script}) }} catch {{ return false }} }})()"

        def holds():
            try:
                return self.run(asked)
            except LeftPage:
                return False

        return self.until(holds, script)

    def size(self, width, height, *, dark=False):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=width < 600)  # fmt: skip
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])

    def open(self, url):
        self.call("Page.navigate", url=url)
        self.wait("document.readyState === 'complete'")

    def address(self):
        """What stands in the bar of addresses; it follows the page with a delay."""
        known = self.call("Page.getNavigationHistory")
        return known["entries"][known["currentIndex"]]["url"]

    def type(self, text):
        self.call("Input.insertText", text=text)

    def press(self, key):
        codes = {"Enter": 13, "Escape": 27, "ArrowDown": 40, "ArrowUp": 38, "Tab": 9, "/": 191}
        text = {"Enter": "\r", "/": "/"}.get(key, "")
        for kind in ("keyDown", "keyUp"):
            own = {"text": text} if kind == "keyDown" else {}
            pressed = {"key": key, "code": key, "windowsVirtualKeyCode": codes[key], **own}
            self.call("Input.dispatchKeyEvent", type=kind, **pressed)
