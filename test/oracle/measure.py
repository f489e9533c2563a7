"""Measures one case: real transformers and peft modules, fake CUDA tensors, the steps of a training loop."""

import gc
import re
import time
from collections import Counter
from types import MethodType

import torch

import fake_cuda
from allocation import Tracker, local, rounded, saved_tensors
from kernels import stand_in

DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}
LIVE_GROUPS = 10  # largest groups of live tensors reported at the peak


def admit_timm():
    """timm's backbones without torchvision, of which they need no part: `pip install --no-deps timm==1.0.31`."""
    import sys
    from unittest.mock import MagicMock

    from transformers.models.timm_backbone import modeling_timm_backbone
    from transformers.models.timm_wrapper import modeling_timm_wrapper
    from transformers.utils import import_utils

    for part in ("", ".ops", ".ops.misc", ".transforms", ".transforms.functional", ".datasets", ".models", ".models.feature_extraction"):
        sys.modules.setdefault(f"torchvision{part}", MagicMock())
    import timm

    import_utils.BACKENDS_MAPPING["timm"] = (lambda: True, "")
    modeling_timm_backbone.timm = modeling_timm_wrapper.timm = timm


def admit_detectron2():
    """detectron2's backbones without its kernels and torchvision, of which they need neither: its sources (main, 0.6) on the path."""
    import sys
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from unittest.mock import MagicMock

    from transformers.models.layoutlmv2 import configuration_layoutlmv2, modeling_layoutlmv2
    from transformers.utils import import_utils

    class Absent(ModuleType):
        __version__ = "0.28.0"

        def __getattr__(self, name):
            if name.startswith("__"):
                raise AttributeError(name)
            return type(name, (), {})

    for name in ("detectron2._C", "torchvision", "torchvision.ops", "torchvision.ops.boxes", "torchvision.transforms", "pycocotools", "pycocotools.mask"):
        module = sys.modules.setdefault(name, Absent(name))
        module.__spec__, module.__path__ = ModuleSpec(name, None), []
    sys.modules.setdefault("cv2", MagicMock(__version__="4.0"))
    import detectron2.config
    import detectron2.layers
    import detectron2.modeling

    import_utils.BACKENDS_MAPPING["detectron2"] = (lambda: True, "")
    for part in (configuration_layoutlmv2, modeling_layoutlmv2):
        part.detectron2 = detectron2
    modeling_layoutlmv2.META_ARCH_REGISTRY = detectron2.modeling.META_ARCH_REGISTRY


def give_plain_rates():
    """ConvNeXt reads how often each block is left out off a tensor while it is made; fake tensors have no values, so an array stands for it."""
    import numpy

    class Rates:
        def __init__(self, start, end, steps, device=None):
            self.values = numpy.linspace(start, end, steps)

        def split(self, sizes):
            return numpy.split(self.values, numpy.cumsum(sizes)[:-1])

    torch.linspace = Rates


def build_model(case, device="cuda"):
    """The model that `from_pretrained` would give, from its config alone."""
    import transformers
    from transformers import AutoConfig

    try:
        from transformers.initialization import no_init_weights
    except ImportError:  # transformers 4
        from transformers.modeling_utils import no_init_weights

    run, described = case["run"], dict(case["model"])
    if described["model_type"] in ("kimi_linear", "zamba2"):
        stand_in()
    if described["model_type"] in ("detr", "gemma3n"):
        admit_timm()
    if described["model_type"] == "layoutlmv2":
        admit_detectron2()
    if described["model_type"] == "convnext":
        give_plain_rates()
    config = AutoConfig.for_model(described.pop("model_type"), **described)
    config.use_cache = False
    if run.get("loss.routerLogits"):
        config.output_router_logits = True
    if "model.labels" in run:
        config.num_labels = run["model.labels"]
    classes = {"vit": "AutoModelForImageClassification", "t5": "AutoModelForSeq2SeqLM", "mt5": "AutoModelForSeq2SeqLM",
               "bart": "AutoModelForSeq2SeqLM", "bert": "AutoModelForMaskedLM", "roberta": "AutoModelForMaskedLM", "distilbert": "AutoModelForMaskedLM",
               "modernbert": "AutoModelForMaskedLM", "electra": "AutoModelForMaskedLM",
               "deberta-v2": "AutoModelForMaskedLM", "muse_glimmer": "AutoModelForImageTextToText",
               "gemma3n": "AutoModelForImageTextToText", "gemma4": "AutoModelForImageTextToText", "ernie4_5_vl_moe": "AutoModelForImageTextToText",
               "wav2vec2": "AutoModelForAudioClassification", "vilt": "ViltForQuestionAnswering",
               "segformer": "AutoModelForSemanticSegmentation", "detr": "AutoModelForObjectDetection",
               "swin": "AutoModelForImageClassification", "convnext": "AutoModelForImageClassification",
               "videomae": "AutoModelForVideoClassification", "speecht5": "SpeechT5ForTextToSpeech",
               "whisper": "AutoModelForSpeechSeq2Seq", "clip": "AutoModel"}
    of_tasks = {"classification": "AutoModelForSequenceClassification", "token-classification": "AutoModelForTokenClassification",
                "question-answering": "AutoModelForQuestionAnswering"}
    # What answers a question has two scores for each token: the class for images is a classifier whatever is asked.
    task = None if config.model_type in ("vit", "wav2vec2", "vilt", "segformer", "detr", "swin", "convnext", "videomae") else of_tasks.get(run.get("method.objective"))
    auto = getattr(transformers, task or classes.get(config.model_type, "AutoModelForCausalLM"))
    # Mistral 4 stands behind a tower alone, and no auto class makes its text.
    make = transformers.Mistral4ForCausalLM._from_config if config.model_type == "mistral4" else getattr(auto, "from_config", None) or auto._from_config
    with torch.device(device), no_init_weights():
        model = make(config, dtype=DTYPES[run.get("precision.weights", "fp32")],
                                 attn_implementation=run.get("attention.implementation", "sdpa"))
    if config.model_type == "layoutlmv2":
        # detectron2 freezes the first levels; `from_pretrained` of transformers 5 makes parameters anew.
        model = model.requires_grad_(True).to(device)
    # Skipping initialization skips tying too; `from_pretrained` does it.
    model.tie_weights()
    return config, model


DROPPED = {"id2label", "label2id", "architectures", "transformers_version", "dtype", "output_attentions", "return_dict",
           "output_hidden_states", "chunk_size_feed_forward", "problem_type", "bos_token_id", "eos_token_id",
           "pad_token_id", "sep_token_id", "initializer_range", "initializer_factor", "_name_or_path", "task_specific_params",
           "time_step_limit",  # up to infinity, which JSON has no word for
           "is_encoder_decoder", "cross_attention_hidden_size", "use_cache", "name_or_path"}


def described(config) -> dict:
    """The whole configuration that the model was built from, without labels and what is unset."""
    return {k: v for k, v in config.to_dict().items() if k not in DROPPED and (v is not None or k == "q_lora_rank")}


def expect_plain_batches():
    """transformers looks at the data to see that a batch is not packed; fake tensors have none, so answer for it."""
    from transformers import masking_utils

    masking_utils.find_packed_sequence_indices = lambda position_ids: None


def expect_matches(model):
    """DETR matches boxes with objects on the host, by values that fake tensors have none of: every query is scored, and its box compared, in place of that."""
    def loss(logits, labels, device, boxes, config, *more):
        targets = torch.zeros(logits.shape[:2], dtype=torch.long, device=logits.device)
        weight = torch.ones(logits.shape[-1], device=logits.device)
        scores = torch.nn.functional.cross_entropy(logits.transpose(1, 2), targets, weight)
        return scores + torch.nn.functional.l1_loss(boxes, torch.zeros_like(boxes)), None, None

    class Finite:
        def all(self):
            return True

    model.loss_function = loss
    # Its layers look whether all of their results are finite, which fake tensors do not know.
    torch.isfinite = lambda tensor: Finite()


class WholeSelect(torch.autograd.Function):
    """`masked_select` of a mask that selects all: the mask becomes indices of 8 bytes for each dimension, and both what it was given and the mask are kept.
    Backward counts for each element how many are selected before it (`IndexKernel.cpp`, `masked_scatter_cuda_impl`)."""

    @staticmethod
    def forward(ctx, x, mask):
        x, mask = torch.broadcast_tensors(x, mask)
        ctx.save_for_backward(x, mask)
        whole = mask.contiguous()
        indices = torch.zeros(whole.numel(), whole.dim(), dtype=torch.long, device=x.device)
        return x[tuple(indices[:, i] for i in range(mask.dim()))]

    @staticmethod
    def backward(ctx, gradient):
        x, mask = ctx.saved_tensors
        counts = torch.empty(mask.shape, dtype=torch.long, device=x.device)  # noqa: F841
        return torch.zeros_like(x).masked_scatter_(mask, gradient), None


def expect_filled_spectrograms():
    """SpeechT5 selects what is no filling of spectrograms, and weighs each sample's attention by its length; fake tensors have no values, so all of them are whole."""
    from transformers.models.speecht5 import modeling_speecht5

    def masks(self, input_masks, output_masks, device):
        made = torch.zeros((len(input_masks), output_masks.shape[1], input_masks.shape[1]), device=device)
        for index in range(len(input_masks)):
            made[index] = self._make_guided_attention_mask(input_masks.shape[1], output_masks.shape[1], self.sigma, device)
        return made.unsqueeze(1)

    torch.Tensor.masked_select = lambda x, mask: WholeSelect.apply(x, mask)
    modeling_speecht5.SpeechT5GuidedMultiheadAttentionLoss._make_guided_attention_masks = masks


def expect_whole_images():
    """ViLT chooses the patches that are no filling by the values of a mask; fake tensors have none, so all are chosen, by the same operators."""
    from torch.nn import functional
    from transformers.models.vilt import modeling_vilt

    def visual_embed(self, pixel_values, pixel_mask, max_image_length=200):
        x = self.patch_embeddings(pixel_values)
        size, channels, height, width = x.shape
        side = self.config.image_size // self.config.patch_size
        table = self.position_embeddings[:, 1:, :].transpose(1, 2).view(1, channels, side, side)
        places = torch.cat([functional.pad(functional.interpolate(table, size=(height, width), mode="bilinear", align_corners=True), (0, 0, 0, 0))
                            for _ in range(size)], dim=0)
        places, x = (y.flatten(2).transpose(1, 2) for y in (places, x))
        select = torch.zeros(size * height * width, 2, dtype=torch.long, device=x.device)
        x, places = (y[select[:, 0], select[:, 1]].view(size, -1, channels) for y in (x, places))
        x = torch.cat((self.cls_token.expand(size, -1, -1), x), dim=1)
        places = torch.cat((self.position_embeddings[:, 0, :][:, None, :].expand(size, -1, -1), places), dim=1)
        return self.dropout(x + places), torch.ones(size, x.shape[1], dtype=torch.long, device=x.device), None

    modeling_vilt.ViltEmbeddings.visual_embed = visual_embed


def positions(tensor, mask):
    """`tensor[mask]` of a mask that keeps all: two indices for each element, as the mask is turned into them."""
    indices = torch.zeros(mask.numel(), mask.dim(), dtype=torch.long, device=tensor.device)
    return tuple(indices[:, i] for i in range(mask.dim()))


def expect_sound(kind):
    """Whether as many tokens are of sound as features are, transformers asks of values that fake tensors have none of."""
    from importlib import import_module

    import_module(f"transformers.models.{kind}.modeling_{kind}").torch_compilable_check = lambda *arguments: None


def keep_all(plain):
    def getitem(tensor, index):
        if isinstance(index, torch.Tensor) and index.dtype == torch.bool:
            index = positions(tensor, index)
        return plain(tensor, index)

    return getitem


def apply_method(model, run):
    """LoRA through peft, as `get_peft_model` does it; some layers alone, the last or the first; full training otherwise."""
    if run.get("method.kind", "full") == "full":
        return model
    if run["method.kind"] == "freeze":
        count, layers = run["method.trainableLayers"], list(model.base_model.layers)
        model.requires_grad_(False)
        for layer in layers[-count:] if count > 0 else layers[:-count]:
            layer.requires_grad_(True)
        return model
    from peft import LoraConfig, get_peft_model

    targets = run["lora.targets"]
    lora = LoraConfig(r=run["lora.rank"], lora_alpha=run.get("lora.alpha", 16), lora_dropout=run.get("lora.dropout", 0.0),
                      target_modules=targets[0] if targets == ["all-linear"] else targets, task_type="CAUSAL_LM")
    with torch.device("cuda"):
        return get_peft_model(model, lora, autocast_adapter_dtype=run.get("lora.dtype", "fp32") == "fp32")


def apply_precision(model, run):
    """Autocast as accelerate applies it: around forward, loss included, with outputs returned in fp32."""
    if run.get("precision.scheme", "native") != "autocast":
        return
    from accelerate.utils import convert_outputs_to_fp32

    forward = model.forward.__func__
    cast = torch.autocast("cuda", dtype=DTYPES[run["precision.compute"]])(forward)
    model.forward = MethodType(cast, model)
    model.forward = MethodType(convert_outputs_to_fp32(model.forward.__func__), model)


def make_optimizer(parameters, run):
    name, implementation = run.get("optimizer.name", "adamw"), run.get("optimizer.implementation", "foreach")
    flags = {"foreach": implementation == "foreach", "fused": implementation == "fused"}
    if name == "adamw":
        return torch.optim.AdamW(parameters, lr=1e-4, **flags)
    if name == "adam":
        return torch.optim.Adam(parameters, lr=1e-4, **flags)
    if name in ("sgd", "sgd-momentum"):
        return torch.optim.SGD(parameters, lr=1e-4, momentum=0.9 if name == "sgd-momentum" else 0.0, **flags)
    raise ValueError(f"optimizer {name} has no oracle")


def make_batch(config, run):
    """Unpadded token ids and labels without a padding mask, or images and classes."""
    batch, length = run["batch.micro"], run["batch.sequence"]
    if config.model_type in ("vit", "swin", "convnext", "videomae"):
        frames = (config.num_frames,) if config.model_type == "videomae" else ()
        shape = (batch, *frames, config.num_channels, config.image_size, config.image_size)
        return {"pixel_values": torch.zeros(shape, device="cuda", dtype=DTYPES[run.get("precision.weights", "fp32")]),
                "labels": torch.zeros(batch, dtype=torch.long, device="cuda")}
    if config.model_type == "wav2vec2":
        return {"input_values": torch.zeros(batch, length, device="cuda", dtype=DTYPES[run.get("precision.weights", "fp32")]),
                "labels": torch.zeros(batch, dtype=torch.long, device="cuda")}
    ids = torch.zeros(batch, length, dtype=torch.long, device="cuda")
    if config.model_type == "whisper":
        frames = torch.zeros(batch, config.num_mel_bins, 2 * config.max_source_positions, device="cuda", dtype=DTYPES[run.get("precision.weights", "fp32")])
        return {"input_features": frames, "labels": ids}
    if config.model_type == "clip":
        side = config.vision_config.image_size
        pixels = torch.zeros(batch, 3, side, side, device="cuda", dtype=DTYPES[run.get("precision.weights", "fp32")])
        return {"input_ids": ids, "pixel_values": pixels, "return_loss": True}
    if config.model_type == "detr":
        shape = (batch, 3, 800, 1333)
        return {"pixel_values": torch.zeros(shape, device="cuda", dtype=DTYPES[run.get("precision.weights", "fp32")]), "labels": []}
    if config.model_type == "speecht5":
        frames = config.reduction_factor * run["batch.targetSequence"]
        return {"input_ids": ids, "attention_mask": torch.ones_like(ids), **{
            name: torch.zeros(shape, device="cuda", dtype=DTYPES[run.get("precision.weights", "fp32")]) for name, shape in {
                "labels": (batch, frames, config.num_mel_bins), "speaker_embeddings": (batch, config.speaker_embedding_dim)}.items()}}
    if config.model_type == "segformer":
        side = 512
        pixels = torch.zeros(batch, config.num_channels, side, side, device="cuda", dtype=DTYPES[run.get("precision.weights", "fp32")])
        return {"pixel_values": pixels, "labels": torch.zeros(batch, side, side, dtype=torch.long, device="cuda")}
    if config.model_type in ("git", "vilt"):
        vision = getattr(config, "vision_config", config)
        # ViLT's largest: its processor makes the longer side at most 1333 / 800 of the shorter, in whole patches.
        sides = (vision.image_size, int(1333 / 800 * vision.image_size) // 32 * 32) if config.model_type == "vilt" else (vision.image_size,) * 2
        pixels = torch.zeros(batch, vision.num_channels, *sides, device="cuda", dtype=DTYPES[run.get("precision.weights", "fp32")])
        more = {"labels": ids.clone()} if config.model_type == "git" else {
            "labels": torch.zeros(batch, config.num_labels, device="cuda"), "pixel_mask": torch.ones(batch, *sides, dtype=torch.long, device="cuda")}
        return {"input_ids": ids, "pixel_values": pixels, "attention_mask": torch.ones_like(ids), **more}
    if config.model_type == "layoutlmv2":
        places = torch.zeros(batch, dtype=torch.long, device="cuda")
        return {"input_ids": ids, "bbox": torch.zeros(batch, length, 4, dtype=torch.long, device="cuda"), "attention_mask": torch.ones_like(ids),
                "token_type_ids": torch.zeros_like(ids), "image": torch.zeros(batch, 3, 224, 224, device="cuda", dtype=DTYPES[run.get("precision.weights", "fp32")]),
                "start_positions": places, "end_positions": places.clone()}
    if run.get("method.objective") == "question-answering":
        places = torch.zeros(batch, dtype=torch.long, device="cuda")
        return {"input_ids": ids, "start_positions": places, "end_positions": places.clone()}
    if run.get("method.objective") == "classification":
        return {"input_ids": ids, "labels": torch.zeros(batch, dtype=torch.long, device="cuda")}
    labels = torch.zeros(batch, run.get("batch.targetSequence", length), dtype=torch.long, device="cuda")
    batch = {"input_ids": ids, "labels": labels}
    if run.get("batch.sound", False):
        frames = {"gemma4": 2999, "gemma3n": 2997}[config.model_type]  # of 30 seconds
        batch |= {"input_features": torch.zeros(len(ids), frames, 128, device="cuda"),
                  "input_features_mask": torch.ones(len(ids), frames, dtype=torch.bool, device="cuda")}
    if run.get("attention.mask", False):  # a padding mask that really masks something
        batch["attention_mask"] = torch.ones_like(ids)
    return batch


def compute_loss(model, batch):
    """As `Trainer.compute_loss`: the outputs, logits included, are dropped before backward."""
    return model(**batch).loss


def layer_of(module: str):
    """Number of the decoder layer that a module path belongs to, and the path inside it."""
    staged = re.match(r"(.*(?:stages|layers)\.\d+\.blocks\.\d+)\.?(.*)", module)
    if staged:
        return staged.groups()
    parts = module.split(".")
    for index, part in enumerate(parts):
        if part.isdigit():
            return ".".join(parts[: index + 1]), ".".join(parts[index + 1:])
    return None, module


def saved_report(found) -> dict:
    """Saved bytes in all, of the middle layer, and that layer's table by module and operator."""
    layers, outside = {}, 0
    for size, node, name, module, dtype, shape in found.values():
        layer, inner = layer_of(module)
        if layer is None:
            outside += size
            continue
        layers.setdefault(layer, []).append([inner, node, name, dtype, shape, size])
    report = {"total": sum(entry[0] for entry in found.values()), "outsideLayers": outside,
              "perLayer": {layer: sum(row[-1] for row in rows) for layer, rows in layers.items()}}
    if layers:
        # The middle one of those that are the most: what stands in a sequence, such as a classifier, has a number, too. SpeechT5's nets around its layers are none.
        lists = Counter(layer.rpartition(".")[0] for layer in layers if "net.layers." not in layer)
        names = [layer for layer in layers if ".blocks." in layer] or [
            layer for layer in layers if layer.rpartition(".")[0] == lists.most_common(1)[0][0]]
        report["layer"] = names[len(names) // 2]
        report["layerTensors"] = sorted(layers[report["layer"]], key=lambda row: row[0])
    return report


def phase_report(tracker: Tracker, groups=False) -> dict:
    operator, module = tracker.peak_at
    report = {"peak": tracker.peak, "peakWithFlashWorkspace": tracker.peak_workspace, "operator": operator,
              "module": module, "after": tracker.current}
    if groups:
        live = tracker.live_at(tracker.peak_event).most_common(LIVE_GROUPS)
        report["live"] = [[size, *origin] for origin, size in live]
    return report


def total(tensors) -> int:
    """Bytes of the device storages of tensors, each counted once."""
    storages = [local(t).untyped_storage() for t in tensors if t.device.type == "cuda"]
    return sum({storage._cdata: rounded(storage.nbytes()) for storage in storages}.values())


def flops_of(phases) -> dict:
    """FLOPs by phase as those of one forward pass and of the first step."""
    return {"forward": phases["forward 1.1"],
            "step": sum(n for phase, n in phases.items() if phase.split()[1].split(".")[0] == "1")}


def measure(case, log=None, steps=2):
    """Runs `steps` optimizer steps and returns the results in bytes and FLOPs. `log`: receives the tracker."""
    run, started = case["run"], time.time()
    gc.collect()
    gc.disable()
    torch.manual_seed(0)
    with fake_cuda.fake_mode():
        config, model = build_model(case)
        expect_plain_batches()
        if config.model_type == "vilt":
            expect_whole_images()
        if config.model_type == "detr":
            expect_matches(model)
        plain_getitem = torch.Tensor.__getitem__
        if run.get("batch.sound", False):
            expect_sound(config.model_type)
            torch.Tensor.__getitem__ = keep_all(plain_getitem)  # each token of a sample is one of sound
        if config.model_type == "speecht5":
            expect_filled_spectrograms()
        model = apply_method(model, run)
        checkpointing = run.get("activations.checkpointing", "none") != "none"
        if checkpointing:
            enable = getattr(model, "activation_checkpointing_enable", None) or model.gradient_checkpointing_enable
            enable({"use_reentrant": run.get("activations.reentrant", True)})
        apply_precision(model, run)
        model.train()
        parameters = list(model.parameters())
        trainable = [p for p in parameters if p.requires_grad]
        optimizer = make_optimizer(trainable, run)
        tracker = Tracker()
        if log is not None:
            log.append(tracker)
        tracker.watch(model)
        gc.collect()
        for tensor in [*parameters, *model.buffers()]:
            tracker.add(tensor)
        results = {
            "config": described(config),
            "parameters": {"total": sum(p.numel() for p in parameters), "trainable": sum(p.numel() for p in trainable)},
            "atRest": {"weights": total(parameters), "buffers": total(model.buffers())},
            "steps": [],
        }
        rest = tracker.current
        with tracker:
            for step in range(1, steps + 1):
                record = {"micro": []}
                for micro in range(1, run.get("batch.accumulation", 1) + 1):
                    last = step == steps and micro == run.get("batch.accumulation", 1)
                    batch = make_batch(config, run)
                    with tracker.in_phase(f"forward {step}.{micro}"):
                        loss = compute_loss(model, batch)
                        forward = phase_report(tracker, last)
                    if step == 1 and micro == 1:
                        results["savedTotal"] = tracker.current - rest
                        if not checkpointing:
                            found = saved_tensors(loss.grad_fn, parameters)
                            results["saved"] = saved_report(found)
                            del found
                    with tracker.in_phase(f"backward {step}.{micro}"):
                        loss.backward()
                        del loss
                        backward = phase_report(tracker, last)
                    del batch
                    record["micro"].append({"forward": forward, "backward": backward})
                results["atRest"]["gradients"] = total(p.grad for p in trainable if p.grad is not None)
                with tracker.in_phase(f"optimizer {step}"):
                    optimizer.step()
                    record["optimizer"] = phase_report(tracker, step == steps)
                optimizer.zero_grad(set_to_none=True)
                record["atRest"] = tracker.current
                gc.collect()
                record["heldByCycles"] = record["atRest"] - tracker.current
                results["steps"].append(record)
        results["atRest"]["optimizerStates"] = total(
            s for state in optimizer.state.values() for s in state.values() if isinstance(s, torch.Tensor))
        steady = results["steps"][-1]
        peaks = [part["peak"] for m in steady["micro"] for part in m.values()] + [steady["optimizer"]["peak"]]
        results["peak"] = max(peaks)
        results["peakWithFlashWorkspace"] = max(
            [part["peakWithFlashWorkspace"] for m in steady["micro"] for part in m.values()] + [steady["optimizer"]["peak"]])
        results["flops"] = flops_of(tracker.flops)
        if tracker.grouped_flops:
            results["flops"]["grouped"] = flops_of(tracker.grouped_flops)
        results["attentionKernels"] = dict(tracker.kernels) or {"none (matmul and softmax)": 0}
        results["seconds"] = round(time.time() - started, 1)
        torch.Tensor.__getitem__ = plain_getitem
        del model, optimizer
    gc.enable()
    return results
