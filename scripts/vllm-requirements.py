"""What releases of vLLM require of PyTorch and transformers, and of xFormers of PyTorch, and which of vLLM TRL's extra allows.

    python scripts/vllm-requirements.py VLLM_VERSION... -- TRL_VERSION... -- XFORMERS_VERSION...

Asks pip for the metadata of each release, which installs nothing, and writes `server/data/vllm-requirements.json`.
"""

import json
import re
import subprocess
import sys
from datetime import date
from pathlib import Path

OUT = Path(__file__).parent.parent / "server" / "data" / "vllm-requirements.json"


def required(package, version):
    """`Requires-Dist` of a release: name and specifier of each, with what it is required for."""
    report = subprocess.run(
        [sys.executable, "-m", "pip", "install", "--dry-run", "--no-deps", "--ignore-installed", "--quiet", "--report", "-", f"{package}=={version}"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    rows = json.loads(report)["install"][0]["metadata"].get("requires_dist", [])
    found = []
    for row in rows:
        text, _, marker = row.partition(";")
        match = re.match(r"([A-Za-z0-9._-]+)(?:\[[^\]]*\])?\s*(.*)", text.strip())
        found.append((match[1].lower(), match[2].replace(" ", "").strip("()"), marker))
    return found


def main(words):
    split = words.index("--")
    second = words.index("--", split + 1)

    def needs(package, version, names):
        return {name: specifier for name, specifier, marker in required(package, version) if name in names and "extra" not in marker}

    vllm = {version: needs("vllm", version, ("torch", "transformers")) for version in words[:split]}
    xformers = {version: needs("xformers", version, ("torch",)) for version in words[second + 1 :]}
    trl = {
        version: next((specifier for name, specifier, marker in required("trl", version) if name == "vllm" and "extra" in marker), "")
        for version in words[split + 1 : second]
    }

    def table(rows):
        return ",\n".join(f"    {json.dumps(key)}: {json.dumps(value)}" for key, value in rows.items())

    OUT.write_text(
        f'{{\n"read": "{date.today()}",\n"source": "https://pypi.org/project/vllm/#history, https://pypi.org/project/xformers/#history",\n'
        f'"vllm": {{\n{table(vllm)}\n}},\n"xformers": {{\n{table(xformers)}\n}},\n"trl": {{\n{table(trl)}\n}}\n}}\n'
    )


main(sys.argv[1:])
