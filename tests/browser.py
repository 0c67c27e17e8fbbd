"""A real browser for the tests of pages: find it, start it, and monitor a page.

Only the functions that control the browser need playwright. Finding a browser needs only the
standard library, because `install_browser.py` uses it too.
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
PATIENCE = 15_000  # milliseconds; timeout for actions that should finish immediately


class NoBrowserError(Exception):
    """No browser on this machine starts."""


def named_browsers() -> list[str]:
    """Return only the browser of the environment variable if it is set, otherwise those on the
    path.
    """
    asked_for = os.environ.get(VARIABLE)
    if asked_for:
        return [asked_for]
    return [path for path in map(shutil.which, NAMES) if path]


def own_browser(playwright: Playwright) -> str | None:
    """Return the browser that `playwright install chromium` has installed, if it exists."""
    path = playwright.chromium.executable_path
    return path if Path(path).exists() else None


def any_browser() -> str | None:
    """Return the first browser on this machine that runs."""
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
    """Whether this is a browser, and not a stub that only explains how to install one."""
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
    """Start a headless browser, and close it at the end.

    A stub that does not start is skipped, unless the environment variable names it.
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
            # Root, the usual user in containers, cannot start a sandbox. The pages are trusted.
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
    """A page, and its forbidden actions since it was opened."""

    page: Page
    complaints: list[str] = field(default_factory=list)

    def watch(self, context: BrowserContext, address: str) -> None:
        """Record console messages, errors, dialogs and requests other than for the page itself."""
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
    """Open a file from disk, as a reader does. The script `at_start` runs before those of the
    page.
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
        # Wait for late actions of the page. A fixed time is used, because without scripts there are
        # no frames to wait for.
        watched.page.wait_for_timeout(100)
    finally:
        context.close()


@cache
def _axe() -> str:
    return (resources.files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")


def accessibility_violations(page: Page) -> list[str]:
    """Return the violations of all rules of axe-core on the current page, one line per element."""
    page.evaluate(_axe())
    found = page.evaluate("() => axe.run(document, {resultTypes: ['violations']})")
    if not found["passes"]:
        raise RuntimeError("axe-core checked nothing; expected some rules to pass")
    return [
        f"{violation['id']} ({violation['help']}): {node['target']} {node['html'][:200]}"
        for violation in found["violations"]
        for node in violation["nodes"]
    ]
