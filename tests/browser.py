"""A real browser for the tests of pages: finding one, starting it, and watching what a page does in
it.

Only the functions that drive the browser need playwright; finding one is plain Python, because
`install_browser.py` does it too.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page, Playwright

VARIABLE = "GRAPHSIEVE_CHROMIUM"
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
NO_BROWSER = f"no Chromium: run tests/install_browser.py, or set {VARIABLE}"
PATIENCE = 15_000  # milliseconds: the longest wait for what should take none


class NoBrowserError(Exception):
    """There is no browser here that starts."""


def named_browsers() -> list[str]:
    """The browser of the environment variable, which is then the only one; else those on the
    path.
    """
    asked_for = os.environ.get(VARIABLE)
    if asked_for:
        return [asked_for]
    return [path for path in map(shutil.which, NAMES) if path]


def own_browser(playwright: Playwright) -> str | None:
    """The browser that `playwright install chromium` has put on this machine."""
    path = playwright.chromium.executable_path
    return path if Path(path).exists() else None


def any_browser() -> str | None:
    """The first browser here that answers."""
    for path in named_browsers():
        if _answers(path):
            return path
    if os.environ.get(VARIABLE):
        return None
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return None
    with sync_playwright() as playwright:
        return own_browser(playwright)


def _answers(path: str) -> bool:
    """Whether this is a browser, and not one of the stubs that only say where to get one."""
    try:
        answer = subprocess.run(
            [path, "--version"],
            check=False,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=30,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return answer.returncode == 0


@contextmanager
def started() -> Iterator[Browser]:
    """A headless browser, closed in the end; a stub that does not start is passed over, unless
    it was asked for by name.
    """
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = _first_that_starts(playwright)
        try:
            yield browser
        finally:
            browser.close()


def _first_that_starts(playwright: Playwright) -> Browser:
    from playwright.sync_api import Error

    own = None if os.environ.get(VARIABLE) else own_browser(playwright)
    for path in [*named_browsers(), *([own] if own else [])]:
        try:
            # Root, which containers are, can start no sandbox; the pages are our own.
            return playwright.chromium.launch(executable_path=path, chromium_sandbox=False)
        except Error as error:
            if os.environ.get(VARIABLE):
                raise RuntimeError(
                    f"{VARIABLE} is {path!r}, which does not start as a browser; unset it or "
                    "correct it"
                ) from error
    raise NoBrowserError(NO_BROWSER)


@dataclass
class Watched:
    """A page, and what it should not have done since it was opened."""

    page: Page
    complaints: list[str] = field(default_factory=list)

    def watch(self, context: BrowserContext, address: str) -> None:
        """Take note of console messages, errors, dialogs and requests other than for the page
        itself.
        """
        context.on("request", lambda request: self._request(request.url, address))
        context.on("console", lambda message: self._console(message.type, message.text))
        context.on("weberror", lambda error: self.complaints.append(f"error: {error.error}"))
        self.page.on("websocket", lambda socket: self.complaints.append(f"socket: {socket.url}"))
        self.page.on("popup", lambda popup: self.complaints.append(f"popup: {popup.url}"))
        self.page.on("dialog", self._dialog)

    def _request(self, url: str, address: str) -> None:
        if url.partition("#")[0] != address and not url.startswith("data:"):
            self.complaints.append(f"request: {url}")

    def _console(self, kind: str, text: str) -> None:
        if kind in ("error", "warning", "assert"):
            self.complaints.append(f"console {kind}: {text}")

    def _dialog(self, dialog: Any) -> None:
        self.complaints.append(f"dialog: {dialog.message}")
        dialog.dismiss()


@contextmanager
def opened(
    browser: Browser, file: Path, *, at_start: str = "", **options: Any
) -> Iterator[Watched]:
    """The file as a reader opens it, from disk; `at_start` is a script that runs before those of
    the page.
    """
    context = browser.new_context(**options)
    try:
        context.set_default_timeout(PATIENCE)
        if at_start:
            context.add_init_script(at_start)
        watched = Watched(context.new_page())
        address = file.resolve().as_uri()
        watched.watch(context, address)
        watched.page.goto(address)
        yield watched
        # What the page does late is noticed too; by the clock, because without scripts there are no
        # frames to wait for.
        watched.page.wait_for_timeout(100)
    finally:
        context.close()


@cache
def _axe() -> str:
    return (resources.files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")


def accessibility_violations(page: Page) -> list[str]:
    """What axe-core has against the page as it now is, all of its rules: one line for every
    element.
    """
    page.evaluate(_axe())
    found = page.evaluate("() => axe.run(document, {resultTypes: ['violations']})")
    if not found["passes"]:
        raise RuntimeError("axe-core looked at nothing; expected it to pass some rules")
    return [
        f"{violation['id']} ({violation['help']}): {node['target']} {node['html'][:200]}"
        for violation in found["violations"]
        for node in violation["nodes"]
    ]
