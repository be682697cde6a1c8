"""Drives a headless Chromium over the pipe of its DevTools protocol, with nothing but Python's own library.

    with Chromium(tmp_path) as browser:
        view = browser.open(page, width=375, dark=True)
        assert view.evaluate("document.title") == "..."
"""

import base64
import json
import os
import shutil
import subprocess
from pathlib import Path


def find_chromium() -> str:
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if found := shutil.which(name):
            return found
    raise LookupError("there is no Chromium: run scripts/browser.sh, which installs it")


class View:
    """Shows one page in a window of one width."""

    def __init__(self, browser, session):
        self.browser, self.session = browser, session
        self.problems, self.requests = [], []

    def call(self, method, **parameters):
        return self.browser.call(method, parameters, self.session)

    def evaluate(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def screenshot(self, file: Path):
        """Writes the whole page, not only what the window shows."""
        picture = self.call("Page.captureScreenshot", captureBeyondViewport=True)
        file.write_bytes(base64.b64decode(picture["data"]))

    def note(self, method, parameters):
        if method == "Runtime.exceptionThrown" or method == "Runtime.consoleAPICalled":
            self.problems.append(parameters)
        elif method == "Log.entryAdded" and parameters["entry"]["level"] in ("error", "warning"):
            self.problems.append(parameters["entry"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])


class Chromium:
    def __init__(self, profile: Path):
        self.profile, self.views, self.last = profile, {}, 0

    def __enter__(self):
        to_browser, self.output = os.pipe()
        self.input, from_browser = os.pipe()
        command = [find_chromium(), "--headless=new", "--remote-debugging-pipe", f"--user-data-dir={self.profile}",
                   "--no-first-run", "--disable-gpu", "--hide-scrollbars", "--disable-dev-shm-usage", "--force-device-scale-factor=1"]
        if os.geteuid() == 0:
            command.append("--no-sandbox")  # which Chromium refuses to have as root
        # It reads from the descriptor 3 and writes to 4.
        self.process = subprocess.Popen(
            ["bash", "-c", f'exec "$@" 3<&{to_browser} 4>&{from_browser}', "chromium", *command],
            pass_fds=(to_browser, from_browser), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self.rest = b""
        return self

    def __exit__(self, *_):
        os.close(self.output)
        os.close(self.input)
        self.process.terminate()
        self.process.wait(30)

    def read(self) -> dict:
        while b"\0" not in self.rest:
            more = os.read(self.input, 1 << 20)
            assert more, "Chromium ended"
            self.rest += more
        message, _, self.rest = self.rest.partition(b"\0")
        return json.loads(message)

    def receive(self, wanted) -> dict:
        """Reads until a message is wanted; what pages report meanwhile goes to their views."""
        while True:
            message = self.read()
            if view := self.views.get(message.get("sessionId")):
                view.note(message.get("method"), message.get("params"))
            if wanted(message):
                return message

    def call(self, method, parameters, session=None) -> dict:
        self.last += 1
        number = self.last
        message = {"id": number, "method": method, "params": parameters, **({"sessionId": session} if session else {})}
        os.write(self.output, json.dumps(message).encode() + b"\0")
        answer = self.receive(lambda each: each.get("id") == number)
        assert "error" not in answer, f"{method}: {answer.get('error')}"
        return answer["result"]

    def open(self, page: Path, width: int, dark: bool) -> View:
        target = self.call("Target.createTarget", {"url": "about:blank"})["targetId"]
        session = self.call("Target.attachToTarget", {"targetId": target, "flatten": True})["sessionId"]
        view = self.views[session] = View(self, session)
        for domain in ("Page", "Runtime", "Log", "Network"):
            view.call(f"{domain}.enable")
        view.call("Emulation.setDeviceMetricsOverride", width=width, height=800, deviceScaleFactor=1, mobile=width < 600)
        view.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        view.call("Page.navigate", url=page.absolute().as_uri())
        self.receive(lambda each: each.get("method") == "Page.loadEventFired" and each.get("sessionId") == session)
        return view
