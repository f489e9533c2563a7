"""Distillation under the tracker of `measure.py`: what `distillation.json` holds.

The trainers' own losses run on the logits, or the hidden states, of a student and of a frozen teacher, in the order of their
`compute_loss`: TRL's GKD (`pip install trl==1.16.0`) and its DistillationTrainer, ms-swift's (`pip install --no-deps
ms-swift==4.6.0`), Liger's fused divergence as TRL 0.24 and ms-swift call it (`pip install --no-deps liger-kernel==0.8.5`) and
torchtune's recipe (`pip install --no-deps torchtune==0.6.1`). TRL's Triton kernels allocate nothing and are left out.
"""

import gc
import importlib.metadata
import importlib.util
import sys
from pathlib import Path
from types import SimpleNamespace

import fake_cuda

fake_cuda.install()

import torch  # noqa: E402

import measure as oracle  # noqa: E402
from measure import keep_all  # noqa: E402
from recordings import options_of, phases_of, recorded, write  # noqa: E402

SIZES = {"hidden_act": "silu", "max_position_embeddings": 4096, "vocab_size": 32000, "tie_word_embeddings": False, "model_type": "llama"}
STUDENT = {"hidden_size": 1024, "intermediate_size": 2816, "num_hidden_layers": 2, "num_attention_heads": 16,
           "num_key_value_heads": 16, **SIZES}
# Of the catalog, by name: the second needs more in a layer than for its logits.
TEACHERS = {"TinyLlama/TinyLlama-1.1B-Chat-v1.0": {"hidden_size": 2048, "intermediate_size": 5632, "num_hidden_layers": 22,
                                                   "num_attention_heads": 32, "num_key_value_heads": 4, **SIZES},
            "meta-llama/Llama-2-13b-hf": {"hidden_size": 5120, "intermediate_size": 13824, "num_hidden_layers": 40,
                                          "num_attention_heads": 40, "num_key_value_heads": 40, **SIZES}}
PARAMETERS = {"TinyLlama/TinyLlama-1.1B-Chat-v1.0": 1_100_048_384, "meta-llama/Llama-2-13b-hf": 13_015_864_320}
RUN = {"version.torch": "2.13", "version.transformers": "5.23", "version.liger": "0.8", "version.trl": "1.16", "hardware.gpus": 1,
       "batch.accumulation": 1, "attention.implementation": "sdpa", "optimizer.name": "sgd", "optimizer.implementation": "foreach",
       "method.objective": "distillation", "method.kind": "full", "precision.compute": "bf16", "batch.micro": 2,
       "batch.sequence": 1024}
NATIVE = {"precision.weights": "bf16", "precision.scheme": "native"}
SCHEMES = {"bf16": NATIVE, "amp": {"precision.weights": "fp32", "precision.scheme": "autocast"},
           "bf16 under amp": {"precision.weights": "bf16", "precision.scheme": "autocast"}}
DIVERGENCES = {"forward": 0.0, "mixture": 0.5, "reverse": 1.0}
CHECKPOINTED = {"activations.checkpointing": "full", "activations.reentrant": False}
LORA = {"method.kind": "lora", "lora.rank": 8, "lora.targets": ["q_proj", "v_proj"], "lora.dtype": "fp32"}


def file_of(package: str, path: str):
    """One module of a package, without the package around it."""
    found = next(f for f in importlib.metadata.files(package) if str(f) == path).locate()
    spec = importlib.util.spec_from_file_location(Path(path).stem, found)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def gkd(run, teacher):
    """TRL's GKDTrainer: `compute_loss` without the processes around it; all names live until it returns."""
    from trl.experimental.gkd import GKDTrainer

    trainer = SimpleNamespace(teacher_model=teacher, beta=DIVERGENCES[run["loss.divergence"]],
                              generalized_jsd_loss=GKDTrainer.generalized_jsd_loss)

    def loss_of(model, batch):
        inputs = batch | {"attention_mask": None}
        return GKDTrainer.compute_loss(trainer, model, inputs, num_items_in_batch=1000)

    return loss_of


def swift(run, teacher):
    """ms-swift's: no labels of the teacher's own, so that no counts are compared."""
    module = file_of("ms-swift", "swift/rlhf_trainers/gkd_loss.py")

    def loss_of(model, batch):
        outputs_student = model(input_ids=batch["input_ids"])
        with torch.no_grad():
            outputs_teacher = teacher(input_ids=batch["input_ids"])
        teacher_out = module.TeacherOutput(full_logits=outputs_teacher.logits)
        labels = torch.roll(batch["labels"], shifts=-1, dims=1)
        total, _ = module.gkd_loss(outputs_student.logits, teacher_out, labels, DIVERGENCES[run["loss.divergence"]], 1.0)
        return total / 1000

    return loss_of


def bodies(model):
    """The model without its head, below adapters too."""
    whole = model.base_model.model if hasattr(model, "peft_config") else model
    return whole.model, whole.lm_head


def liger(run, teacher):
    """The fused divergence on hidden states, as TRL 0.24's GKDTrainer and ms-swift call it."""
    from liger_kernel.chunked_loss import LigerFusedLinearJSDLoss

    fused = LigerFusedLinearJSDLoss(weight_hard_loss=0.0, weight_soft_loss=1.0, beta=DIVERGENCES[run["loss.divergence"]],
                                    ignore_index=-100, temperature=0.9, compiled=False)
    plain = torch.func.grad_and_value

    def collected(*args, **kwargs):
        """Fake tensors leave cycles behind in transformed functions, where real ones leave none."""
        function = plain(*args, **kwargs)

        def chunk(*inputs):
            made = function(*inputs)
            gc.collect()
            return made

        return chunk

    module = sys.modules["liger_kernel.chunked_loss.fused_linear_distillation"]
    # The incoming gradient is one, as `torch.ne` would find.
    module.torch = SimpleNamespace(**{**vars(torch), "func": SimpleNamespace(grad_and_value=collected),
                                      "ne": lambda *args: False, "tensor": lambda *args, **kwargs: None})

    def loss_of(model, batch):
        student, head = bodies(model)
        teaching, teaching_head = bodies(teacher)
        outputs_student = student(input_ids=batch["input_ids"], use_cache=False)
        with torch.no_grad():
            outputs_teacher = teaching(input_ids=batch["input_ids"], use_cache=False)
        student_hidden = outputs_student.last_hidden_state[:, :-1]
        teacher_hidden = outputs_teacher.last_hidden_state[:, :-1]
        del outputs_student, outputs_teacher
        labels = batch["labels"][:, 1:].contiguous()
        # Three dimensions, as the trainers have them: Liger counts its chunks by the first.
        return fused(student_input=student_hidden.contiguous(), student_weight=head.weight,
                     teacher_input=teacher_hidden.contiguous(), teacher_weight=teaching_head.weight, true_labels=labels)

    return loss_of


def tiled(run, teacher):
    """TRL's DistillationTrainer: hidden states are compared tile by tile."""
    from trl.kernels import chunked_divergence
    from trl.trainer import distillation_trainer

    class Kernel:
        def __getitem__(self, grid):
            return lambda *args, **kwargs: None

    for module in (chunked_divergence, distillation_trainer):
        module._use_triton = lambda device: True
    for name in ("_stats_kernel", "_jsd_kernel", "_backward_kernel"):
        setattr(chunked_divergence, name, Kernel())
    chunked_divergence.triton = SimpleNamespace(cdiv=lambda a, b: 1)
    # cuBLAS writes and adds in fp32 to what is there.
    chunked_divergence._project = lambda tile, h, weight, bias, start, end, dtype: weight[start:end].to(dtype)
    chunked_divergence._addmm_fp32 = lambda acc, a, b: None

    def loss_of(model, batch):
        student, head = bodies(model)
        teaching, teaching_head = bodies(teacher)
        student_hidden = student(input_ids=batch["input_ids"], use_cache=False).last_hidden_state[:, :-1]
        with torch.no_grad():
            teacher_hidden = teaching(input_ids=batch["input_ids"], use_cache=False).last_hidden_state[:, :-1]
        mask = batch["labels"][:, 1:] != -100
        loss, _, _ = distillation_trainer._chunked_divergence_loss(
            student_hidden, teacher_hidden, head.weight, teaching_head.weight, mask,
            DIVERGENCES[run["loss.divergence"]], num_items_in_batch=1000)
        return loss

    return loss_of


def tune(run, teacher):
    """torchtune's recipe: the divergence and the cross-entropy of chunks of logits, or of all of them."""
    divergences = file_of("torchtune", "torchtune/modules/loss/kd_losses.py")
    entropies = file_of("torchtune", "torchtune/modules/loss/ce_chunked_output_loss.py")
    chunked = run["loss.implementation"] == "chunked"
    name = {"forward": "ForwardKL", "reverse": "ReverseKL", "mixture": "SymmetricKL"}[run["loss.divergence"]]
    diverge = getattr(divergences, f"{name}WithChunkedOutputLoss" if chunked else f"{name}Loss")()
    entropy = entropies.CEWithChunkedOutputLoss() if chunked else torch.nn.CrossEntropyLoss(ignore_index=-100)

    def output(model, ids):
        body, head = bodies(model)
        hidden = body(input_ids=ids, use_cache=False).last_hidden_state
        return [head(chunk) for chunk in hidden.chunk(8, dim=1)] if chunked else head(hidden)

    def loss_of(model, batch):
        logits = output(model, batch["input_ids"])
        with torch.no_grad():
            teacher_logits = output(teacher, batch["input_ids"])
        labels = torch.hstack((batch["labels"][..., 1:], torch.full((2, 1), -100, device="cuda")))
        if not chunked:
            labels = labels.reshape(-1)
            logits, teacher_logits = (x.reshape(-1, x.size(-1)) for x in (logits, teacher_logits))
        plain, torch.Tensor.__bool__ = torch.Tensor.__bool__, lambda tensor: False  # some tokens are scored
        try:
            kd = diverge(logits, teacher_logits, labels)
        finally:
            torch.Tensor.__bool__ = plain
        ce = entropy(logits, labels)
        del logits, teacher_logits
        return 0.5 * ce + 0.5 * kd

    return loss_of


LOSSES = {"TRL GKD": (gkd, "full"), "ms-swift": (swift, "divergence-chunks"), "Liger": (liger, "liger"),
          "TRL distillation": (tiled, "log-probabilities-chunked")}


def cases():
    made = []

    small, wide = TEACHERS

    def case(name, loss, *parts, teacher=small):
        run = RUN | {"loss.implementation": loss, "method.teacher": teacher, "method.frozenParameters": PARAMETERS[teacher]}
        for part in parts:
            run |= part
        made.append({"id": name, "run": run, "model": STUDENT})

    for divergence in DIVERGENCES:
        kind = {"loss.divergence": divergence}
        for what, (_, loss) in LOSSES.items():
            for scheme, precision in SCHEMES.items():
                if scheme == "bf16" or what in ("TRL GKD", "ms-swift"):
                    case(f"{what}, {divergence}, {scheme}", loss, kind, precision)
            case(f"{what}, {divergence}, bf16, checkpointed", loss, kind, NATIVE, CHECKPOINTED)
            case(f"{what}, {divergence}, bf16, LoRA", loss, kind, NATIVE, LORA)
            case(f"{what}, {divergence}, bf16, 4 x 1024", loss, kind, NATIVE, {"batch.micro": 4})
            case(f"{what}, {divergence}, bf16, wide teacher", loss, kind, NATIVE, CHECKPOINTED, teacher=wide)
        for loss in ("chunked", "native"):
            case(f"torchtune, {divergence}, {loss}", loss, kind, NATIVE)
    return made


def main():
    options = options_of(__doc__, "distillation.json")
    done, found = recorded(options.out), cases()
    plain_method, plain_getitem = oracle.apply_method, torch.Tensor.__getitem__
    oracle.saved_tensors = lambda *args: {}
    for case in found:
        if options.only not in case["id"] or (case["id"] in done and not options.force):
            continue
        run, kept = case["run"], {}

        def apply_method(model, run):
            named = run["method.teacher"]
            _, teacher = oracle.build_model({"model": TEACHERS[named], "run": run})
            assert sum(p.numel() for p in teacher.parameters()) == PARAMETERS[named]
            # The Trainer turns the cache off for its own model alone; others than TRL's GKD turn it off.
            teacher.config.use_cache = case["id"].startswith("TRL GKD")
            teacher.eval().requires_grad_(False)
            oracle.apply_precision(teacher, run)
            kept["teacher"] = teacher
            return plain_method(model, run)

        def compute_loss(model, batch):
            if "loss" not in kept:
                name = case["id"].split(",")[0]
                kept["loss"] = (tune if name == "torchtune" else LOSSES[name][0])(run, kept["teacher"])
            return kept["loss"](model, batch)

        oracle.apply_method, oracle.compute_loss = apply_method, compute_loss
        torch.Tensor.__getitem__ = keep_all(plain_getitem)
        plain_watch = oracle.Tracker.watch

        def watch(tracker, model):
            """The teacher lies beside the student from the beginning."""
            plain_watch(tracker, model)
            for tensor in [*kept["teacher"].parameters(), *kept["teacher"].buffers()]:
                tracker.add(tensor)

        oracle.Tracker.watch = watch
        try:
            results = oracle.measure(case)
        finally:
            torch.Tensor.__getitem__, oracle.Tracker.watch = plain_getitem, plain_watch
        micro = results["steps"][-1]["micro"][0]
        phases = phases_of(micro)
        done[case["id"]] = case | {"results": {"parameters": results["parameters"], **phases, "peak": results["peak"]}}
        print(case["id"], {k: (v["peak"], v["operator"]) for k, v in phases.items()}, flush=True)
        names = ("torch", "transformers", "peft", "trl", "ms-swift", "liger-kernel", "torchtune")
        write(options.out, {"versions": {n: importlib.metadata.version(n) for n in names}}, found, done)
    return 0


if __name__ == "__main__":
    sys.exit(main())
