"""A real browser for tests: Chromium without a window, spoken to through a pair of pipes.

Chromium's debugging protocol needs no more than that: one JSON object after the other, each ended by a zero byte.
"""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
PATIENCE = 60.0


class BrowserError(Exception):
    """The browser did not do what it was told."""


def find_chromium() -> str | None:
    """Return the program: what CHROMIUM names, or the first that the search path has; None where there is none."""
    return os.environ.get("CHROMIUM") or next((found for name in NAMES if (found := shutil.which(name))), None)


@dataclass(slots=True)
class Page:
    """One page: what it said on its console and what it asked the network for is noted."""

    browser: Browser
    session: str
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    dialogs: list[str] = field(default_factory=list)

    def open(self, url: str) -> None:
        """Open an address and return when the page is ready."""
        self.tell("Page.navigate", url=url)
        self.wait_for("document.documentElement?.dataset.ready === 'yes'")

    def tell(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command and return its result."""
        return self.browser.tell(method, parameters, self.session)

    def value(self, expression: str) -> Any:
        """Return the value of an expression in the page."""
        found = self.tell("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in found:
            raise BrowserError(f"{expression}: {found['exceptionDetails']}")
        return found["result"].get("value")

    def wait_for(self, expression: str) -> None:
        """Come back when an expression holds."""
        until = time.monotonic() + PATIENCE
        while not self.value(expression):
            if time.monotonic() > until:
                raise BrowserError(f"waited {PATIENCE:g} s for {expression}; the page said {self.complaints}")
            time.sleep(0.05)

    def click(self, selector: str) -> None:
        """Click with the mouse on the first element that a selector finds, having scrolled to it."""
        found = self.value(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)}); if (!e) return null;"
            " e.scrollIntoView({block: 'center', inline: 'center'}); const b = e.getBoundingClientRect();"
            " return [b.left + Math.min(b.width / 2, 40), b.top + b.height / 2]; })()"
        )
        if found is None:
            raise BrowserError(f"no element for {selector}")
        for kind in ("mousePressed", "mouseReleased"):
            self.tell("Input.dispatchMouseEvent", type=kind, x=found[0], y=found[1], button="left", clickCount=1)

    def resize(self, width: int, height: int, *, dark: bool = False) -> None:
        """Set the size of the window and which colours the system prefers."""
        self.tell(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 500
        )
        scheme = "dark" if dark else "light"
        self.tell("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def screenshot(self, file: Path, *, whole: bool = False) -> None:
        """Write a picture of what is seen, or of the whole page."""
        found = self.tell("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        file.write_bytes(base64.b64decode(found["data"]))

    def hear(self, method: str, said: dict[str, Any]) -> None:
        """Note an event."""
        if method == "Runtime.exceptionThrown":
            self.complaints.append(str(said["exceptionDetails"]))
        elif method == "Runtime.consoleAPICalled" and said["type"] in ("error", "warning", "assert"):
            self.complaints.append(str(said["args"]))
        elif method == "Log.entryAdded" and said["entry"]["level"] in ("error", "warning"):
            self.complaints.append(said["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(said["request"]["url"])
        elif method == "Page.javascriptDialogOpening":
            self.dialogs.append(said["message"])


class Browser:
    """A running browser."""

    def __init__(self, out: int, into: int) -> None:
        """Take the pipes: `out` is written to, `into` is read."""
        self._out, self._in = out, into
        self._buffer = b""
        self._number = 0
        self._pages: dict[str, Page] = {}

    def page(self) -> Page:
        """Open an empty page."""
        target = self.tell("Target.createTarget", {"url": "about:blank"})["targetId"]
        session = self.tell("Target.attachToTarget", {"targetId": target, "flatten": True})["sessionId"]
        page = self._pages[session] = Page(self, session)
        for domain in ("Page", "Runtime", "Log", "Network"):
            page.tell(f"{domain}.enable")
        return page

    def tell(self, method: str, parameters: dict[str, Any], session: str | None = None) -> dict[str, Any]:
        """Send a command and return its result; events that come before it are noted."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if session is not None:
            message["sessionId"] = session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            said = self._next()
            if said.get("id") == self._number:
                if "error" in said:
                    raise BrowserError(f"{method}: {said['error']}")
                result: dict[str, Any] = said["result"]
                return result
            page = self._pages.get(said.get("sessionId", ""))
            if page is not None and "method" in said:
                page.hear(said["method"], said["params"])

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            if not select.select([self._in], [], [], PATIENCE)[0]:
                raise BrowserError(f"nothing heard for {PATIENCE:g} s")
            got = os.read(self._in, 1 << 20)
            if not got:
                raise BrowserError("the browser has ended")
            self._buffer += got
        message, _, self._buffer = self._buffer.partition(b"\0")
        said: dict[str, Any] = json.loads(message)
        return said


@contextmanager
def started(program: str, profile: Path) -> Iterator[Browser]:
    """Run a browser with an empty profile; it has ended when the block is left."""
    command = [program, "--headless", "--remote-debugging-pipe", f"--user-data-dir={profile}", "--disable-gpu",
               "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
               "--disable-dev-shm-usage", "--hide-scrollbars", "--mute-audio"]  # fmt: skip
    if os.getuid() == 0:
        command.append("--no-sandbox")  # Chromium refuses to sandbox for root
    child_in, out = os.pipe()
    into, child_out = os.pipe()
    silence = os.open(os.devnull, os.O_RDWR)
    actions: list[tuple[int, ...]] = [(os.POSIX_SPAWN_DUP2, silence, descriptor) for descriptor in (0, 1, 2)]
    # Numbers above those that are set, so that setting one does not overwrite another.
    spare = [os.dup2(descriptor, place, inheritable=True) for descriptor, place in ((child_in, 203), (child_out, 204))]
    actions += [(os.POSIX_SPAWN_DUP2, spare[0], 3), (os.POSIX_SPAWN_DUP2, spare[1], 4)]
    actions += [(os.POSIX_SPAWN_CLOSE, descriptor) for descriptor in spare]
    pid = os.posix_spawn(command[0], command, dict(os.environ), file_actions=actions, setpgroup=0)
    for descriptor in (child_in, child_out, silence, *spare):
        os.close(descriptor)
    try:
        yield Browser(out, into)
    finally:
        os.close(out)
        os.close(into)
        os.killpg(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
