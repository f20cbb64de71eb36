"""A headless Chromium, led over its debugging protocol."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

from websockets.sync.client import ClientConnection, connect

NAMES = ("chromium", "chromium-browser", "google-chrome")


def executable() -> str | None:
    """Where Chromium is; None if there is none."""
    return next((found for name in NAMES if (found := shutil.which(name))), None)


class Page:
    """One page of the browser."""

    def __init__(self, connection: ClientConnection) -> None:
        self._connection = connection
        self._numbers = count(1)
        #: Errors of the page's scripts, and what they wrote to the console.
        self.complaints: list[str] = []
        self._call("Runtime.enable")
        self._call("Page.enable")

    def _call(self, method: str, **params: Any) -> Any:
        number = next(self._numbers)
        self._connection.send(json.dumps({"id": number, "method": method, "params": params}))
        while True:
            message = json.loads(self._connection.recv(timeout=30))
            if message.get("method") in ("Runtime.exceptionThrown", "Runtime.consoleAPICalled"):
                self.complaints.append(json.dumps(message["params"]))
            if message.get("id") == number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']['message']}")
                return message["result"]

    def open(self, url: str, width: int = 960, height: int = 720) -> None:
        """Go to a page, shown in a window of this size."""
        self._call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self._call("Page.navigate", url=url)

    def evaluate(self, script: str) -> Any:
        """The value of an expression in the page."""
        result = self._call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{script}: {result['exceptionDetails']['text']}")
        return result["result"].get("value")

    def wait(self, script: str, timeout_s: float = 20) -> Any:
        """The value of an expression once it is true. Raises TimeoutError."""
        deadline = time.monotonic() + timeout_s
        while not (value := self.evaluate(script)):
            if time.monotonic() > deadline:
                raise TimeoutError(f"{script} stayed {value!r}")
            time.sleep(0.02)
        return value

    def show_as(self, *, scheme: str = "light", media: str = "screen") -> None:
        """Prefer `scheme`, light or dark, and show the page as on `media`, screen or print."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self._call("Emulation.setEmulatedMedia", media=media, features=features)

    def size(self, width: int, height: int) -> None:
        """Give the window this size."""
        self._call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def picture(self, *, whole: bool = False) -> bytes:
        """What the window shows, or the `whole` page, PNG."""
        return base64.b64decode(
            self._call("Page.captureScreenshot", format="png", captureBeyondViewport=whole, **self._clip(whole))["data"]
        )

    def _clip(self, whole: bool) -> dict[str, Any]:
        if not whole:
            return {}
        content = self._call("Page.getLayoutMetrics")["cssContentSize"]
        return {"clip": {"x": 0, "y": 0, "width": content["width"], "height": content["height"], "scale": 1}}

    def pdf(self) -> bytes:
        """The page as it is printed, A4."""
        printed = self._call(
            "Page.printToPDF", paperWidth=8.27, paperHeight=11.69, printBackground=False, preferCSSPageSize=True
        )
        return base64.b64decode(printed["data"])


@contextmanager
def browser() -> Iterator[Page]:
    """A browser with a profile of its own and an empty page. Raises RuntimeError if there is no Chromium."""
    program = executable()
    if program is None:
        raise RuntimeError("there is no Chromium here: apt-get install chromium")
    with tempfile.TemporaryDirectory(prefix="chromium-", ignore_cleanup_errors=True) as profile:
        options = ["--headless=new", "--remote-debugging-port=0", f"--user-data-dir={profile}", "--no-first-run"]
        options += ["--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking", "--disable-sync"]
        options += ["--disable-component-update", "--hide-scrollbars"]
        if hasattr(os, "geteuid") and os.geteuid() == 0:
            options.append("--no-sandbox")  # root has none
        process = subprocess.Popen([program, *options, "about:blank"], stderr=subprocess.DEVNULL)
        try:
            with connect(_address(Path(profile), process), max_size=None) as connection:
                yield Page(connection)
        finally:
            process.terminate()
            process.wait(20)


def _address(profile: Path, process: subprocess.Popen[bytes]) -> str:
    """Where the page can be led from."""
    from urllib.request import urlopen

    told = profile / "DevToolsActivePort"
    for _ in range(600):
        if told.exists() and (words := told.read_text().split()):
            with urlopen(f"http://127.0.0.1:{words[0]}/json") as reply:
                pages = [each for each in json.load(reply) if each["type"] == "page"]
            if pages:
                return str(pages[0]["webSocketDebuggerUrl"])
        if process.poll() is not None:
            raise RuntimeError(f"Chromium ended with status {process.returncode}")
        time.sleep(0.05)
    raise RuntimeError("Chromium did not start")
