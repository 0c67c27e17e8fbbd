"""The frame of all HTML pages: head, colours and security policy.

A page makes no requests and runs only the one script that the policy names by its hash.
"""

from __future__ import annotations

from base64 import b64encode
from functools import cache
from hashlib import sha256
from html import escape
from importlib.resources import files

POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action "
    "'none'"
)


@cache
def asset(name: str) -> str:
    """Return a style sheet or script that is embedded in pages."""
    return (files("graphsieve.report") / "assets" / name).read_text(encoding="utf-8")


def policy(script: str) -> str:
    """Return the content security policy: run this one script, if there is one; fetch nothing."""
    if not script:
        return POLICY
    digest = b64encode(sha256(script.encode()).digest()).decode()
    return POLICY.replace("; img-src", f"; script-src 'sha256-{digest}'; img-src")


def document(title: str, body: str, *, style: str = "", script: str = "") -> str:
    """Return a whole page.

    `body` is HTML with its data escaped. `style` is added to the style of all pages.
    """
    head = (
        '<meta charset="utf-8"><meta http-equiv="Content-Security-Policy" '
        f'content="{policy(script)}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><link rel="icon" '
        'href="data:,"/>'
        f"<title>{escape(title)}</title><style>{asset('frame.css')}{style}</style>"
    )
    # The script comes last, because it needs the finished page.
    run = f"<script>{script}</script>" if script else ""
    return f'<!doctype html><html lang="en"><head>{head}</head><body>{body}{run}</body></html>\n'
