"""What all pages share: the head, the colours, light and dark; no scripts, no requests."""

from __future__ import annotations

from html import escape

POLICY = "default-src 'none'; style-src 'unsafe-inline'"

STYLE = """
:root { color-scheme: light dark; --ink: #17282b; --soft: #56696d; --bar: #1f6f78; --rest: #a9bcbe;
  --page: #fbfaf7; --line: #e3e1da; --good: #1c6b3c; --bad: #a3311f; --between: #85600a;
  --c0: #1f6f78; --c1: #c2571a; --c2: #6a4fa3; --c3: #2f7d32; --c4: #b0306a; --c5: #8a6d0b; --c6: #2c62b0; --c7: #7a4a2b; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6eeee; --soft: #9db0b3; --bar: #58b3bd; --rest: #42595c; --page: #12191a; --line: #28383a;
    --good: #7ccf96; --bad: #f0907f; --between: #e2bd62;
    --c0: #58b3bd; --c1: #f0945c; --c2: #b49be8; --c3: #7dc983; --c4: #ee86b4; --c5: #dcc15a; --c6: #86b2f2; --c7: #cfa080; } }
body { margin: 0 auto; padding: 2.5rem 1.25rem 4rem; max-width: 52rem; background: var(--page); color: var(--ink);
  font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.6rem; margin: 0 0 .25rem; } h2 { font-size: 1.15rem; margin: 2.5rem 0 .25rem; }
p { margin: .25rem 0; color: var(--soft); max-width: 44rem; }
table { border-collapse: collapse; width: 100%; margin-top: 1rem; font-variant-numeric: tabular-nums; }
th { text-align: left; font-weight: 600; font-size: .8rem; color: var(--soft); padding: .2rem .5rem;
  border-bottom: 1px solid var(--line); }
td { padding: .2rem .5rem; border-bottom: 1px solid var(--line); vertical-align: middle; }
td.n, th.n { text-align: right; white-space: nowrap; }
"""


def document(title: str, body: str, *, style: str = "") -> str:
    """A whole page; `body` is markup that has escaped its data, `style` is added to what all pages share."""
    head = (
        f'<meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        f'<meta name="viewport" content="width=device-width"><title>{escape(title)}</title><style>{STYLE}{style}</style>'
    )
    return f'<!doctype html><html lang="en"><head>{head}</head><body>{body}</body></html>\n'
