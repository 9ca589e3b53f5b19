"""A real browser without a window, for the tests of pages."""

import re
import shutil
import subprocess
import tempfile
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--virtual-time-budget=30000",
    "--enable-logging=stderr",
    "--dump-dom",
)


def find() -> str | None:
    """Return the browser's command, if there is one."""
    return next(filter(None, map(shutil.which, NAMES)), None)


def load(file: Path, width: int = 1280, is_dark: bool = False) -> tuple[str, list[str]]:
    """Load a page; returns its document when nothing more happens, and the console's lines."""
    with tempfile.TemporaryDirectory() as profile:
        scheme = ["--blink-settings=preferredColorScheme=0"] if is_dark else []
        done = subprocess.run(
            [
                str(find()),
                *FLAGS,
                *scheme,
                f"--user-data-dir={profile}",
                f"--window-size={width},900",
                file.as_uri(),
            ],
            capture_output=True,
            text=True,
            timeout=120,
            check=True,
        )
    return done.stdout, re.findall(r"CONSOLE:?\(?\d*\)?.*", done.stderr)
