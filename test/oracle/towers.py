"""What timm's MobileNet V5 keeps, the tower of Gemma 3n for images: `python towers.py` (`pip install --no-deps timm==1.0.31`).

Two images through the encoder that is trained, and through the one that is frozen, on fake CUDA tensors; bytes beside weights and
images. `kept`: after forward, with the result; `peak`: of forward.
"""

import json
import sys
from importlib.metadata import version
from pathlib import Path
from unittest.mock import MagicMock

import fake_cuda

fake_cuda.install()  # before torch

# timm imports torchvision for image transforms and a norm that this tower does not have.
for part in ("", ".ops", ".ops.misc", ".transforms", ".transforms.functional", ".datasets", ".models", ".models.feature_extraction"):
    sys.modules[f"torchvision{part}"] = MagicMock()

import timm  # noqa: E402
import torch  # noqa: E402

from allocation import Tracker  # noqa: E402

IMAGES, SIDE = 2, 768


def measured(dtype: torch.dtype, trained: bool) -> dict:
    with fake_cuda.fake_mode():
        with torch.device("cuda"):
            model = timm.create_model("mobilenetv5_300m_enc", pretrained=False).to(dtype)
        model.requires_grad_(trained).train()
        pixels = torch.zeros(IMAGES, 3, SIDE, SIDE, device="cuda", dtype=dtype)
        tracker = Tracker()
        for tensor in (*model.parameters(), *model.buffers(), pixels):
            tracker.add(tensor)
        rest = tracker.current
        with tracker:
            tracker.reset_peak()
            features = model.forward_features(pixels)
            kept = tracker.current - rest
        return {"dtype": {torch.bfloat16: "bf16", torch.float32: "fp32"}[dtype], "trained": trained, "images": IMAGES,
                "features": list(features.shape), "kept": kept, "peak": tracker.peak - rest}


if __name__ == "__main__":
    rows = [measured(dtype, trained) for dtype in (torch.bfloat16, torch.float32) for trained in (True, False)]
    lines = ",\n".join(json.dumps(row) for row in rows)
    versions = {name: version(name) for name in ("torch", "timm")}
    Path(__file__).with_name("towers.json").write_text(f'{{"versions":{json.dumps(versions)},\n"mobilenetv5_300m_enc":[\n{lines}\n]}}\n')
