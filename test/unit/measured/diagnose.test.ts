import assert from 'node:assert/strict';
import { type Estimated, isEstimated } from '../../../server/src/advice/changed-run';
import { namedRequests } from '../../../server/src/explanation/named-requests';
import { diagnose } from '../../../server/src/features/oom/diagnose';
import { explainOom } from '../../../server/src/features/oom/explained';
import { launchedConfig } from '../../../server/src/features/oom/launched';
import { whyUnestimated } from '../../../server/src/features/oom/why-unestimated';
import { sectionsOf, titleOf } from '../../../server/src/features/oom/words';
import { requestedFor } from '../../../server/src/measured/allocation';
import type { OutOfMemory } from '../../../server/src/measured/out-of-memory';
import { Workspace } from '../../../server/src/workspace/analyze';
import { MemoryHost } from '../../../server/src/workspace/memory-host';
import { readOutOfMemory } from './read-out-of-memory';

const GIB = 2 ** 30;
const MIB = 2 ** 20;
const LAUNCH = 'file:///w/train.sh';
const command = (batch: number, sequence: number) =>
  `torchrun --nproc_per_node 8 train.py --model_name_or_path meta-llama/Llama-3.1-8B --deepspeed ds.json --per_device_train_batch_size ${batch} --max_length ${sequence} --bf16 true --gradient_checkpointing true`;
const FILES = {
  'file:///w/ds.json':
    '{"bf16": {"enabled": true}, "zero_optimization": {"stage": 3}, "train_micro_batch_size_per_gpu": 2}',
  'file:///w/oomlint.yaml':
    'defaults: { gpu: A100-SXM4-80GB, sequence: 4096, model: meta-llama/Llama-3.1-8B, gpus: 8 }\n',
};

function workspace(extra: Readonly<Record<string, string>> = {}): Workspace {
  return new Workspace(new MemoryHost({ ...FILES, ...extra }));
}

async function launched(batch = 2, sequence = 4096): Promise<Estimated> {
  const analysis = await workspace({ [LAUNCH]: `${command(batch, sequence)}\n` }).analyze(LAUNCH);
  assert.ok(analysis && isEstimated(analysis), JSON.stringify(analysis?.problems));
  return analysis;
}

/** A message of torch 2.5 and later, with figures in bytes. */
function message(
  requested: number,
  {
    allocated = 70 * GIB,
    unallocated = 0.5 * GIB,
    free = undefined as number | undefined,
    total = 79.1 * GIB,
    outside = 1 * GIB,
    others = 0,
    frames = [] as readonly string[],
  } = {},
): OutOfMemory {
  const figure = (bytes: number) =>
    bytes < GIB ? `${(bytes / MIB).toFixed(2)} MiB` : `${(bytes / GIB).toFixed(2)} GiB`;
  const own = allocated + unallocated + outside;
  const other = others > 0 ? `Process 771 has ${figure(others)} memory in use. ` : '';
  const text = `torch.OutOfMemoryError: CUDA out of memory. Tried to allocate ${figure(requestedFor(requested))}. GPU 0 has a total capacity of ${figure(total)} of which ${figure(free ?? Math.max(0, total - own - others))} is free. ${other}Including non-PyTorch memory, this process has ${figure(own)} memory in use. Of the allocated memory ${figure(allocated)} is allocated by PyTorch, and ${figure(unallocated)} is reserved by PyTorch but unallocated.`;
  const { found } = readOutOfMemory(['Traceback (most recent call last):', ...frames, text].join('\n'));
  assert.ok(found[0]);
  return found[0];
}

const frame = (file: string, name: string, code: string) => [
  `  File "${file}", line 10, in ${name}`,
  `    ${code}`,
];
const LOSS = [
  ...frame('/s/transformers/trainer.py', 'training_step', 'loss = self.compute_loss(model, inputs)'),
  ...frame('/s/transformers/loss/loss_utils.py', 'ForCausalLMLoss', 'logits = logits.float()'),
];
const MLP = [
  ...frame('/s/transformers/trainer.py', 'training_step', 'loss = self.compute_loss(model, inputs)'),
  ...frame(
    '/s/transformers/models/llama/modeling_llama.py',
    'forward',
    'down_proj = self.down_proj(self.act_fn(self.gate_proj(x)) * self.up_proj(x))',
  ),
];

describe('named requests of a run', () => {
  it('have every tensor by the size of its shape', async () => {
    const { resolved, model, accelerator } = await launched();
    assert.ok(resolved.run);
    const { requests, batch, sequence } = namedRequests({ run: resolved.run, model, accelerator });
    assert.deepEqual([batch, sequence], [2, 4096]);
    const logits = requests.filter(({ bytes }) => bytes === 2 * 4096 * 128_256 * 4);
    assert.ok(logits.some(({ name, moment }) => name === 'copy of the logits' && moment === 'loss'));
    const mlp = requests.filter(({ code, kind }) => code === 'mlp.up_proj' && kind === 'result');
    assert.deepEqual(
      mlp.map(({ bytes }) => bytes),
      [2 * 4096 * 14_336 * 2],
    );
    // What DeepSpeed keeps of fp32 masters is one flat tensor of this GPU's share.
    const flat = requests.find(({ name }) => name === 'flat master weights of this GPU');
    assert.ok(flat && Math.abs(flat.bytes - (8_030_261_248 * 4) / 8) < 4096 * 64, `${flat?.bytes}`);
  });
});

describe('what was asked for', () => {
  it('is distinguished by the traceback', async () => {
    const analysis = await launched();
    const found = diagnose(message(2 * 4096 * 128_256 * 4, { frames: LOSS }), { analysis });
    assert.equal(found.clues.moment, 'loss');
    assert.equal(found.matched?.matches[0]?.request.name, 'copy of the logits');
    assert.ok(found.fields.includes('batch.micro'), found.fields.join());
    const mlp = diagnose(message(2 * 4096 * 14_336 * 2, { frames: MLP }), { analysis });
    assert.match(mlp.matched?.matches[0]?.request.code ?? '', /^mlp\./);
    assert.deepEqual(mlp.solutions, []);
  });

  it('is every tensor of the run again, whichever was asked for', async () => {
    const analysis = await launched();
    assert.ok(analysis.resolved.run);
    const { requests } = namedRequests({
      run: analysis.resolved.run,
      model: analysis.model,
      accelerator: analysis.accelerator,
    });
    for (const request of requests.filter(({ bytes }) => bytes > 20 * MIB)) {
      const { matched } = diagnose(message(request.bytes), { analysis });
      assert.ok(
        matched?.matches.some(
          ({ request: found }) => found.name === request.name && found.moment === request.moment,
        ),
        `${request.name} ${request.bytes}`,
      );
    }
  });

  it('is solved backwards where nothing has that size', async () => {
    const analysis = await launched();
    const found = diagnose(message(1 * 6144 * 128_256 * 4, { frames: LOSS }), { analysis });
    assert.deepEqual(found.matched?.matches, []);
    const sequence = found.solutions.find(({ field }) => field === 'batch.sequence');
    assert.ok(sequence && sequence.from <= 3072 && 3072 <= sequence.to, JSON.stringify(found.solutions));
    const batch = diagnose(message(5 * 4096 * 128_256 * 4, { frames: LOSS }), { analysis });
    const samples = batch.solutions.find(({ field }) => field === 'batch.micro');
    assert.deepEqual([samples?.from, samples?.to, samples?.stated], [5, 5, 2]);
  });

  it('names nothing where it is a segment for small tensors', async () => {
    const analysis = await launched();
    for (const bytes of [4096, 5 * MIB]) {
      const { matched, solutions } = diagnose(message(bytes), { analysis });
      assert.equal(matched?.tooSmall, true);
      assert.deepEqual(solutions, []);
    }
  });
});

describe('why memory ran out', () => {
  const kinds = (found: ReturnType<typeof diagnose>) =>
    found.causes.map(({ kind, sure }) => `${kind}${sure ? '' : '?'}`);

  it('is fragmentation where more is held than was asked for', () => {
    assert.deepEqual(kinds(diagnose(message(2 * GIB, { allocated: 60 * GIB, unallocated: 16 * GIB }), {})), [
      'fragmentation',
    ]);
    // Less than asked for is none, however much it is.
    assert.deepEqual(kinds(diagnose(message(20 * GIB, { allocated: 60 * GIB, unallocated: 16 * GIB }), {})), [
      'excess',
    ]);
  });

  it('is another process where its memory would have been enough', () => {
    const crowded = message(2 * GIB, {
      allocated: 14 * GIB,
      free: 0.5 * GIB,
      total: 23.6 * GIB,
      others: 7.5 * GIB,
    });
    assert.deepEqual(kinds(diagnose(crowded, {})), ['other-process']);
    const display = message(2 * GIB, {
      allocated: 21 * GIB,
      free: 0.2 * GIB,
      total: 23.6 * GIB,
      others: 0.2 * GIB,
    });
    assert.deepEqual(kinds(diagnose(display, {})), ['excess']);
  });

  it('is guessed from what an old message leaves over', () => {
    const read = (reserved: string) =>
      readOutOfMemory(
        `RuntimeError: CUDA out of memory. Tried to allocate 1.96 GiB (GPU 3; 39.59 GiB total capacity; 24.10 GiB already allocated; 1.12 GiB free; ${reserved} GiB reserved in total by PyTorch)`,
      ).found[0];
    const [crowded, alone] = [read('24.40'), read('36.40')];
    assert.ok(crowded && alone);
    assert.deepEqual(kinds(diagnose(crowded, {})), ['other-process?']);
    assert.deepEqual(kinds(diagnose(alone, {})), ['fragmentation']);
  });

  it('is no other process where the driver counts nothing for this one', () => {
    const [unknown] = readOutOfMemory(
      'torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 896.00 MiB. GPU7 has a total capacity of 21.99 GiB of which 759.38 MiB is free. Including non-PyTorch memory, this process has 0 bytes memory in use. Of the allocated memory 20.52 GiB is allocated by PyTorch, and 102.08 MiB is reserved by PyTorch but unallocated.',
    ).found;
    assert.ok(unknown);
    assert.equal(unknown.torch?.gpu, 7);
    const found = diagnose(unknown, {});
    assert.deepEqual(kinds(found), ['excess']);
    assert.equal(found.occupied?.othersBytes, undefined);
  });

  it('is an excess where more is in use than the card has', () => {
    const [spilled] = readOutOfMemory(
      'torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 172.00 MiB (GPU 0; 8.00 GiB total capacity; 22.35 GiB already allocated; 0 bytes free; 22.35 GiB reserved in total by PyTorch)',
    ).found;
    assert.ok(spilled);
    const found = diagnose(spilled, {});
    assert.deepEqual(kinds(found), ['excess']);
    assert.equal(found.occupied?.spilled, true);
  });

  it('is a limit that the process has', () => {
    const [limited] = readOutOfMemory(
      'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 31.47 GiB of which 12.73 GiB is free. 18.00 GiB allowed; Including non-PyTorch memory, this process has 18.70 GiB memory in use. Of the allocated memory 17.08 GiB is allocated by PyTorch, and 35.00 MiB is reserved by PyTorch but unallocated.',
    ).found;
    assert.ok(limited);
    assert.deepEqual(kinds(diagnose(limited, {})), ['process-limit']);
  });

  it('is more than the config states where so much cannot be', async () => {
    const analysis = await launched(1, 1024);
    const found = diagnose(message(GIB, { allocated: 76 * GIB }), { analysis });
    assert.equal(found.causes[0]?.kind, 'more-than-stated');
    const fits = diagnose(message(GIB, { allocated: 10 * GIB, others: 60 * GIB }), { analysis });
    assert.deepEqual(kinds(fits), ['other-process']);
  });

  it('is an excess where the estimate has one, on the card of the message', async () => {
    const analysis = await launched(8, 4096);
    const small = diagnose(message(GIB, { allocated: 21 * GIB, total: 23.6 * GIB, frames: LOSS }), {
      analysis,
    });
    assert.deepEqual(kinds(small), ['excess']);
    assert.equal(small.expected?.otherCard, true);
    assert.equal(small.expected?.estimate.capacityBytes, Math.round(23.6 * GIB));
  });

  it('is evaluation, saving or generation where the traceback shows it', () => {
    const inside = (name: string) =>
      kinds(
        diagnose(
          message(2 * GIB, {
            frames: [...frame('/s/transformers/trainer.py', name, 'x()'), ...LOSS.slice(2)],
          }),
          {},
        ),
      )[0];
    assert.equal(inside('evaluation_loop'), 'evaluation');
    assert.equal(inside('prediction_step'), 'evaluation');
    assert.equal(inside('save_checkpoint'), 'saving');
    assert.equal(inside('generate'), 'generation');
    assert.equal(inside('training_step'), 'excess');
  });

  it('is the host, or may be', () => {
    const cause = (text: string) => diagnose(readOutOfMemory(text).found[0] as OutOfMemory, {}).causes[0];
    assert.deepEqual(cause('exits with return code = -9'), { kind: 'host', sure: false });
    assert.deepEqual(cause('slurmstepd: error: Detected 1 oom_kill event in StepId=1.0.'), {
      kind: 'host',
      sure: true,
    });
    assert.equal(cause("NCCL WARN Cuda failure 2 'out of memory'")?.kind, 'outside-allocator');
  });

  it('reads as sentences, with the key and its place', async () => {
    const analysis = await launched();
    const found = diagnose(
      message(2 * 4096 * 128_256 * 4, { frames: LOSS, total: 39.4 * GIB, allocated: 36 * GIB }),
      { analysis },
    );
    assert.equal(titleOf(found.message), 'CUDA out of memory: 3.9 GiB asked for');
    const sections = new Map(
      sectionsOf(found, analysis, undefined).map(({ heading, lines }) => [heading, lines]),
    );
    assert.match(
      sections.get('What was asked for')?.[0] ?? '',
      /^copy of the logits \(head; the loss; 4 B × 2 samples × 4096 tokens × 128256 = 3\.9 GiB\)$/,
    );
    assert.match(
      sections.get('What was asked for')?.at(-1) ?? '',
      /per_device_train_batch_size \(train\.sh:1\)/,
    );
    assert.ok(sections.get('When')?.some((line) => line.includes('logits = logits.float()')));
  });
});

describe('the config that was launched', () => {
  const log = (text: string) => readOutOfMemory(text);

  it('is what a command of the log starts', async () => {
    const { launched: found } = await launchedConfig(
      log(`+ ${command(3, 2048)}`),
      'file:///w/',
      undefined,
      workspace(),
    );
    assert.equal(found?.by, 'command');
    assert.equal(found?.analysis.resolved.run?.['batch.micro'], 3);
    assert.equal(found?.analysis.resolved.run?.['batch.sequence'], 2048);
  });

  it('is the only one beside the log, else none', async () => {
    const { launched: only } = await launchedConfig(log(''), 'file:///w', undefined, workspace());
    assert.equal(only?.by, 'only');
    assert.match(only?.analysis.uri ?? '', /ds\.json$/);
    const two = workspace({
      'file:///w/other.json':
        '{"bf16": {"enabled": true}, "zero_optimization": {"stage": 2}, "train_micro_batch_size_per_gpu": 1}',
    });
    assert.deepEqual(await launchedConfig(log(''), 'file:///w', undefined, two), {});
  });

  it('is the one that is named', async () => {
    const { launched: found } = await launchedConfig(
      log(`+ ${command(3, 2048)}`),
      'file:///w/',
      LAUNCH,
      workspace({ [LAUNCH]: command(1, 512) }),
    );
    assert.equal(found?.by, 'name');
    assert.equal(found?.analysis.resolved.run?.['batch.micro'], 1);
  });
});

describe('a config that names no GPU', () => {
  const CONFIG = 'file:///w/train.yaml';
  const axolotl = (gpus: string) =>
    `${gpus}base_model: meta-llama/Llama-3.1-8B\nsequence_len: 4096\nmicro_batch_size: 2\ngradient_accumulation_steps: 1\noptimizer: adamw_torch\nbf16: true\ndatasets:\n  - path: d\n    type: alpaca\n`;
  const run = (gpus: string) => new Workspace(new MemoryHost({ [CONFIG]: axolotl(gpus) }));
  const MESSAGE =
    'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 112.00 MiB. GPU 0 has a total capacity of 23.64 GiB of which 60.00 MiB is free. Including non-PyTorch memory, this process has 23.50 GiB memory in use. Of the allocated memory 23.00 GiB is allocated by PyTorch, and 20.00 MiB is reserved by PyTorch but unallocated.';

  it('is held to the card of the message, and changes are weighed on it', async () => {
    const log = readOutOfMemory(MESSAGE);
    const { launched } = await launchedConfig(log, 'file:///w', CONFIG, run('# oomlint: gpus=1\n'));
    assert.ok(launched);
    const { analysis, workspace } = launched;
    assert.equal(analysis.estimate.capacityBytes, Math.round(23.64 * GIB));
    assert.equal(analysis.resolved.origins['hardware.gpuMemory']?.note, 'in the message, line 1');
    assert.equal((await workspace.analyze(CONFIG))?.estimate?.capacityBytes, Math.round(23.64 * GIB));
    // What the person states counts, whatever the log is of.
    const stated = run('# oomlint: gpus=1 gpu=A100-SXM4-80GB\n');
    const named = await launchedConfig(log, 'file:///w', CONFIG, stated);
    assert.match(named.launched?.analysis.accelerator?.name ?? '', /A100/);
  });

  it('takes the card that the log names where no message tells its memory', async () => {
    const log = { commands: [], found: [] };
    const one = run('# oomlint: gpus=1\n');
    const { launched } = await launchedConfig(log, 'file:///w', CONFIG, one, { gpu: 'NVIDIA L4' });
    assert.match(launched?.analysis.accelerator?.name ?? '', /^L4/);
  });

  it('is named with what it lacks where the card is not all', async () => {
    const { launched, unestimated } = await launchedConfig(
      readOutOfMemory(MESSAGE),
      'file:///w',
      CONFIG,
      run(''),
    );
    assert.equal(launched, undefined);
    assert.ok(unestimated);
    assert.equal(whyUnestimated(unestimated.analysis), 'an estimate needs number of GPUs');
    const [card] = (await explainOom({ text: MESSAGE, config: CONFIG }, run(''))).messages;
    assert.match(
      card?.markdown ?? '',
      /^Run: train\.yaml\. Only the message itself is explained: an estimate needs/,
    );
  });
});
