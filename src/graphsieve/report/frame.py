"""What all pages share: the head, the colours, light and dark; no requests, and no script but
one that is named by its hash.
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
    """A file of style or script that is written into pages."""
    return (files("graphsieve.report") / "assets" / name).read_text(encoding="utf-8")


def policy(script: str) -> str:
    """What the browser may do with the page: run this one script, if there is one, and fetch
    nothing.
    """
    if not script:
        return POLICY
    digest = b64encode(sha256(script.encode()).digest()).decode()
    return POLICY.replace("; img-src", f"; script-src 'sha256-{digest}'; img-src")


def document(title: str, body: str, *, style: str = "", script: str = "") -> str:
    """A whole page; `body` is markup that has escaped its data, `style` is added to what all
    pages share.
    """
    head = (
        '<meta charset="utf-8"><meta http-equiv="Content-Security-Policy" '
        f'content="{policy(script)}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><link rel="icon" '
        'href="data:,"/>'
        f"<title>{escape(title)}</title><style>{asset('frame.css')}{style}</style>"
    )
    # Last, so that it finds the page it works on.
    run = f"<script>{script}</script>" if script else ""
    return f'<!doctype html><html lang="en"><head>{head}</head><body>{body}{run}</body></html>\n'
