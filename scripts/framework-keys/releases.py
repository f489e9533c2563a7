"""Sources of a package's releases, from the package index that pip is set up for: nothing is installed, nothing is run."""

from __future__ import annotations

import io
import re
import tarfile
import zipfile
from pathlib import Path
from typing import Callable

from pip._internal.commands import create_command
from pip._vendor.packaging.version import Version

CACHE = Path.home() / ".cache" / "oomlint-framework-keys"


class Index:
    """Releases of packages, each downloaded once."""

    def __init__(self) -> None:
        command = create_command("download")
        options, _ = command.parse_args(["--no-deps", "--dest", ".", "x"])
        self._session = command._build_session(options)
        self._finder = command._build_package_finder(options=options, session=self._session)
        self._found: dict[str, dict[Version, object]] = {}

    def versions(self, package: str) -> list[Version]:
        """Releases that are no pre-releases, oldest first."""
        return sorted(self._links(package))

    def _links(self, package: str) -> dict[Version, object]:
        known = self._found.get(package)
        if known is not None:
            return known
        links: dict[Version, object] = {}
        for candidate in self._finder.find_all_candidates(package):
            version = Version(str(candidate.version))
            if version.is_prerelease:
                continue
            # A wheel holds what is installed; a source archive may need a build.
            if version not in links or candidate.link.is_wheel:
                links[version] = candidate.link
        self._found[package] = links
        return links

    def files(self, package: str, version: Version, wanted: Callable[[str], bool]) -> dict[str, str]:
        """Texts of a release's files by path, without the folder that source archives wrap them in."""
        link = self._links(package)[version]
        kept = CACHE / f"{package}-{version}{'.whl' if link.is_wheel else '.tar.gz'}"
        if not kept.exists():
            kept.parent.mkdir(parents=True, exist_ok=True)
            answer = self._session.get(link.url_without_fragment)
            answer.raise_for_status()
            kept.write_bytes(answer.content)
        return archive_files(kept.read_bytes(), wanted)


def archive_files(data: bytes, wanted: Callable[[str], bool]) -> dict[str, str]:
    texts: dict[str, str] = {}
    if data[:2] == b"PK":
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for name in archive.namelist():
                if wanted(name):
                    texts[name] = archive.read(name).decode("utf8", "replace")
        return texts
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        for member in archive.getmembers():
            name = re.sub(r"^[^/]+/(src/)?", "", member.name)
            if member.isfile() and wanted(name):
                handle = archive.extractfile(member)
                if handle:
                    texts[name] = handle.read().decode("utf8", "replace")
    return texts


def one_per_minor(versions: list[Version]) -> list[Version]:
    """The last release of each minor version: keys seldom change within one."""
    last: dict[tuple[int, int], Version] = {}
    for version in versions:
        last[(version.major, version.minor)] = version
    return sorted(last.values())
