"""`oomlint` and `oomlint-language-server` as console scripts."""

from __future__ import annotations

import os
import subprocess
import sys

from ._node import BUNDLE, OomlintError, node


def _run(entry: str) -> int:
    try:
        command = [node(), str(BUNDLE / entry), *sys.argv[1:]]
    except OomlintError as error:
        print(f"oomlint: {error}", file=sys.stderr)
        return 2
    if os.name != "nt":
        # Its signals and pipes are those of the person: no process in between.
        sys.stdout.flush()
        os.execv(command[0], command)
    return subprocess.run(command, check=False).returncode


def main() -> int:
    """The command line."""
    return _run("cli.js")


def serve() -> int:
    """The language server."""
    return _run("server.js")


if __name__ == "__main__":
    sys.exit(main())
