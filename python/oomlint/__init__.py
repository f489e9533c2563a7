"""Does this training run fit the GPU? Peak memory of training configs, before the run.

>>> import oomlint
>>> run = oomlint.estimate("ds_config.json", model="Qwen/Qwen2.5-7B", gpu="A100-80GB", gpus=8, sequence=8192)
>>> run.verdict
'fits'
"""

from __future__ import annotations

import html
import json
import os
import re
import subprocess
from typing import Any, Dict, List, Literal, Optional, Union

from ._node import BUNDLE, OomlintError, node

__all__ = ["Estimate", "OomlintError", "estimate"]

Verdict = Literal["fits", "tight", "exceeds", "unknown"]

#: Options of the command line; all else is a field of the run.
_OPTIONS = ("model", "gpu", "gpus", "nodes")
_GIB = 2**30


class Estimate(Dict[str, Any]):
    """One run as `oomlint estimate --format json` has it. Sizes are bytes of one GPU.

    In a notebook it shows the page that `oomlint report` writes: the panel of the editor. Below it are the parts of the peak without
    scripts, for viewers that run none.
    """

    #: Arguments of the command line that it was asked with; none for one that was made otherwise, such as by unpickling.
    _asked: "List[str]" = []

    @property
    def verdict(self) -> Verdict:
        """`fits`: even the upper end of the band does; `exceeds`: not even the lower end does; `tight`: in between."""
        verdict: Verdict = self["verdict"]
        return verdict

    @property
    def peak_bytes(self) -> Optional[int]:
        """What nvidia-smi would show for the process at its highest; None while the verdict is unknown."""
        peak = self["peak"]
        return None if peak is None else int(peak["processBytes"])

    @property
    def unknown(self) -> "list[str]":
        """Fields that nobody states and without which there is no verdict."""
        return [str(missing["field"]) for missing in self["unknown"]]

    def _repr_html_(self) -> str:
        page = _page(self)
        if page is None:
            return f"<div>{_heading(self)}{_bars(self)}</div>"
        # In a frame of its own: its styles are not the notebook's, and a viewer that takes no frames leaves the rest.
        frame = (
            f"<iframe title='Oomlint' sandbox='allow-scripts' style='width:100%;height:640px;border:0' "
            f'srcdoc="{html.escape(page)}"></iframe>'
        )
        return f"<div>{_heading(self)}{frame}<details><summary>Parts of the peak</summary>{_bars(self)}</details></div>"


def estimate(path: Union[str, "os.PathLike[str]"], **overrides: Any) -> Estimate:
    """Estimates the memory of one GPU for a training config.

    `overrides` win over what the files say: `model`, `gpu`, `gpus`, `nodes`, and any field of the run by its short name
    (`sequence=8192`) or its whole one (`**{"batch.micro": 2}`). Raises OomlintError where the file is no config that can be read, or
    an override means nothing. Nothing leaves the machine.
    """
    asked: "List[str]" = []
    for name, value in overrides.items():
        written = value if isinstance(value, str) else json.dumps(value)
        asked += [f"--{name}", written] if name in _OPTIONS else ["--set", f"{name}={written}"]
    asked += ["--", os.path.abspath(path)]
    run = Estimate(json.loads(_answer("estimate", "--format", "json", *asked))["runs"][0])
    run._asked = asked
    return run


def _answer(*arguments: str) -> str:
    """What the command line answers. Raises OomlintError where it could not run."""
    command = [node(), str(BUNDLE / "cli.js"), *arguments]
    answer = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    # 1: errors were found in the config; the answer is there all the same.
    if answer.returncode not in (0, 1):
        raise OomlintError(answer.stderr.strip() or f"oomlint ended with {answer.returncode}")
    return answer.stdout


_CONTENT = re.compile(r'<script type="application/json" id="content">(.*?)</script>', re.DOTALL)


def _page(run: Estimate) -> Optional[str]:
    """The panel's page; None where it cannot be made, or where the files have changed and it would show another run."""
    if not run._asked:
        return None
    try:
        page = _answer("report", "--html", *run._asked)
    except OomlintError:
        return None
    content = _CONTENT.search(page)
    if content is None:
        return None
    shown = json.loads(content[1])["show"]["content"]["breakdown"]
    same = all(shown.get(key) == run.get(key) for key in ("verdict", "peak", "parts"))
    return page if same else None


#: Colours of the panel's verdicts, dark enough for text on white and light enough on black.
_COLOURS = {"fits": "#388a34", "tight": "#bf8803", "exceeds": "#e51400", "unknown": "#808080"}
_WORDS = {"fits": "Fits", "tight": "Tight", "exceeds": "Does not fit", "unknown": "No verdict"}


def _gib(size: float) -> str:
    return f"{size / _GIB:.1f} GiB"


def _heading(run: Estimate) -> str:
    colour = _COLOURS[run.verdict]
    heading = _WORDS[run.verdict]
    peak, hardware = run["peak"], run["hardware"]
    if peak is not None and hardware is not None:
        band = f"{_gib(peak['lowerBytes'])} to {_gib(peak['upperBytes'])}"
        heading += f": {_gib(peak['processBytes'])} ({band}) of {_gib(hardware['capacityBytes'])} on {hardware['gpu']}"
    elif run.unknown:
        heading += f": nobody states {', '.join(run.unknown)}"
    return (
        f"<p><span style='color:{colour}'>&#9679;</span> <b>{html.escape(heading)}</b><br>"
        f"{html.escape(run['file'])}</p>"
    )


def _bars(run: Estimate) -> str:
    """The parts of the peak, without scripts: notebooks that are not trusted and pages of repositories show them, too."""
    colour = _COLOURS[run.verdict]
    parts = sorted(run["parts"], key=lambda part: -part["bytes"])
    largest = max([part["bytes"] for part in parts], default=1) or 1
    rows = "".join(
        f"<tr><td style='text-align:left'>{html.escape(part['category'].replace('-', ' '))}</td>"
        f"<td style='text-align:right'>{_gib(part['bytes'])}</td>"
        f"<td style='text-align:left;width:16em'><div style='background:{colour};opacity:.6;height:.8em;"
        f"width:{100 * part['bytes'] / largest:.1f}%'></div></td></tr>"
        for part in parts
    )
    return f"<table>{rows}</table>"
