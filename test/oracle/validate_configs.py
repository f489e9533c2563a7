"""Runs the frameworks' own validation of training configs, for comparison with Oomlint's errors.

    python validate_configs.py FAMILY FOLDER > verdicts.json

FAMILY is one of the keys of CHECKS. Every file of FOLDER is read as the framework reads it, on the CPU, as far as it goes
without a model, data or a GPU. The result is a JSON object from file name to

    {"accepted": true}                       the framework's own checks pass
    {"accepted": false, "reason": "..."}     they do not: the last line of the exception
    {"accepted": null, "reason": "..."}      no verdict: what stopped it has nothing to do with the config

Only what is needed for a family has to be installed (see README.md).
"""

import importlib.util
import io
import json
import os
import re
import sys
import types
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from unittest import mock

os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
os.environ.setdefault("DISABLE_VERSION_CHECK", "1")
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("WANDB_DISABLED", "true")

# Reasons that lie in this machine: no GPU, no network, no data, no optional package, no launcher.
ENVIRONMENT = re.compile(
    r"cuda|\bgpu\b|No module named|cannot import|not installed|is required|pip install|offline|connect|huggingface\.co|"
    r"No such file|does not exist|not found|torchrun|distributed mode|setup doesn't support|This device|package metadata|WORLD_SIZE|\bamp\b",
    re.I,
)


def empty(name):
    """Stands in for a module that a framework imports and that its validation does not use."""
    module = types.ModuleType(name)
    module.__getattr__ = lambda attribute: mock.MagicMock(name=attribute)
    sys.modules[name] = module


def bare(name):
    """A package without what its own file imports: its modules are found, and nothing else is run."""
    package = types.ModuleType(name)
    package.__path__ = importlib.util.find_spec(name).submodule_search_locations
    sys.modules[name] = package


def yaml_of(path):
    import yaml

    return yaml.safe_load(Path(path).read_text())


def axolotl():
    from axolotl.utils.dict import DictDefault
    from axolotl.utils.schemas.config import AxolotlConfigWCapabilities

    def check(path):
        AxolotlConfigWCapabilities(
            **DictDefault(yaml_of(path)),
            capabilities={"bf16": True, "n_gpu": 8, "compute_capability": "sm_90"},
            env_capabilities={"torch_version": "2.9.0"},
        )

    return check


def llama_factory():
    from llamafactory.extras import misc
    from llamafactory.hparams import get_train_args

    # Optional packages are asked for by name.
    misc.require_version = lambda *_: None

    def check(path):
        values = yaml_of(path)
        # Files that it names are not here, and it asks for a launcher where it sees DeepSpeed.
        values.pop("deepspeed", None)
        values.pop("fsdp", None)
        get_train_args({**values, "use_cpu": True, "report_to": "none", "output_dir": "/tmp/unused"})

    return check


def trl():
    import trl as package

    names = ["SFTConfig", "DPOConfig", "RewardConfig", "GRPOConfig", "KTOConfig", "RLOOConfig"]
    configs = [getattr(package, name) for name in names if hasattr(package, name)]

    def check(path):
        import dataclasses

        values = yaml_of(path)
        # A recipe does not say which script reads it: the one that knows most of its keys.
        known = lambda config: {field.name for field in dataclasses.fields(config)}
        config = max(configs, key=lambda each: len(known(each) & set(values)))
        parser = package.TrlParser((config, package.ModelConfig))
        values = {key: value for key, value in values.items() if key in parser_keys(parser)}
        values.pop("deepspeed", None)
        arguments = [item for key, value in values.items() for item in flag(key, value)]
        parser.parse_args_into_dataclasses([*arguments, "--use_cpu", "true", "--output_dir", "/tmp/unused"])

    def parser_keys(parser):
        return {action.dest for action in parser._actions}

    def flag(key, value):
        if value is None:
            return []
        if isinstance(value, dict):
            return [f"--{key}", json.dumps(value)]
        if isinstance(value, list):
            return [f"--{key}", *map(str, value)]
        return [f"--{key}={value}"]

    return check


def hf_training_arguments():
    from transformers import HfArgumentParser, Seq2SeqTrainingArguments

    def check(path):
        values = yaml_of(path)
        values = values.get("training_args", values)
        values.pop("deepspeed", None)
        parser = HfArgumentParser(Seq2SeqTrainingArguments)
        parser.parse_dict({**values, "use_cpu": True, "output_dir": "/tmp/unused"}, allow_extra_keys=True)

    return check


def torchtune():
    from omegaconf import OmegaConf

    def check(path):
        # Recipes check while they set up, with a model at hand; only the config itself is checked here.
        OmegaConf.to_container(OmegaConf.load(path), resolve=True)

    return check


def litgpt():
    from jsonargparse import ArgumentParser
    from litgpt import finetune, pretrain  # noqa: F401
    from litgpt.finetune import full, lora

    def check(path):
        values = yaml_of(path)
        if "lora_r" in values or "lora_query" in values:
            setup = lora.setup
        elif "model_name" in values:
            setup = pretrain.setup
        else:
            setup = full.setup
        parser = ArgumentParser(exit_on_error=False)
        parser.add_argument("--config", action="config")
        parser.add_function_arguments(setup)
        parser.parse_args(["--config", str(path)])

    return check


def torchtitan():
    # The package imports its kernels; its config needs none of them.
    bare("torchtitan")
    from torchtitan.config import ConfigManager

    def check(path):
        ConfigManager().parse_args([f"--job.config_file={path}"])

    return check


def nanotron():
    # The package imports itself in a circle through its logging.
    empty("nanotron.logging")
    from nanotron.config import Config, get_config_from_file

    def check(path):
        get_config_from_file(str(path), config_class=Config)

    return check


def deepspeed():
    from deepspeed.runtime import config as module

    def sizes(config):
        # The sizes of a batch hang on the number of GPUs, which the file does not say.
        config.train_batch_size = config.train_batch_size or 1
        config.train_micro_batch_size_per_gpu = config.train_micro_batch_size_per_gpu or 1
        config.gradient_accumulation_steps = config.gradient_accumulation_steps or 1

    module.DeepSpeedConfig._batch_assertion = lambda self: None
    module.DeepSpeedConfig._set_batch_related_parameters = sizes

    def filled(value):
        """As the Trainer fills `auto`: with what the file would have without it."""
        if isinstance(value, dict):
            return {key: filled(each) for key, each in value.items() if each != "auto"}
        return value

    def check(path):
        values = filled(json.loads(Path(path).read_text()))
        values.setdefault("train_micro_batch_size_per_gpu", 1)
        module.DeepSpeedConfig(values)

    return check


def accelerate():
    from accelerate.commands.config.config_args import load_config_from_file

    def check(path):
        load_config_from_file(str(path))

    return check


CHECKS = {
    "axolotl": axolotl,
    "llama-factory": llama_factory,
    "trl": trl,
    "hf-training-arguments": hf_training_arguments,
    "torchtune": torchtune,
    "litgpt": litgpt,
    "torchtitan": torchtitan,
    "nanotron": nanotron,
    "deepspeed": deepspeed,
    "accelerate": accelerate,
}


def verdict(check, path):
    noise = io.StringIO()
    try:
        with redirect_stdout(noise), redirect_stderr(noise):
            check(path)
    except (Exception, SystemExit) as error:
        text = str(error) if not isinstance(error, SystemExit) else noise.getvalue()
        reason = " ".join(text.split())[-600:]
        return {"accepted": None if ENVIRONMENT.search(reason) else False, "reason": reason}
    return {"accepted": True}


def main():
    family, folder = sys.argv[1:]
    # Packages log to standard output, some past Python: the result goes to a copy of it.
    output = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    check = CHECKS[family]()
    files = sorted(path for path in Path(folder).iterdir() if path.is_file())
    json.dump({path.name: verdict(check, path) for path in files}, output, indent=1)
    output.close()


if __name__ == "__main__":
    main()
