import assert from 'node:assert/strict';
import type { Estimated } from '../../../server/src/advice/changed-run';
import { decisionsOf } from '../../../server/src/advice/decisions';
import { LEVERS } from '../../../server/src/advice/knobs';
import { loadPython } from '../../../server/src/config/python/grammar';
import { Workspace } from '../../../server/src/workspace/analyze';
import { MemoryHost } from '../../../server/src/workspace/memory-host';
import { modelOfConfig, read } from './reading';

interface Cell {
  readonly install?: string;
  readonly loader?: string;
  readonly model?: string;
  readonly load?: string;
  readonly length?: string;
  readonly config?: string;
  readonly trainer?: string;
  readonly adapters?: string;
  readonly bits?: string;
  readonly first?: string;
  /** The trainer's method, as its class names it. */
  readonly kind?: string;
  /** Null where nobody names one. */
  readonly gpu?: string | null;
  /** The config.json of the folder `mine` beside the file. */
  readonly folder?: object;
}

const SMALL = {
  model_type: 'llama',
  hidden_size: 64,
  intermediate_size: 128,
  num_hidden_layers: 2,
  num_attention_heads: 2,
  vocab_size: 128,
};

/** A notebook that trains adapters with Unsloth, as it is understood. */
async function trained({ install = '', loader = 'FastModel', model = 'unsloth/Qwen3-4B', ...more }: Cell) {
  const { kind = 'SFT' } = more;
  const text = `# %%
!pip install ${install || 'unsloth'}
# %%
${more.first ?? ''}from unsloth import ${loader}
from trl import ${kind}Config, ${kind}Trainer
from transformers import TrainingArguments
model, tokenizer = ${loader}.from_pretrained("${model}", ${more.length ?? 'max_seq_length=1024'}, load_in_4bit=${more.bits ?? 'True'}${more.load ?? ''})
model = ${loader}.get_peft_model(model, ${more.adapters ?? 'r=8'})
trainer = ${kind}Trainer(model=model, args=${more.config ?? `${kind}Config(per_device_train_batch_size=2)`}${more.trainer ?? ''})
trainer.train()
`;
  const { gpu = 'A100-SXM4-80GB' } = more;
  const settings = () => (gpu === null ? {} : ({ 'hardware.gpu': gpu, 'hardware.gpus': 1 } as const));
  const folder: Record<string, string> = more.folder
    ? { 'file:///w/mine/config.json': JSON.stringify(more.folder) }
    : {};
  const host = new MemoryHost({ 'file:///w/train.py': text, ...folder }, { folders: ['file:///w'] });
  const analysis = await new Workspace(host, { settings }).analyze('file:///w/train.py');
  assert.ok(analysis);
  return analysis;
}

async function attention(cell: Cell) {
  const { values, origins } = (await trained(cell)).resolved;
  return [values['attention.implementation'], origins['attention.implementation']?.kind];
}

const attentionLever = LEVERS.find(({ field }) => field === 'attention.implementation');
const ask = (kernel: string) => `, attn_implementation="${kernel}"`;

describe('functions of Unsloth for layers with adapters', () => {
  before(loadPython);

  const fused = (
    adapters: string,
    load = 'load_in_4bit=True',
    known: Parameters<typeof read>[3] = {},
    unsloth?: string,
  ) =>
    read(
      'python',
      'file:///w/train.py',
      `import torch
from unsloth import FastLanguageModel
from trl import SFTConfig, SFTTrainer
model, tokenizer = FastLanguageModel.from_pretrained("unsloth/Llama-3.2-1B", max_seq_length=512, ${load})
model = FastLanguageModel.get_peft_model(model, r=16, ${adapters})
SFTTrainer(model=model, train_dataset=data(), args=SFTConfig(per_device_train_batch_size=2)).train()
`,
      known,
      unsloth === undefined ? {} : { unsloth: { version: unsloth, source: 'stated' } },
      modelOfConfig(SMALL),
    ).facts.some(({ field }) => field === 'kernels.lora');

  it('leave layers that have a bias to PEFT', async () => {
    const parts = async (model: string, adapters = 'r=8') =>
      (await trained({ loader: 'FastLanguageModel', model, adapters })).resolved.values['kernels.lora'];
    assert.deepEqual(await parts('unsloth/Qwen2.5-7B-Instruct'), ['mlp', 'output']);
    const llama = 'unsloth/Llama-3.2-1B';
    assert.deepEqual(await parts(llama), ['mlp', 'qkv', 'output']);
    // As are those of which some have no adapter.
    const some = 'r=8, target_modules=["q_proj", "v_proj", "o_proj"]';
    assert.deepEqual(await parts(llama, some), ['output']);
  });

  it('take the place of them where no bias is trained, nothing is in fp32, and a release has dropout in them', () => {
    assert.ok(fused(''));
    assert.ok(fused('lora_dropout=0, bias="none"'));
    assert.ok(fused('lora_dropout=0.05'));
    assert.ok(fused('lora_dropout=0.05', undefined, {}, '2026.10.7'));
    assert.ok(fused('lora_dropout=0', undefined, {}, '2026.10.6'));
    assert.ok(!fused('lora_dropout=0.05', undefined, {}, '2026.10.6'));
    assert.ok(!fused('lora_dropout=asked()'));
    assert.ok(!fused('bias="all"'));
    assert.ok(!fused('', 'load_in_4bit=False, dtype=torch.float32'));
    assert.ok(!fused('', 'load_in_8bit=True, load_in_4bit=False'));
    assert.ok(!fused('', undefined, { 'parallel.data': 'fsdp2' }));
  });
});

describe('Unsloth', () => {
  before(loadPython);

  it('gives models whose layers it leaves the attention that is asked for', async () => {
    assert.deepEqual(await attention({ model: 'unsloth/Nemotron-3-Nano-30B-A3B', load: ask('eager') }), [
      'eager',
      'file',
    ]);
    assert.deepEqual(await attention({ load: ask('flash_attention_2') }), ['flash2', 'file']);
    assert.deepEqual(await attention({ load: ask('sdpa') }), ['sdpa', 'file']);
    // What it knows to be wrong it does not take.
    const gemma = 'unsloth/gemma-3-4b-it';
    assert.deepEqual(await attention({ model: gemma, load: ask('eager') }), ['eager', 'file']);
    assert.deepEqual(await attention({ model: gemma, load: ask('sdpa') }), ['eager', 'inferred']);
    assert.deepEqual(await attention({ model: gemma }), ['flex', 'default']);
    assert.deepEqual(await attention({ model: gemma, gpu: 'T4' }), ['eager', 'default']);
    assert.deepEqual(await attention({ model: 'unsloth/gemma-3n-E4B-it' }), ['eager', 'default']);
    // Heads of 512 dimensions are too wide for FlashAttention 2.
    const wide = { model: 'google/gemma-4-E4B-it', load: ask('flash_attention_2') };
    assert.deepEqual(await attention(wide), ['sdpa', 'inferred']);
  });

  it('decides for SDPA where heads are too wide for FlashAttention 2, and runs those of 512 dimensions itself', async () => {
    const wide = { model: 'google/gemma-4-31B-it', config: 'SFTConfig(per_device_train_batch_size=1)' };
    const of = async (more: Cell = {}) => {
      const { resolved, estimate } = await trained({ ...wide, ...more });
      return { own: resolved.values['kernels.wideHeads'], bytes: estimate?.peak.processBytes ?? 0 };
    };
    const today = await trained({ ...wide, install: 'unsloth transformers==5.5.0' });
    const { origins } = today.resolved;
    assert.match(origins['attention.implementation']?.note ?? '', /^Unsloth takes SDPA: heads of over 256/);
    const asked = decisionsOf(today).map(({ field }) => field);
    assert.ok(!asked.includes('attention.implementation'), asked.join());
    // Samples so long that scores need more than a chunk of the loss.
    const length = 'max_seq_length=8192';
    const at = (release: string) =>
      of({ install: `unsloth==${release} transformers==5.5.0 torch==2.13.0`, length });
    const [before, since] = [await at('2026.10.6'), await at('2026.10.7')];
    assert.deepEqual([before.own, since.own], [false, true]);
    assert.ok(since.bytes < before.bytes, `${since.bytes} < ${before.bytes}`);
    // Heads of other widths are not for it.
    assert.equal((await of({ model: 'unsloth/gemma-3-4b-it' })).own, false);
    // Gemma 4 is in fp32 where the card has no bf16.
    assert.equal((await of({ gpu: 'T4' })).own, false);
  });

  it('takes preference losses of hidden states, and drops the mask of their rows, as its release does', async () => {
    const of = async (method: string, install: string, { args = '', adapters = 'r=8', first = '' } = {}) => {
      const config = `${method}Config(per_device_train_batch_size=2${args})`;
      const cell = {
        loader: 'FastLanguageModel',
        model: 'unsloth/llama-3-8b',
        adapters,
        install,
        config,
        first,
      };
      const { values } = (await trained({ ...cell, kind: method })).resolved;
      return [values['loss.implementation'], values['attention.mask']];
    };
    const [tiles, whole] = ['log-probabilities-chunked', 'full'];
    const today = 'unsloth==2026.10.9 trl==0.22.2';
    for (const method of ['ORPO', 'CPO', 'DPO', 'KTO'])
      assert.deepEqual(await of(method, today), [tiles, false], method);
    assert.deepEqual(await of('ORPO', 'unsloth==2026.10.8 trl==0.22.2'), [whole, false]);
    assert.deepEqual(await of('ORPO', 'unsloth==2026.10.9 trl==0.13.0'), [whole, false]);
    assert.deepEqual(await of('DPO', 'unsloth==2026.10.9 trl==0.14.0'), [whole, false]);
    assert.deepEqual(await of('DPO', 'unsloth==2026.10.9 trl==1.14.0'), [tiles, false]);
    // What wants the logits, or has a head that is not a plain layer.
    assert.deepEqual(await of('DPO', today, { args: ', use_weighting=True' }), [whole, false]);
    const head = { adapters: 'r=8, target_modules=["q_proj", "lm_head"]' };
    assert.deepEqual(await of('ORPO', today, head), [whole, false]);
    const off = { first: 'import os\nos.environ["UNSLOTH_PREFERENCE_CHUNKED"] = "0"\n' };
    assert.deepEqual(await of('ORPO', today, off), [whole, false]);
    assert.deepEqual(await of('DPO', today, off), [tiles, false]);
    // Rows of a reward model may be filled up on the left.
    assert.deepEqual((await of('Reward', today))[1], true);
  });

  it('quotes no length that the file leaves out, and names the parts that stay in 16 bits by their names alone', async () => {
    const cell = { model: 'unsloth/Qwen3.5-4B', length: 'dtype=None' };
    const { origins, values } = (await trained(cell)).resolved;
    assert.equal(values['batch.sequence'], 2048);
    assert.match(
      origins['batch.sequence']?.note ?? '',
      /^`max_seq_length` is left out: samples are cut to 2,?048/,
    );
    const stated = (await trained({ ...cell, length: 'max_seq_length=2048' })).resolved.origins;
    assert.match(stated['batch.sequence']?.note ?? '', /^`max_seq_length` is the longest/);
    assert.match(origins['quantization.skippedParts']?.note ?? '', /parts of these names in 16 bits/);
  });

  it('quantizes no tower again that a copy brings in 4 bits, and names no parts that a model lacks', async () => {
    const parts = async (model: string, install = '') =>
      (await trained({ model, install, loader: 'FastVisionModel' })).resolved.values[
        'quantization.skippedParts'
      ];
    const projector = ['multi_modal_projector'];
    assert.deepEqual(await parts('unsloth/Qwen2.5-VL-7B-Instruct-bnb-4bit'), projector);
    assert.deepEqual(await parts('llava-hf/llava-1.5-7b-hf'), projector);
    assert.equal((await parts('unsloth/Qwen2.5-VL-7B-Instruct-unsloth-bnb-4bit'))?.length, 5);
    assert.equal((await parts('unsloth/gemma-3-4b-it'))?.length, 5);
    assert.deepEqual(await parts('unsloth/gemma-3-4b-it', 'unsloth==2025.11.1'), projector);
    assert.deepEqual(await parts('unsloth/gpt-oss-20b-unsloth-bnb-4bit'), []);
  });

  it('leaves no default in the place of targets that the call names itself', async () => {
    const targets = async (adapters: string) => {
      const { origins } = (await trained({ model: 'unsloth/gemma-3-4b-it', adapters })).resolved;
      return origins['lora.targets']?.kind;
    };
    assert.equal(await targets('r=8, target_modules="all-linear"'), 'file');
    assert.equal(await targets('r=8, target_modules=None'), 'default');
    assert.equal(await targets('r=8'), 'default');
  });

  it('checkpoints with reentry, whatever the trainer is asked for', async () => {
    const reentry = async (config: string, install = '') => {
      const { values, origins } = (await trained({ config: `SFTConfig(${config})`, install })).resolved;
      return [values['activations.reentrant'], origins['activations.reentrant']?.kind];
    };
    const asked = 'gradient_checkpointing_kwargs={"use_reentrant": False}';
    assert.deepEqual(await reentry(asked), [true, 'inferred']);
    assert.deepEqual(await reentry(''), [true, 'default']);
    assert.deepEqual(await reentry(asked, 'unsloth==2026.3.2'), [true, 'default']);
  });

  it('runs attention of its own in layers that it writes, whatever is asked for', async () => {
    const loader = 'FastLanguageModel';
    const llama = 'unsloth/Llama-3.2-1B';
    assert.deepEqual(await attention({ loader, model: llama, load: ask('eager') }), ['sdpa', 'default']);
    // Nobody chooses another there: it is no assumption, and none is offered.
    const plain = await trained({ loader, model: llama, config: 'SFTConfig(per_device_train_batch_size=8)' });
    const { origins } = plain.resolved;
    assert.match(origins['attention.implementation']?.note ?? '', /^Unsloth runs attention of its own/);
    const asked = decisionsOf(plain).map(({ field }) => field);
    assert.ok(!asked.includes('attention.implementation'), asked.join());
    assert.ok(plain.estimate);
    assert.deepEqual(attentionLever?.settings({ ...plain, estimate: plain.estimate } as Estimated), []);
    assert.deepEqual(await attention({ loader, model: llama, install: 'unsloth flash-attn' }), [
      'flash2',
      'default',
    ]);
    // Gemma 2 caps its scores, which SDPA cannot do.
    const gemma = { loader, model: 'unsloth/gemma-2-2b' };
    assert.deepEqual(await attention({ ...gemma, load: ask('sdpa') }), ['eager', 'default']);
    assert.deepEqual(await attention({ ...gemma, install: 'unsloth flash-attn' }), ['flash2', 'default']);
  });

  it('compiles no layer of some models, and loads CSM in fp32', async () => {
    const of = async (cell: Cell) => {
      const { resolved, unread = [], estimate } = await trained(cell);
      const { values } = resolved;
      return {
        off: values['kernels.uncompiled'],
        compiled: values['kernels.compile'] || values['kernels.compileParts'],
        weights: values['precision.weights'],
        unread: unread.map(({ text }) => text),
        verdict: estimate?.verdict,
        trained: estimate?.model.trainableParameters,
        peak: estimate?.peak.moment,
        resting: estimate?.timeline
          .find(({ moment }) => moment === 'forward')
          ?.parts.find(({ category }) => category === 'weights')?.bytes,
      };
    };
    const targets = ['q_proj', 'k_proj', 'v_proj', 'o_proj', 'gate_proj', 'up_proj', 'down_proj'];
    const adapters = `r=32, target_modules=${JSON.stringify(targets)}`;
    const csm = await of({ model: 'unsloth/csm-1b', bits: 'False', adapters });
    assert.deepEqual(csm, {
      off: true,
      compiled: false,
      weights: 'fp32',
      unread: [],
      verdict: 'unknown',
      // 14,516,224 of rank 16 in a published output: those of the codec's two transformers among them.
      trained: 2 * 14_516_224,
      // It is loaded in fp32, and what ends in `_proj`, `fc1`, `fc2`, `codebook` or `head` becomes fp16 (its modules on the meta device).
      peak: 'initialization',
      resting: 4 * 427_709_249 + 2 * 1_204_390_912,
    });
    const full = await of({ model: 'unsloth/csm-1b', bits: 'False', load: ', full_finetuning=True' });
    assert.deepEqual(full.unread, ['dtype']);
    const t5 = { model: 'google/flan-t5-base', loader: 'FastModel' };
    assert.equal((await of({ ...t5, install: 'unsloth transformers==4.57.1' })).off, true);
    assert.equal((await of({ ...t5, install: 'unsloth transformers==5.2.0' })).off, false);
    const gemma = { model: 'unsloth/gemma-3-4b-it' };
    assert.equal((await of({ ...gemma, gpu: 'Radeon RX 7900 XTX' })).off, true);
    const plain = await of(gemma);
    assert.deepEqual([plain.off, plain.compiled], [false, true]);
    const set = await of({ ...gemma, first: 'import os\nos.environ["UNSLOTH_COMPILE_DISABLE"] = "1"\n' });
    assert.deepEqual([set.off, set.compiled], [true, false]);
    // In fp16 alone.
    const falcon = { model: 'tiiuae/Falcon-H1-0.5B-Base' };
    assert.deepEqual((await of({ ...falcon, gpu: 'T4' })).weights, 'fp32');
    assert.deepEqual((await of(falcon)).weights, 'bf16');
  });

  it('states nothing that layers decide of a model that nobody knows', async () => {
    const fields = ['kernels.lora', 'kernels.compile', 'kernels.compileParts'] as const;
    const of = async (loader: string, model: string) => {
      const { values } = (await trained({ loader, model, gpu: 'L4' })).resolved;
      const stated = fields.filter((field) => [values[field]].flat().some(Boolean));
      return [...stated, ...(values['features.unmodelled'] ?? [])];
    };
    const own = 'someone/a-model-of-her-own';
    assert.deepEqual(await of('FastLanguageModel', own), []);
    assert.deepEqual(await of('FastModel', own), []);
    assert.deepEqual(await of('FastLanguageModel', 'unsloth/Qwen3-4B'), ['kernels.lora', 'block-compile']);
    assert.deepEqual(await of('FastModel', 'unsloth/Qwen3-4B'), ['kernels.compile']);
  });

  it('loads for vLLM no checkpoint of its own that vLLM cannot take, and leaves open which those are', async () => {
    const packed = async (model: string, load = ', fast_inference=True') => {
      const cell = { loader: 'FastLanguageModel', kind: 'GRPO', config: 'GRPOConfig(use_vllm=True)' };
      const { values, origins } = (await trained({ ...cell, model, load, gpu: 'L4' })).resolved;
      const bytes = values['quantization.checkpointBytes'];
      return [values['quantization.partial'], bytes !== undefined, origins['quantization.partial']?.note];
    };
    const loads = (name: string) =>
      `Unsloth loads \`unsloth/${name}\`, which keeps some of its layers in 16 bits`;
    const phi = 'phi-4-unsloth-bnb-4bit';
    assert.deepEqual(await packed('unsloth/Phi-4', ''), [true, true, loads(phi)]);
    const refused = `vLLM cannot take \`unsloth/${phi}\`: Unsloth loads the model quantized as a whole`;
    assert.deepEqual(await packed('unsloth/Phi-4'), [false, false, refused]);
    const llama = 'Meta-Llama-3.1-8B-Instruct';
    const taken = [true, true, loads(`${llama}-unsloth-bnb-4bit`)];
    assert.deepEqual(await packed(`unsloth/${llama}`), taken);
    const qwen = 'Qwen2.5-7B-Instruct';
    const open = `${loads(`${qwen}-unsloth-bnb-4bit`)}, or all of them in 4 bits where vLLM cannot take that`;
    assert.deepEqual(await packed(`unsloth/${qwen}`), [true, false, open]);
  });

  it('trains without autocast what fp16 cannot hold, by the type of the model as by its name', async () => {
    const scheme = async (model: string, more: Cell = {}) => {
      const { values } = (await trained({ loader: 'FastLanguageModel', model, gpu: 'T4', ...more })).resolved;
      return [values['precision.scheme'], values['precision.wideActivations']];
    };
    assert.deepEqual(await scheme('someone/small_qwen3_moe'), ['native', true]);
    assert.deepEqual(await scheme('someone/glm4-moe-tiny'), ['native', true]);
    const experts = {
      num_key_value_heads: 2,
      num_experts: 4,
      num_experts_per_tok: 2,
      moe_intermediate_size: 64,
    };
    const folder = { ...SMALL, ...experts, model_type: 'qwen3_moe' };
    assert.deepEqual(await scheme('./mine', { folder }), ['native', true]);
    assert.deepEqual(await scheme('./mine', { folder, gpu: 'L4' }), ['autocast', false]);
    assert.deepEqual(await scheme('./mine', { folder: SMALL }), ['autocast', false]);
    assert.deepEqual(await scheme('unsloth/Qwen3-4B'), ['autocast', false]);
  });

  it('goes by the layers of a model, not by its type: a Granite without Mamba leaves padding out, and is compiled', async () => {
    const of = async (model: string) => {
      const { values } = (await trained({ model })).resolved;
      return [values['batch.paddingFree'], values['kernels.compile']];
    };
    assert.deepEqual(await of('unsloth/granite-4.0-h-micro'), [false, false]);
    assert.deepEqual(await of('unsloth/granite-4.0-350m'), [true, true]);
  });

  it('sets no growing segments under PyTorch for AMD, also where nobody names the card', async () => {
    const grows = async (cell: Cell) =>
      (await trained(cell)).resolved.origins['allocator.expandableSegments']?.note;
    const sets = 'Unsloth sets expandable segments';
    const rocm =
      'torch triton-rocm --index-url https://download.pytorch.org/whl/rocm7.1\n!pip install unsloth';
    assert.equal(await grows({ gpu: null }), sets);
    assert.equal(await grows({ gpu: null, install: rocm }), 'Oomlint default');
    assert.equal(await grows({ gpu: null, install: '"unsloth[amd]"' }), 'Oomlint default');
    assert.equal(await grows({ gpu: 'MI300X' }), 'Oomlint default');
    assert.equal(await grows({}), sets);
  });

  it('reports a mask that keeps rows without padding apart where no kernel does', async () => {
    const mask = async (gpu: string) => {
      const config = 'SFTConfig(per_device_train_batch_size=2, max_steps=30)';
      const { values, origins } = (await trained({ model: 'unsloth/gemma-3-270m-it', gpu, config })).resolved;
      const { 'batch.paddingFree': free, 'attention.implementation': kernel, 'attention.mask': is } = values;
      return [free, kernel, is, origins['attention.mask']?.note];
    };
    assert.deepEqual(await mask('T4'), [true, 'eager', true, 'a mask keeps the samples of a row apart']);
    const granite = await trained({
      model: 'unsloth/granite-4.0-350m',
      config: 'SFTConfig(per_device_train_batch_size=2, max_steps=30)',
    });
    assert.equal(
      granite.resolved.origins['attention.mask']?.note,
      'a kernel keeps the samples of a row apart',
    );
  });

  it('leaves unknown what models of text diffusion are trained by', async () => {
    const { resolved, unread = [] } = await trained({ model: 'unsloth/diffusiongemma-26B-A4B-it' });
    assert.equal(resolved.run, undefined);
    assert.ok(unread.some(({ message }) => message.includes('text diffusion')));
    const stated = Object.entries(resolved.origins).flatMap(([field, origin]) =>
      /^(lora|attention|kernels|quantization)\./.test(field) && origin?.kind !== undefined
        ? unread.some(({ fields = [] }) => fields.some((other) => other === field))
          ? []
          : [field]
        : [],
    );
    assert.deepEqual(stated, []);
  });

  it('leaves checkpoints on the GPU where a release does not offload by default', async () => {
    const offloaded = async (cell: Cell) => {
      const { values } = (await trained(cell)).resolved;
      return [values['activations.checkpointing'], values['activations.offload'] ?? false];
    };
    const llama = { loader: 'FastLanguageModel', model: 'unsloth/Llama-3.2-1B' };
    const at = (release: string, more: Cell = {}) =>
      offloaded({ ...llama, install: `unsloth==${release}`, ...more });
    const asked = (value: string) => ({ adapters: `r=8, use_gradient_checkpointing=${value}` });
    const loading = (value: string) => ({ load: `, use_gradient_checkpointing=${value}` });
    assert.deepEqual(await at('2024.9.post2'), ['full', false]);
    assert.deepEqual(await at('2024.9.post2', asked('"unsloth"')), ['full', true]);
    // The loader arms it, and nothing takes that back.
    assert.deepEqual(await at('2025.5.4'), ['full', true]);
    assert.deepEqual(await at('2025.5.4', asked('True')), ['full', true]);
    assert.deepEqual(await at('2025.5.4', loading('True')), ['full', false]);
    assert.deepEqual(await at('2025.12.10', loading('True')), ['full', true]);
    assert.deepEqual(await at('2025.12.10', asked('False')), ['none', false]);
    // The last call decides.
    assert.deepEqual(await at('2026.10.9', asked('True')), ['full', false]);
    assert.deepEqual(await at('2026.10.9', loading('True')), ['full', true]);
    const short = { length: 'max_seq_length=256' };
    assert.deepEqual(await at('2026.10.9', short), ['full', false]);
    assert.deepEqual(await at('2025.12.10', short), ['full', true]);
    // Layers that are the model's own are armed by the loader alone.
    const own = { loader: 'FastModel', model: 'unsloth/gemma-3-4b-it' };
    assert.deepEqual(await at('2025.12.10', { ...own, ...asked('True') }), ['full', true]);
    assert.deepEqual(await at('2025.12.10', { ...own, ...loading('True') }), ['full', false]);
  });

  it('takes the attention that its release takes', async () => {
    const gemma = (release: string, more: Cell = {}) =>
      attention({ model: 'unsloth/gemma-3-4b-it', install: `unsloth==${release}`, ...more });
    assert.deepEqual(await gemma('2025.5.4'), ['sdpa', 'default']);
    assert.deepEqual(await gemma('2025.12.10'), ['sdpa', 'default']);
    assert.deepEqual(await gemma('2025.12.10', { load: ask('eager') }), ['eager', 'file']);
    assert.deepEqual(await gemma('2025.3.10', { load: ask('eager') }), ['sdpa', 'default']);
    assert.deepEqual(await gemma('2026.2.1'), ['flex', 'default']);
    assert.deepEqual(await gemma('2026.4.8', { install: 'unsloth==2026.4.8 flash-attn' }), [
      'flash2',
      'default',
    ]);
    assert.deepEqual(await gemma('2026.5.3', { install: 'unsloth==2026.5.3 flash-attn' }), [
      'flex',
      'default',
    ]);
    // Flexible attention went before SDPA until 2026.4.5, which this type has none of.
    assert.deepEqual(await gemma('2026.4.5'), ['flex', 'default']);
    assert.deepEqual(await gemma('2026.4.8'), ['flex', 'default']);
    assert.deepEqual(await gemma('2026.4.5', { install: 'unsloth==2026.4.5 flash-attn' }), [
      'flash2',
      'default',
    ]);
    const { origins } = (await trained({ install: 'unsloth==2026.3.1' })).resolved;
    assert.match(
      origins['attention.implementation']?.note ?? '',
      /flexible attention where the model has it/,
    );
  });

  it('has a mask in each batch of releases that compile what makes them', async () => {
    const mask = async (release: string, more: Cell = {}) => {
      const config = 'SFTConfig(per_device_train_batch_size=1)';
      const { values } = (await trained({ install: `unsloth==${release}`, config, ...more })).resolved;
      return [values['attention.mask'] ?? false, values['attention.unmaskedBatches'] ?? false];
    };
    const gemma = { model: 'unsloth/gemma-4-31B-it' };
    assert.deepEqual(await mask('2026.1.4', gemma), [false, false]);
    assert.deepEqual(await mask('2026.2.1', gemma), [true, false]);
    assert.deepEqual(await mask('2026.4.5', gemma), [true, false]);
    // Others run flexible attention.
    assert.deepEqual(await mask('2026.4.5'), [false, false]);
    assert.deepEqual(await mask('2026.4.6'), [true, false]);
    assert.deepEqual(await mask('2026.9.14'), [true, false]);
    assert.deepEqual(await mask('2026.10.1'), [false, false]);
    const two = { config: 'SFTConfig(per_device_train_batch_size=2)' };
    assert.deepEqual(await mask('2026.4.8', two), [true, false]);
    assert.deepEqual(
      await mask('2026.4.8', { first: 'import os\nos.environ["UNSLOTH_COMPILE_DISABLE"] = "1"\n' }),
      [false, false],
    );
    assert.deepEqual(await mask('2026.4.8', { loader: 'FastLanguageModel' }), [false, false]);
    assert.deepEqual(await mask('2026.4.8', { load: ask('eager') }), [false, false]);
  });

  it('asks SDPA to group the heads of Gemma 3 whatever the mask, until it repeats them itself', async () => {
    const grouped = async (release: string, more: Cell = {}) => {
      const cell = { model: 'unsloth/gemma-3-4b-it', install: `unsloth==${release}`, ...more };
      return (await trained(cell)).resolved.values['attention.groupsMasked'] ?? false;
    };
    assert.equal(await grouped('2025.9.1'), true);
    assert.equal(await grouped('2025.5.4'), false);
    assert.equal(await grouped('2025.9.1', { load: ask('eager') }), false);
    // Flexible attention has blocks in place of a mask.
    assert.equal(await grouped('2026.2.1'), false);
    assert.equal(await grouped('2025.9.1', { model: 'unsloth/Qwen3-4B' }), false);
  });

  it('leaves defaults of trainers as they are in releases that write none', async () => {
    const of = async (release: string) => {
      const install = `unsloth==${release} trl==0.12.2`;
      const { values } = (await trained({ install, config: 'SFTConfig()' })).resolved;
      return [values['batch.micro'], values['precision.scheme']];
    };
    assert.deepEqual(await of('2025.1.8'), [8, 'native']);
    assert.deepEqual(await of('2025.2.6'), [4, 'autocast']);
  });

  it('is held to no requirement where all is installed without any', async () => {
    const noteOf = async (install: string) => {
      const { values, origins } = (await trained({ install })).resolved;
      return [`${values['version.trl']}`, origins['version.trl']?.note ?? ''];
    };
    const [release, note = ''] = await noteOf('--no-deps trl unsloth');
    assert.ok(release?.startsWith('1.16'), release);
    assert.match(note, /^the newest trl is installed, by `--no-deps` .*: 1\.16 is assumed$/);
    const [, made = ''] = await noteOf('--no-deps unsloth');
    assert.match(made, /is made for trl <=/);
    const [, pinned = ''] = await noteOf('--no-deps unsloth==2025.12.10');
    assert.match(pinned, /^Unsloth 2025\.12\.10 is made for trl <=0\.24\.0/);
    // Elsewhere it is installed with what it requires.
    const [, bound = ''] = await noteOf('--no-deps trl unsloth\n!pip install unsloth');
    assert.match(bound, /requires trl <=/);
  });

  it('takes the release of PyTorch that what cells install is built for', async () => {
    const torch = async (install: string) => (await trained({ install })).resolved.values['version.torch'];
    assert.equal(await torch('unsloth vllm==0.8.4'), '2.6.0');
    assert.equal(await torch('unsloth xformers==0.0.30'), '2.7.0');
    assert.notEqual(await torch('unsloth\n!pip install --no-deps xformers==0.0.30'), '2.7.0');
  });

  it('takes no release of transformers but the one that it requires', async () => {
    const { values, origins } = (await trained({ install: 'unsloth==2025.5.4' })).resolved;
    assert.equal(values['version.transformers'], '4.51.3');
    assert.equal(values['version.trl'], '0.15.2');
    const notes = Object.values(origins).map((origin) => origin?.note ?? '');
    assert.ok(!notes.some((note) => /trl 1\./.test(note)), notes.join('\n'));
  });

  it('bounds the versions that nobody names by what its release requires', async () => {
    const versions = async (install: string) => {
      const { values } = (await trained({ install })).resolved;
      return [values['version.transformers'], values['version.trl']];
    };
    assert.deepEqual(await versions('unsloth'), ['5.17.0', '1.15.0']);
    assert.deepEqual(await versions('unsloth==2026.4.8'), ['5.5.0', '0.24.0']);
    assert.deepEqual(await versions('unsloth "transformers==4.56.2" "trl==0.22.2"'), ['4.56.2', '0.22.2']);
  });

  it('packs stacked experts in 4 bits as its release does', async () => {
    const of = async (install: string, more: Cell = {}) => {
      const {
        resolved,
        unread = [],
        estimate,
      } = await trained({ model: 'Qwen/Qwen3-30B-A3B', install, ...more });
      assert.ok(estimate);
      const parts = new Map(estimate.parts.map(({ category, bytes }) => [category, bytes / 2 ** 30]));
      return {
        weights: Math.round(parts.get('weights') ?? 0),
        packed: Math.round(parts.get('quantized-weights') ?? 0),
        stated: resolved.values['quantization.experts'],
        kept: unread.some(({ message }) => message.includes('unpacked copies')),
      };
    };
    // 48 layers of 128 experts are 29.0 of 30.5 billion weights.
    const packs = { weights: 1, packed: 14, stated: undefined, kept: false };
    const plain = { weights: 55, packed: 0, stated: false, kept: false };
    assert.deepEqual(await of('unsloth'), packs);
    assert.deepEqual(await of('unsloth==2026.8.1'), packs);
    assert.deepEqual(await of('unsloth==2026.6.5'), { ...packs, kept: true });
    assert.deepEqual(await of('unsloth==2026.5.5'), plain);
    // Another implementation of experts reads no packed weights.
    assert.deepEqual(await of('unsloth', { load: ', experts_implementation="grouped_mm"' }), plain);
    // Experts of Nemotron 3 have no gate, which Unsloth hands no packed weights.
    const ungated = await of('unsloth', { model: 'unsloth/Nemotron-3-Nano-30B-A3B' });
    assert.ok(ungated.weights > 50);
    // ERNIE has a name of its own for their number.
    const ernie = { model: 'baidu/ERNIE-4.5-21B-A3B-PT' };
    assert.equal((await of('unsloth', ernie)).stated, undefined);
    assert.equal((await of('unsloth==2026.5.5', ernie)).stated, false);
  });

  it('counts what the code of a checkpoint has beyond the class of the library', async () => {
    const of = async (load: string) => {
      const cell = { loader: 'FastVisionModel', model: 'unsloth/PaddleOCR-VL', bits: 'False', load };
      const { estimate } = await trained(cell);
      return [estimate?.model.totalParameters, estimate?.model.trainableParameters];
    };
    assert.deepEqual(await of(', full_finetuning=True'), [905_601_648, 905_601_648]);
    // What images run past counts among what is trained (the library's own line), and gets no gradients.
    const all = [958_588_736, 958_588_736];
    assert.deepEqual(await of(', full_finetuning=True, trust_remote_code=True'), all);
  });

  it('takes fp16 for bf16 where the GPU has none, and makes fp32 of it where all weights are trained', async () => {
    const of = async (gpu: string, load = '') =>
      (await trained({ bits: 'False', gpu, load: `, dtype="bfloat16"${load}` })).resolved.values[
        'precision.weights'
      ];
    assert.equal(await of('A100-SXM4-80GB'), 'bf16');
    assert.equal(await of('A100-SXM4-80GB', ', full_finetuning=True'), 'bf16');
    assert.equal(await of('T4'), 'fp16');
    assert.equal(await of('T4', ', full_finetuning=True'), 'fp32');
  });

  it('trains copies of embedding and head in fp32 where the model is in fp16', async () => {
    const of = async (gpu: string, adapters: string, loader = 'FastLanguageModel') => {
      const cell = { loader, model: 'unsloth/mistral-7b-v0.3', gpu };
      const { estimate } = await trained({ ...cell, adapters: `r=8, target_modules=["q_proj"${adapters}]` });
      const of = (category: string) =>
        (estimate?.parts ?? []).find((part) => part.category === category)?.bytes ?? 0;
      return { weights: of('weights'), activations: of('activations') };
    };
    const copies = ', "embed_tokens", "lm_head"';
    const both = 2 * 32_768 * 4096;
    const [full, half] = [await of('T4', copies), await of('A100-SXM4-80GB', copies)];
    assert.equal(full.weights - half.weights, 2 * both);
    // The stream of hidden states stays in 16 bits.
    assert.ok(full.activations < 1.2 * (await of('T4', '')).activations);
  });

  it('quantizes nothing of Mamba under transformers 4', async () => {
    const of = async (install: string) => {
      const cell = { model: 'unsloth/Falcon-H1-0.5B-Instruct', loader: 'FastLanguageModel', install };
      const { estimate, resolved } = await trained(cell);
      const parts = estimate?.parts ?? [];
      const bytes = parts.find(({ category }) => category === 'quantized-weights')?.bytes ?? 0;
      return [resolved.values['quantization.skippedParts'], Math.round(bytes / 1e6)];
    };
    // 36 layers of attention (8 heads of 64, 2 of keys) and MLP (2048 wide) of 1024: 273.7 million weights of 4 bits and a scale of 64 each.
    assert.deepEqual(await of('unsloth transformers==4.56.2'), [['mamba'], 141]);
    // Projections into the state, 3352 wide, are quantized there: those out of it the kernel reads itself.
    assert.deepEqual(await of('unsloth transformers==5.3.0'), [[], 205]);
  });

  it('leaves the loss to the code of a checkpoint', async () => {
    const of = async (model: string, load = '') =>
      (await trained({ loader: 'FastVisionModel', model, bits: 'False', load })).resolved.values[
        'loss.implementation'
      ];
    const own = ', full_finetuning=True, trust_remote_code=True';
    assert.equal(await of('unsloth/PaddleOCR-VL'), 'fused-chunks');
    assert.equal(await of('unsloth/PaddleOCR-VL', own), 'full-upcast');
    assert.equal(await of('unsloth/Nemotron-3-Nano-30B-A3B', own), 'full-upcast');
    assert.equal(await of('unsloth/Qwen3-4B', own), 'fused-chunks');
  });

  it('reports no shorter samples where the file fills them up', async () => {
    const note = async (first: string) =>
      (await trained({ first, config: 'SFTConfig(max_length=512)' })).resolved.origins['batch.sequence']
        ?.note ?? '';
    assert.match(await note(''), /less is needed/);
    const fill = 'def fill(ids, size):\n    return ids + [0] * (size - len(ids))\n';
    assert.match(await note(fill), /all may be as long/);
  });

  it('evaluates by batches of training where the default of the Trainer is larger', async () => {
    const evaluated = async (config: string) => {
      const { values } = (await trained({ config, trainer: ', eval_dataset=d' })).resolved;
      return [values['evaluation.batch'], values['evaluation.accumulation']];
    };
    const on = 'per_device_train_batch_size=2, gradient_accumulation_steps=4, eval_strategy="steps"';
    assert.deepEqual(await evaluated(`TrainingArguments(${on})`), [2, 4]);
    assert.deepEqual(await evaluated(`SFTConfig(${on})`), [4, 2]);
    assert.deepEqual(await evaluated(`SFTConfig(${on}, per_device_eval_batch_size=8)`), [2, 2]);
    assert.deepEqual(await evaluated(`SFTConfig(${on}, per_device_eval_batch_size=16)`), [16, 2]);
    assert.deepEqual(await evaluated(`SFTConfig(${on}, eval_accumulation_steps=1)`), [4, 1]);
  });

  it('cuts samples to the smaller of what the trainer and the model take', async () => {
    const length = async (cell: Cell) => (await trained(cell)).resolved.values['batch.sequence'];
    const of = (limit: string) => `SFTConfig(per_device_train_batch_size=2, ${limit})`;
    assert.equal(await length({ config: of('max_length=8192') }), 1024);
    assert.equal(await length({ config: of('max_length=512') }), 512);
    assert.equal(await length({ config: of('max_seq_length=8192') }), 1024);
    assert.equal(await length({ trainer: ', max_seq_length=8192' }), 1024);
    // The default of the load, and TRL's, which counts as not given.
    const wide = { length: 'max_seq_length=4096' };
    assert.equal(await length({ ...wide, config: of('max_length=2000') }), 2000);
    assert.equal(await length({ ...wide, config: of('max_length=1024') }), 4096);
    // Releases before put the model's length in its place.
    const old = { install: '"unsloth==2026.4.8"' };
    assert.equal(await length({ ...old, config: of('max_length=512') }), 1024);
    assert.equal(await length({ ...old, config: of('max_seq_length=512') }), 512);
  });

  it('cuts samples with images to the length of the model or of its collator', async () => {
    const length = async (collator: string) => {
      const trainer = `, data_collator=UnslothVisionDataCollator(${collator})`;
      const first = 'from unsloth.trainer import UnslothVisionDataCollator\n';
      const config = 'SFTConfig(per_device_train_batch_size=2, max_length=8192)';
      const cell = { first, loader: 'FastVisionModel', model: 'unsloth/gemma-3-4b-it', config, trainer };
      return (await trained(cell)).resolved.values['batch.sequence'];
    };
    assert.equal(await length('model, tokenizer'), 1024);
    assert.equal(await length('model, tokenizer, max_seq_length=700'), 700);
  });

  it('takes images to be of the size that the call of the collator states', async () => {
    const pixels = async (collator: string) => {
      const trainer = `, data_collator=UnslothVisionDataCollator(model, tokenizer${collator})`;
      const first = 'from unsloth.trainer import UnslothVisionDataCollator\n';
      const cell = { first, loader: 'FastVisionModel', model: 'unsloth/Pixtral-12B-2409', trainer };
      const { resolved, unread = [] } = await trained(cell);
      return [resolved.values['batch.imagePixels'], unread.some(({ text }) => text === 'resize')];
    };
    assert.deepEqual(await pixels(''), [1024 ** 2, false]);
    assert.deepEqual(await pixels(', resize="min"'), [1024 ** 2, false]);
    assert.deepEqual(await pixels(', resize=512'), [512 ** 2, false]);
    assert.deepEqual(await pixels(', 1024, None, 512'), [512 ** 2, false]);
    assert.deepEqual(await pixels(', resize=(640, 320), resize_dimension=1'), [640 * 320, false]);
    assert.deepEqual(await pixels(', resize=512, resize_dimension="max"'), [512 ** 2, false]);
    assert.deepEqual(await pixels(', resize="max"'), [undefined, false]);
    assert.deepEqual(await pixels(', resize=side_of(model)'), [undefined, true]);
  });

  it('cuts pairs and completions to the length of the model', async () => {
    const length = async (kind: string, config: string, load = 1024, install = '') => {
      const text = `# %%
!pip install unsloth${install}
# %%
from unsloth import FastLanguageModel
from trl import ${kind}Config, ${kind}Trainer
model, tokenizer = FastLanguageModel.from_pretrained("unsloth/${
        kind === 'ORPO' ? 'gemma-3-4b-it' : 'Qwen3-4B'
      }", ${load ? `max_seq_length=${load}` : ''})
model = FastLanguageModel.get_peft_model(model, r=8)
trainer = ${kind}Trainer(model=model, args=${kind}Config(${config}))
trainer.train()
`;
      const host = new MemoryHost({ 'file:///w/train.py': text }, { folders: ['file:///w'] });
      return (await new Workspace(host).analyze('file:///w/train.py'))?.resolved.values['batch.sequence'];
    };
    assert.equal(await length('DPO', 'max_length=4096'), 1024);
    assert.equal(await length('DPO', 'max_length=512'), 512);
    assert.equal(await length('DPO', '', 4096), 1024);
    assert.equal(await length('DPO', '', 512), 512);
    assert.equal(await length('ORPO', 'max_length=4096'), 1024);
    assert.equal(await length('ORPO', 'max_length=4096', 1024, '==2026.4.8'), 4096);
    assert.equal(await length('GRPO', 'max_prompt_length=2000, max_completion_length=1000', 0), 2048);
    assert.equal(await length('GRPO', 'max_prompt_length=300, max_completion_length=200'), 500);
  });
});

describe('the task of adapters that Unsloth makes', () => {
  before(loadPython);

  it('is what Unsloth gives to PEFT, whoever trains', async () => {
    const task = async (cell: Cell) => {
      const { values, origins } = (await trained({ loader: 'FastLanguageModel', ...cell })).resolved;
      return [values['lora.task'], origins['lora.task']?.note];
    };
    assert.deepEqual(await task({}), ['other', 'Unsloth default']);
    assert.deepEqual(await task({ kind: 'DPO' }), ['other', 'Unsloth default']);
    assert.deepEqual(await task({ load: ', num_labels=4' }), ['classification', 'Unsloth default']);
    assert.deepEqual(await task({ load: ', num_labels=None' }), ['other', 'Unsloth default']);
  });

  it('is what the file states where the layers are not of Unsloth', async () => {
    const task = async (asked: string) => {
      const whisper = { loader: 'FastModel', model: 'unsloth/whisper-large-v3' };
      const cell = { ...whisper, first: 'from peft import TaskType\n', adapters: `r=8${asked}` };
      const { values, origins } = (await trained(cell)).resolved;
      return [values['lora.task'], origins['lora.task']?.kind];
    };
    assert.deepEqual(await task(''), ['other', 'default']);
    assert.deepEqual(await task(', task_type=None'), ['other', 'file']);
    assert.deepEqual(await task(', task_type="SEQ_CLS"'), ['classification', 'file']);
    assert.deepEqual(await task(', task_type=TaskType.SEQ_CLS'), ['classification', 'file']);
  });
});
