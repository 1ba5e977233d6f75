# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A headless Chromium, controlled with the DevTools protocol over a pipe."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import pathlib
import select
import shutil
import subprocess
import tempfile
import time
import typing as t

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
# Chromium starts helper processes that a page loaded from a file does not need.
ARGUMENTS = (
    *("--headless=new", "--remote-debugging-pipe", "--no-first-run", "--disable-gpu", "--disable-extensions", "--disable-background-networking"),
    *("--disable-component-update", "--hide-scrollbars", "--force-color-profile=srgb", "about:blank"),
)
LIMIT = 120


def program() -> str | None:
    return next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    """One page."""

    def __init__(self, writer: int, reader: int) -> None:
        self._writer, self._reader = writer, reader
        self._rest = b""
        self._last = 0
        self._session = ""
        self.events: list[dict[str, t.Any]] = []

    @classmethod
    @contextlib.contextmanager
    def started(cls) -> t.Iterator[Browser]:
        path = program()
        assert path
        its_in, writer = os.pipe()
        reader, its_out = os.pipe()
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            arguments = [path, *ARGUMENTS, "--user-data-dir=%s" % folder, *(["--no-sandbox"] if os.geteuid() == 0 else [])]
            # Chromium expects its pipes as descriptors 3 and 4.
            shell = ["/bin/bash", "-c", 'exec "$@" 3<&%d 4>&%d' % (its_in, its_out), "bash", *arguments]
            process = subprocess.Popen(shell, pass_fds=(its_in, its_out), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            os.close(its_in)
            os.close(its_out)
            try:
                browser = cls(writer, reader)
                browser._attach()
                yield browser
                with contextlib.suppress(OSError, EOFError):
                    browser._session = ""
                    browser.call("Browser.close")
                process.wait(timeout=LIMIT)
            finally:
                process.kill()
                process.wait()
                os.close(writer)
                os.close(reader)

    def _attach(self) -> None:
        target = next(each for each in self.call("Target.getTargets")["targetInfos"] if each["type"] == "page")
        self._session = self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log", "Performance"):
            self.call(domain + ".enable")

    def _message(self, end: float) -> dict[str, t.Any]:
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._reader], [], [], max(0.0, end - time.monotonic()))
            if not ready:
                raise TimeoutError("the browser does not answer")
            got = os.read(self._reader, 1 << 20)
            if not got:
                raise EOFError("the browser has ended")
            self._rest += got
        line, self._rest = self._rest.split(b"\0", 1)
        found: dict[str, t.Any] = json.loads(line)
        return found

    def call(self, method: str, **parameters: t.Any) -> dict[str, t.Any]:
        self._last += 1
        message = {"id": self._last, "method": method, "params": parameters, **({"sessionId": self._session} if self._session else {})}
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._writer, data) :]
        end = time.monotonic() + LIMIT
        while True:
            got = self._message(end)
            if got.get("id") == self._last:
                assert "error" not in got, got
                result: dict[str, t.Any] = got["result"]
                return result
            if "method" in got:
                self.events.append(got)

    def run(self, script: str) -> t.Any:
        """Return the value of a JavaScript expression."""
        answer = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def screen(self, width: int, height: int, dark: bool = False, mobile: bool = False) -> None:
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=2 if mobile else 1, mobile=mobile)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def open(self, path: pathlib.Path) -> float:
        """Open a page and return the seconds until it became usable, 0 for a page without a script."""
        self.events.clear()
        self.call("Page.navigate", url=path.resolve().as_uri())
        end = time.monotonic() + LIMIT
        while not self.run("location.protocol === 'file:' && document.readyState === 'complete' && 'x'"):
            assert time.monotonic() < end
            time.sleep(0.02)
        # The page is painted after two frames.
        self.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        return float(self.run("Number(document.documentElement.dataset.ready || 0)")) / 1000

    def seconds(self) -> float:
        """Return the processor time of this page and of those opened before it, in seconds."""
        found = {each["name"]: each["value"] for each in self.call("Performance.getMetrics")["metrics"]}
        return float(found["TaskDuration"])

    def faults(self) -> list[str]:
        """Return script errors, console messages, and all requests of the page except the page itself."""
        found = [str(event["params"]) for event in self.events if event["method"] in ("Runtime.exceptionThrown", "Log.entryAdded", "Runtime.consoleAPICalled")]
        requests = [event["params"]["request"]["url"] for event in self.events if event["method"] == "Network.requestWillBeSent"]
        return found + [url for url in requests[1:] if not url.startswith("data:")]

    def picture(self, path: pathlib.Path, whole: bool = False) -> None:
        answer = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(answer["data"]))
