"""Draw docs/report.png: the report of `graphsieve demo`, in the light and in the dark colour scheme.

Usage: python examples/report_picture.py

The script needs Chromium, playwright and pillow (installed with the tests and matplotlib).
"""

from __future__ import annotations

import io
import shutil
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

from graphsieve.cli import main

PICTURE = Path(__file__).parents[1] / "docs" / "report.png"
WIDTH, HEIGHT, GAP, ZOOM = 760, 1390, 16, 1.25
SHOWN_WIDTH = 1400


def part(browser, page: Path, scheme: str, above: str | None) -> Image.Image:
    """Return a screenshot of the page, scrolled to the element with the id `above`."""
    context = browser.new_context(
        viewport={"width": WIDTH, "height": HEIGHT},
        color_scheme=scheme,
        device_scale_factor=ZOOM,
        reduced_motion="reduce",
    )
    tab = context.new_page()
    tab.goto(page.as_uri())
    if above is not None:
        tab.evaluate(
            "name => scrollTo(0, document.getElementById(name).getBoundingClientRect().top + "
            "scrollY - 24)",
            above,
        )
    tab.wait_for_timeout(300)
    return Image.open(io.BytesIO(tab.screenshot()))


def draw() -> None:
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        page = Path(folder) / "report.html"
        assert main(["demo", "--report", str(page), "--quiet"]) == 0
        found = shutil.which("chromium") or shutil.which("google-chrome")
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        light, dark = part(browser, page, "light", None), part(browser, page, "dark", "cut")
        browser.close()
    whole = Image.new("RGB", (2 * light.width + round(GAP * ZOOM), light.height), "white")
    whole.paste(light, (0, 0))
    whole.paste(dark, (whole.width - dark.width, 0))
    small = whole.resize(
        (SHOWN_WIDTH, round(whole.height * SHOWN_WIDTH / whole.width)), Image.Resampling.LANCZOS
    )
    small.quantize(128, dither=Image.Dither.NONE).save(PICTURE, optimize=True)


if __name__ == "__main__":
    draw()
