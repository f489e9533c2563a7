import assert from 'node:assert/strict';
import { loadPython } from '../../../server/src/config/python/grammar';
import type { ReadContext } from '../../../server/src/dialects/dialect';
import { mightBeTrainingConfig } from '../../../server/src/dialects/registry';
import { assertStates, read } from './reading';

const python = (text: string, known: ReadContext['known'] = {}) =>
  read('python', 'file:///train.py', text, known);

const lightning = (trainer: string, load = 'AutoModelForCausalLM.from_pretrained(name)') => `import torch
import lightning as L
from lightning.pytorch.strategies import DeepSpeedStrategy, FSDPStrategy
from torch.utils.data import DataLoader
from transformers import AutoModelForCausalLM, AutoTokenizer

class Tuned(L.LightningModule):
    def __init__(self, name="meta-llama/Llama-2-7b-hf"):
        super().__init__()
        self.model = ${load}
        self.tokenizer = AutoTokenizer.from_pretrained(name)

    def training_step(self, batch, index):
        return self.model(**batch).loss

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=1e-5)

loader = DataLoader([], batch_size=4, shuffle=True)
L.Trainer(${trainer}).fit(Tuned(), loader)
`;

describe('modules that Lightning trains', () => {
  before(loadPython);

  it('are read with the model that they hold, the optimizer that they give and the loader', () => {
    const reading = python(
      lightning('devices=2, num_nodes=2, precision="bf16-mixed", accumulate_grad_batches=8'),
    );
    assertStates(reading, {
      'model.id': 'meta-llama/Llama-2-7b-hf file',
      'hardware.gpus': '4 file',
      'parallel.data': 'ddp default',
      'precision.compute': 'bf16 file',
      'precision.scheme': 'autocast file',
      'optimizer.name': 'adamw file',
      'batch.micro': '4 file',
      'batch.accumulation': '8 file',
      'activations.checkpointing': 'none default',
    });
    // What the step gives back is the loss of the model.
    assert.equal(reading.unread, undefined);
  });

  it('have no defaults where words that are not known may state them', () => {
    const { facts, unread } = python(lightning('**settings.trainer, devices=2'));
    const known = facts.map(({ field }) => field);
    for (const field of ['precision.scheme', 'parallel.data', 'batch.accumulation'])
      assert.ok(!known.some((one) => one === field), field);
    assert.ok(known.includes('hardware.gpus'));
    const open = unread?.find(({ text }) => text === '**');
    assert.deepEqual(open?.fields, [
      'parallel.data',
      'precision.compute',
      'precision.scheme',
      'precision.weights',
      'batch.accumulation',
    ]);
  });

  it('are refused where they are made of layers of PyTorch, which no name of a model stands for', () => {
    const layers = `import torch
import lightning.pytorch as pl
from torch.utils.data import DataLoader
class Digits(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(784, 10)
        self.rate = unknown()
    def training_step(self, batch, index):
        return torch.nn.functional.cross_entropy(self.layer(batch[0]), batch[1])
    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-3)
pl.Trainer(devices=1).fit(Digits(), DataLoader([], batch_size=4))
`;
    const { unread, problems } = python(layers);
    assert.deepEqual(
      unread?.map(({ kind, text }) => [kind, text]),
      [['refused', 'Digits']],
    );
    assert.ok(!problems.some(({ code }) => code === 'python-model-unknown'));
  });

  it('tell a loss that the model computes of labels from one of the code', () => {
    const unread = (body: string) =>
      python(lightning('devices=1').replace('        return self.model(**batch).loss\n', body)).unread?.map(
        ({ text }) => text,
      );
    const forward =
      '    def forward(self, ids, mask, labels):\n        return self.model(ids, attention_mask=mask, labels=labels)\n';
    const own = [
      '        out = self.model(batch["ids"],\n            labels=batch["label"])\n        self.log("loss", out["loss"])\n        return out["loss"]  # trained on\n',
      '        loss = self.model(**batch)[0]\n        return loss\n',
      `        out = self(batch["ids"], batch["mask"], labels=batch["label"])\n        return out.loss\n\n${forward}`,
    ];
    for (const body of own) assert.equal(unread(body), undefined, body);
    const others = [
      '        out = self.model(**batch)\n        return criterion(out.logits, batch["label"])\n',
      '        out = self.model(**batch)\n        loss = out.loss + out.logits.mean()\n        return loss\n',
      '        return self.model(batch["ids"]).loss\n',
      '        out = self.scored(**batch)\n        return out["loss"]\n\n    def scored(self, **batch):\n        return other(batch)\n',
    ];
    for (const body of others) assert.deepEqual(unread(body), ['loss'], body);
  });

  it('are sharded by FSDP as the strategy states', () => {
    const policy =
      'strategy=FSDPStrategy(auto_wrap_policy={Layer}, activation_checkpointing_policy={Layer}, sharding_strategy="SHARD_GRAD_OP", cpu_offload=True), precision="bf16-true"';
    assertStates(python(lightning(policy)), {
      'parallel.data': 'fsdp1 file',
      'fsdp.strategy': 'grad-op file',
      'fsdp.wrap': 'layer inferred',
      'activations.checkpointing': 'full file',
      'activations.reentrant': 'false default',
      'offload.parameters': 'cpu file',
      'precision.weights': 'bf16 file',
      'precision.scheme': 'native file',
    });
    assertStates(python(lightning('strategy="fsdp", precision="16-mixed"')), {
      'fsdp.strategy': 'full default',
      'fsdp.wrap': 'none default',
      'offload.parameters': undefined,
      'precision.compute': 'fp16 file',
      'precision.scheme': 'fsdp file',
    });
  });

  it('have GPUs, or none, by the older argument, too', () => {
    assertStates(python(lightning('gpus=2, num_nodes=2')), { 'hardware.gpus': '4 file' });
    for (const given of ['gpus=0', 'gpus=[]', 'accelerator="cpu"']) {
      const { unread } = python(lightning(given));
      assert.deepEqual(
        unread?.map(({ kind, onCpu }) => [kind, onCpu]),
        [['refused', true]],
        given,
      );
    }
  });

  it('are sharded by DeepSpeed with the buckets of the strategy', () => {
    assertStates(python(lightning('strategy="deepspeed_stage_3_offload", precision="bf16-mixed"')), {
      'parallel.data': 'zero file',
      'zero.stage': '3 file',
      'offload.optimizer': 'cpu file',
      'offload.parameters': 'cpu file',
      'zero.reduceBucket': '200000000 file',
      'precision.compute': 'bf16 file',
    });
    assertStates(
      python(lightning('strategy=DeepSpeedStrategy(stage=2, reduce_bucket_size=100), precision="16-mixed"')),
      {
        'zero.stage': '2 file',
        'offload.optimizer': 'none default',
        'zero.reduceBucket': '100 file',
        'precision.compute': 'fp16 file',
      },
    );
    const own =
      'strategy=DeepSpeedStrategy(config={"zero_optimization": {"stage": 1}, "bf16": {"enabled": True}})';
    assertStates(python(lightning(own)), { 'zero.stage': '1 file', 'precision.compute': 'bf16 file' });
  });

  it('say what they do not know: another strategy, a model of their own', () => {
    const reading = python(lightning('strategy=pick()'));
    assert.ok(
      reading.unread?.some(({ text, fields }) => text === 'strategy' && fields?.includes('parallel.data')),
    );
    const own = python(lightning('', 'torch.nn.Linear(8, 8)'));
    assert.deepEqual(
      own.problems.map(({ code, severity }) => `${code} ${severity}`),
      ['python-model-unknown information'],
    );
    assert.ok(!own.facts.some(({ field }) => field === 'method.kind' || field === 'model.id'));
  });
});

describe('trainings by other libraries', () => {
  before(loadPython);

  const reported = (text: string) => {
    assert.ok(mightBeTrainingConfig(text, 'train.py'));
    return python(text).unread?.map(({ kind, message }) => `${kind} ${message}`);
  };

  it('are reported once, in words', () => {
    assert.deepEqual(
      reported(
        'from tensorflow import keras\nmodel = keras.Sequential([])\nmodel.compile("adam")\nmodel.fit(x, y)\nmodel.fit(x, y)',
      ),
      ['refused Keras trains here: that is not estimated.'],
    );
    assert.deepEqual(
      reported(
        'from xtuner.v1.model import Qwen3Dense8BConfig\nfrom xtuner.v1.train import TrainerConfig\ntrainer = TrainerConfig(model_cfg=Qwen3Dense8BConfig(), global_batch_size=16)',
      ),
      ['refused XTuner V1 trains here: that is not estimated.'],
    );
    assert.deepEqual(reported('import jax\nstep = jax.value_and_grad(loss)\nstep(p)'), [
      'refused JAX trains here: that is not estimated.',
    ]);
    assert.deepEqual(
      reported(
        'import torchtune\nfrom recipes import LoRAFinetuneRecipeDistributed\nr = LoRAFinetuneRecipeDistributed(cfg)\nr.train()',
      ),
      ['refused torchtune trains here: that is not estimated.'],
    );
    for (const [function_, module] of [
      ['pretrain', 'training.pretrain'],
      ['finetune', 'training.finetune'],
      ['distill', 'training.distill'],
    ] as const)
      assert.deepEqual(
        reported(
          `from megatron.bridge.recipes.llama import llama32_1b_pretrain_config\nfrom megatron.bridge.${module} import ${function_}\nconfig = llama32_1b_pretrain_config()\nconfig.train.train_iters = 10\n${function_}(config=config)\n`,
        ),
        ['refused Megatron-Bridge trains here: that is not estimated.'],
      );
    assert.deepEqual(
      reported(
        'from nemo.collections import llm\nllm.finetune(model=llm.LlamaModel(llm.Llama3Config8B()), data=data, trainer=trainer)\n',
      ),
      ['refused NeMo trains here: that is not estimated.'],
    );
    // A function of the project's own is called like it.
    assert.ok(!mightBeTrainingConfig('from training import pretrain\npretrain(config=config)\n', 'train.py'));
  });

  it('by functions of litgpt are read as its config', () => {
    const reading = python(`from pathlib import Path
from litgpt.args import EvalArgs, TrainArgs
from litgpt.data import Alpaca
from litgpt.finetune.lora import setup
setup(
    checkpoint_dir=Path("checkpoints/EleutherAI/pythia-160m"),
    data=Alpaca(mask_prompt=True),
    precision="bf16-true",
    quantize="bnb.nf4",
    devices=2,
    lora_r=4,
    lora_query=True,
    train=TrainArgs(global_batch_size=8, micro_batch_size=2, max_seq_length=512),
    eval=EvalArgs(interval=100),
)`);
    assertStates(reading, {
      'model.id': 'EleutherAI/pythia-160m file',
      'batch.micro': '2 file',
      'batch.sequence': '512 file',
      'lora.rank': '4 file',
      'quantization.kind': 'nf4 file',
      'hardware.gpus': '2 file',
    });
    assert.deepEqual([reading.unread, reading.problems], [undefined, []]);
    const open = python('from litgpt.pretrain import setup\nsetup("pythia-14m", train=arguments)');
    assert.ok((open.unread ?? []).length > 0);
  });

  it('by recipes of torchtune are read as the config that they are made with', () => {
    const reading = python(`from omegaconf import OmegaConf
from torchtune.recipes import LoRAFinetuneRecipeSingleDevice
cfg = OmegaConf.create({
    "model": {"_component_": "torchtune.models.llama3_1.lora_llama3_1_8b", "lora_rank": 8, "lora_attn_modules": ["q_proj", "v_proj"]},
    "tokenizer": {"_component_": "torchtune.models.llama3.llama3_tokenizer", "max_seq_len": 1024},
    "optimizer": {"_component_": "torch.optim.AdamW"},
    "dtype": "bf16",
    "batch_size": 2,
    "gradient_accumulation_steps": 4,
})
recipe = LoRAFinetuneRecipeSingleDevice(cfg=cfg)
recipe.setup(cfg=cfg)
recipe.train()`);
    assertStates(reading, {
      'model.id': 'meta-llama/Llama-3.1-8B file',
      'lora.rank': '8 file',
      'batch.micro': '2 file',
      'batch.sequence': '1024 file',
      'parallel.data': 'none inferred',
    });
    assert.equal(reading.unread, undefined);
  });

  it('are those of trainers that are made of that of transformers and train otherwise', () => {
    for (const [from, trainer, words] of [
      ['trl.experimental.gold', 'GOLDTrainer', 'Runs of `GOLDTrainer` are not estimated.'],
      ['trl', 'PPOTrainer', 'Runs of `PPOTrainer` are not estimated.'],
      [
        'sentence_transformers',
        'SentenceTransformerTrainer',
        'sentence-transformers trains here: that is not estimated.',
      ],
      ['setfit', 'Trainer', 'SetFit trains here: that is not estimated.'],
      ['adapters', 'AdapterTrainer', 'adapters trains here: that is not estimated.'],
    ])
      assert.deepEqual(
        reported(
          `from ${from} import ${trainer}\ntrainer = ${trainer}(model=model, args=args)\ntrainer.train()`,
        ),
        [`refused ${words}`],
      );
  });

  it('are those of a module of the file, too', () => {
    const own = `import torch
model = torch.nn.Linear(8, 8)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x in data:
    loss = model(x).sum()
    loss.backward()
    optimizer.step()`;
    assert.ok(mightBeTrainingConfig(own, 'train.py'));
    assert.deepEqual(
      python(own).unread?.map(({ kind, text }) => `${kind} ${text}`),
      ['refused Linear'],
    );
    const handed = own.replace('torch.nn.Linear(8, 8)', 'build(8)');
    assert.deepEqual(
      python(handed).problems.map(({ code }) => code),
      ['python-model-unknown'],
    );
  });

  it('are none where nothing trains', () => {
    assert.equal(mightBeTrainingConfig('import keras\nmodel.predict(x)', 'a.py'), false);
    assert.equal(mightBeTrainingConfig('from sklearn.svm import SVC\nSVC().fit(x, y)', 'a.py'), false);
    assert.equal(mightBeTrainingConfig('import jax\njax.jit(f)(x)', 'a.py'), false);
    assert.equal(mightBeTrainingConfig('import torch\nx.backward()', 'a.py'), false);
  });
});
