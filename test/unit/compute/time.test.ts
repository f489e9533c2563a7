import assert from 'node:assert/strict';
import { tokensPerParameter } from '../../../server/src/compute/compute-optimal';
import { priceOf } from '../../../server/src/compute/price';
import { pipelineFactor } from '../../../server/src/compute/step-time';
import { estimate } from '../../../server/src/estimate';
import type { Accelerator } from '../../../server/src/hardware/accelerator';
import { anonymousAccelerator, findAccelerator } from '../../../server/src/hardware/catalog';
import type { ComputeEstimate, Spread, TimeEstimate } from '../../../server/src/results/estimate';
import { timeFacts } from '../../../server/src/results/time-labels';
import { behavioursOfValues } from '../../../server/src/run/behaviours';
import type { RunValues } from '../../../server/src/run/fields';
import { aModel, aRun, CARD, SMALL_LLAMA } from '../memory/a-run';

const llama = aModel(SMALL_LLAMA);
const BF16: RunValues = {
  'precision.weights': 'fp32',
  'precision.compute': 'bf16',
  'precision.scheme': 'fsdp',
  'attention.implementation': 'flash2',
};

function card(name: string): Accelerator {
  const found = findAccelerator(name);
  assert.ok(found, name);
  return found;
}

function computeOf(values: RunValues, accelerator = card('A100-SXM4-80GB')): ComputeEstimate {
  const run = aRun({ ...BF16, 'hardware.gpu': accelerator.name, ...values });
  return estimate({ run, model: llama, accelerator }).compute;
}

function timeOf(values: RunValues, accelerator?: Accelerator): TimeEstimate {
  const { time, timeUnknown } = computeOf(values, accelerator);
  assert.ok(time, timeUnknown);
  return time;
}

function ordered({ low, likely, high }: Spread): boolean {
  return low > 0 && low <= likely && likely <= high && Number.isFinite(high);
}

describe('time of a step', () => {
  it('is a range in order, from the fastest products that were measured on', () => {
    const compute = computeOf({ 'batch.micro': 4, 'batch.sequence': 2048 });
    const time = timeOf({ 'batch.micro': 4, 'batch.sequence': 2048 });
    assert.ok(ordered(time.stepSeconds) && ordered(time.tokensPerSecondPerGpu));
    assert.ok(time.mfu && ordered(time.mfu) && time.mfu.high < 0.869);
    // 271.2 TFLOP/s at best (stas00/ml-engineering), and attention faster than that by no more than it is rated.
    assert.ok(time.stepSeconds.low > (0.95 * compute.flopsPerStep) / 271.2e12);
    assert.match(time.source, /139 runs on A100/);
  });

  it('turns into tokens per second and GPU, and into MFU', () => {
    const compute = computeOf({ 'hardware.gpus': 4, 'parallel.data': 'ddp' });
    const { time } = compute;
    assert.ok(time?.mfu);
    assert.equal(time.tokensPerSecondPerGpu.high, compute.tokensPerStep / 4 / time.stepSeconds.low);
    assert.equal(time.mfu.low, compute.modelFlopsPerStep / (4 * 312e12) / time.stepSeconds.high);
  });

  it('is not given where the rate of the card is not known, and reports it', () => {
    const { time, timeUnknown } = computeOf({}, anonymousAccelerator(80 * 2 ** 30));
    assert.equal(time, undefined);
    assert.match(timeUnknown ?? '', /FLOP rate of GPU with 80.0 GiB in bf16 is not known/);
    assert.match(computeOf({}, card('V100-SXM2-32GB')).timeUnknown ?? '', /V100-SXM2-32GB in bf16/);
  });

  it('waits while the pipeline fills and drains: (m + p - 1) / m, a v-th of it interleaved', () => {
    const run = (values: RunValues) => pipelineFactor(aRun(values));
    assert.equal(run({}), 1);
    assert.equal(run({ 'parallel.pipeline': 4, 'batch.accumulation': 12 }), (12 + 3) / 12 / 4);
    const chunks = { 'parallel.pipelineSchedule': 'interleaved', 'parallel.virtualStages': 3 } as const;
    assert.equal(run({ 'parallel.pipeline': 4, 'batch.accumulation': 12, ...chunks }), (12 + 1) / 12 / 4);
  });

  it('is bounded by the transfer of offloaded states: 2 bytes per parameter over PCIe 4.0', () => {
    const values = {
      'precision.scheme': 'deepspeed',
      'parallel.data': 'zero',
      'zero.stage': 2,
      'batch.sequence': 16,
    } as const;
    const trained = llama.parameters.total;
    const { stepSeconds, ratedSeconds } = timeOf({ ...values, 'offload.optimizer': 'cpu' });
    assert.equal(stepSeconds.low, (2 * trained) / 31.5e9);
    assert.equal(ratedSeconds.offload, stepSeconds.low);
    assert.ok(timeOf(values).stepSeconds.low < stepSeconds.low);
    // Gradients of each micro batch are summed in host memory.
    const more = timeOf({ ...values, 'offload.optimizer': 'cpu', 'batch.accumulation': 4 });
    assert.equal(more.ratedSeconds.offload, (4 * 2 * trained) / 31.5e9);
  });

  it('counts the optimizer on the CPU: 0.7 to 4.8 s per billion parameters of a node', () => {
    const values = {
      'precision.scheme': 'deepspeed',
      'parallel.data': 'zero',
      'zero.stage': 2,
      'hardware.gpus': 8,
    } as const;
    const cpu = timeOf({ ...values, 'offload.optimizer': 'cpu' }).stepSeconds;
    const gpu = timeOf(values).stepSeconds;
    const billions = llama.parameters.total / 1e9;
    assert.ok(cpu.likely - gpu.likely > 0.65 * billions && cpu.likely - gpu.likely < 0.75 * billions);
    assert.ok(cpu.high - gpu.high > 4.7 * billions);
    // Two nodes share the work.
    const two = timeOf({
      ...values,
      'offload.optimizer': 'cpu',
      'hardware.gpus': 16,
      'hardware.nodes': 2,
    }).stepSeconds;
    assert.ok(two.likely < 0.6 * cpu.likely, `${two.likely} of ${cpu.likely}`);
  });

  it('knows what GPUs exchange: ZeRO-3 gathers weights twice and reduces gradients once per micro batch', () => {
    const values = { 'hardware.gpus': 8, 'parallel.data': 'zero', 'precision.scheme': 'deepspeed' } as const;
    const bytes = 2 * llama.parameters.total;
    // 300 GB/s each way over NVLink of A100.
    const third = timeOf({ ...values, 'zero.stage': 3, 'batch.accumulation': 2 }).ratedSeconds.dataParallel;
    assert.ok(Math.abs(third / ((2 * 3 * (7 / 8) * bytes) / 300e9) - 1) < 1e-9, String(third));
    // DeepSpeed sums gradients on all GPUs and gathers the stepped weights.
    const first = timeOf({ ...values, 'zero.stage': 1, 'batch.accumulation': 2 }).ratedSeconds.dataParallel;
    assert.ok(Math.abs(first / ((3 * (7 / 8) * bytes) / 300e9) - 1) < 1e-9, String(first));
    const second = timeOf({ ...values, 'zero.stage': 2, 'batch.accumulation': 2 }).ratedSeconds.dataParallel;
    assert.ok(Math.abs(second / ((5 * (7 / 8) * bytes) / 300e9) - 1) < 1e-9, String(second));
    assert.equal(timeOf({}).ratedSeconds.dataParallel, 0);
  });

  it('sums over tensor-parallel GPUs twice a layer and pass', () => {
    const { ratedSeconds } = timeOf({ 'hardware.gpus': 4, 'parallel.tensor': 4, 'batch.micro': 2 });
    const hidden = 2 * 1024 * 2048 * 2;
    assert.equal(ratedSeconds.tensorParallel, (8 * 2 * 2 * hidden * 2 * (3 / 4)) / 300e9);
  });

  it('gains between nothing and twice from fp8', () => {
    const h100 = card('H100-SXM5-80GB');
    const bf16 = timeOf({ 'batch.micro': 4 }, h100).stepSeconds;
    const fp8 = timeOf({ 'batch.micro': 4, 'precision.compute': 'fp8' }, h100).stepSeconds;
    const none = timeOf({ 'batch.micro': 4, 'precision.compute': 'fp8' }).stepSeconds;
    const same = timeOf({ 'batch.micro': 4 }).stepSeconds;
    assert.ok(Math.abs(none.low / same.low - 1) < 0.1 && none.likely > 0.9 * same.likely, 'A100 has no fp8');
    assert.ok(fp8.low > bf16.low / 2 && fp8.likely < bf16.likely && fp8.high <= bf16.high * 1.001);
  });

  it('is longer the more ZeRO exchanges that nothing hides', () => {
    const likely = (stage: number, more: RunValues = {}) =>
      timeOf({
        'hardware.gpus': 8,
        'parallel.data': 'zero',
        'precision.scheme': 'deepspeed',
        'zero.stage': stage,
        'batch.accumulation': 4,
        ...more,
      }).stepSeconds.likely;
    const stages = [0, 1, 2, 3].map((stage) => likely(stage));
    stages.slice(1).forEach((seconds, i) => {
      assert.ok(seconds > (stages[i] ?? Number.NaN), stages.join(' '));
    });
    assert.ok(likely(2, { 'zero.overlapCommunication': true }) < likely(2));
  });

  it('exchanges over the adapters of the nodes, which the machine tells', () => {
    const rated = (values: RunValues) =>
      timeOf({ 'hardware.gpus': 16, 'hardware.nodes': 2, 'parallel.data': 'zero', ...values }).ratedSeconds
        .dataParallel;
    const bytes = 2 * llama.parameters.total;
    // A node passes half of what two nodes gather: eight adapters of 200 Gbit/s, or 400 Gbit/s in all.
    const third = { 'zero.stage': 3, 'precision.scheme': 'deepspeed' } as const;
    const dgx = rated(third);
    assert.ok(
      Math.abs(dgx / ((3 * (15 / 16) * bytes) / 300e9) - 1) < 1e-9,
      'NVLink is slower than half over 200 GB/s',
    );
    const p4de = rated({ ...third, 'hardware.instance': 'p4de.24xlarge' });
    assert.ok(Math.abs(p4de / ((3 * (1 / 2) * bytes) / 50e9) - 1) < 1e-9, String(p4de));
  });

  it('is that of a host which launches each expert for itself, where a loop runs them', () => {
    const model = aModel({
      model_type: 'qwen3_moe',
      vocab_size: 32_000,
      hidden_size: 512,
      intermediate_size: 1024,
      moe_intermediate_size: 256,
      num_hidden_layers: 8,
      num_attention_heads: 8,
      num_key_value_heads: 8,
      head_dim: 64,
      num_experts: 128,
      num_experts_per_tok: 8,
    });
    const at = (transformers: string, gpu: string, more: RunValues = {}) => {
      const run = aRun({
        ...BF16,
        'model.code': 'transformers',
        'version.transformers': transformers,
        'batch.sequence': 512,
        ...more,
      });
      const { time } = estimate({ run, model, accelerator: card(gpu) }).compute;
      assert.ok(time && ordered(time.stepSeconds), JSON.stringify(time?.stepSeconds));
      return { ...time.stepSeconds, leftOut: time.leftOut.join() };
    };
    // 128 experts of 8 layers, gate and up, and down, forward and again backward.
    const products = 8 * 128 * 4;
    const modules = at('4.57.1', 'A100-SXM4-80GB');
    assert.ok(
      modules.likely > products * 27.6e-6 && modules.high > products * 44e-6,
      JSON.stringify(modules),
    );
    // PyTorch's grouped product of stacked experts has a kernel on Hopper and Blackwell, and is a loop elsewhere.
    const stacked = (gpu: string, more?: RunValues) => at('5.20.0', gpu, more);
    const looped = stacked('A100-SXM4-80GB');
    assert.ok(looped.likely > products * 27.6e-6 && looped.likely < modules.likely, `${looped.likely}`);
    const compiled = stacked('A100-SXM4-80GB', { 'kernels.compile': true });
    assert.ok(compiled.likely > products * 27.6e-6, JSON.stringify(compiled));
    const hopper = stacked('H100-SXM5-80GB');
    assert.ok(hopper.high < looped.likely / 3, JSON.stringify([hopper, looped]));
    // Releases of Unsloth differ, on some cards.
    const unsloth = stacked('A100-SXM4-80GB', { 'kernels.unsloth': true });
    assert.ok(unsloth.likely < looped.likely / 3 && unsloth.high > products * 44e-6, JSON.stringify(unsloth));
    assert.match(unsloth.leftOut, /loop over experts of Unsloth before 2026\.10\.2/);
    const turing = stacked('T4', { 'kernels.unsloth': true, 'precision.compute': 'fp16' });
    assert.ok(turing.likely > products * 27.6e-6, JSON.stringify(turing));
  });

  it('is that of a host which launches the operators of a short batch, as published runs show', () => {
    // Qwen's `finetune.py`, LoRA on 1.8 billion parameters: 1.0 s a step of 8 micro batches, of 256 tokens as of 512.
    const model = aModel({ ...SMALL_LLAMA, num_hidden_layers: 24 });
    const at = (sequence: number, more: RunValues = {}) => {
      const run = aRun({ ...BF16, 'batch.sequence': sequence, 'batch.accumulation': 8, ...more });
      const { time } = estimate({ run, model, accelerator: card('A100-SXM4-80GB') }).compute;
      assert.ok(time && ordered(time.stepSeconds));
      return time.stepSeconds;
    };
    const [short, longer] = [at(16), at(32)];
    assert.ok(short.likely > 5 * short.low && longer.likely / short.likely < 1.05, JSON.stringify(short));
    const compiled = at(16, { 'kernels.compile': true });
    assert.ok(compiled.likely < 0.4 * short.likely, JSON.stringify([compiled, short]));
    assert.ok(
      at(16, { 'parallel.data': 'zero', 'zero.stage': 3, 'hardware.gpus': 2 }).likely > 4 * short.likely,
    );
  });

  it('reports what it leaves out', () => {
    const grpo = timeOf({ 'method.objective': 'grpo' });
    assert.match(grpo.leftOut.join(), /generation of completions/);
  });
});

describe('a whole run', () => {
  it('leaves out its evaluations, and reports that', () => {
    const plain = timeOf({ 'schedule.steps': 100 });
    const evaluates = timeOf({ 'schedule.steps': 100, 'evaluation.enabled': true });
    assert.deepEqual(evaluates.runSeconds, plain.runSeconds);
    assert.deepEqual([plain.withoutEvaluations, evaluates.withoutEvaluations], [undefined, true]);
    assert.equal(timeOf({ 'evaluation.enabled': true }).withoutEvaluations, undefined);
  });

  it('takes its steps, or its tokens over those of a step', () => {
    const bySteps = timeOf({ 'schedule.steps': 100, 'hardware.gpus': 4, 'parallel.data': 'ddp' });
    assert.equal(bySteps.runSeconds?.likely, 100 * bySteps.stepSeconds.likely);
    const hours = (400 * bySteps.stepSeconds.likely) / 3600;
    assert.ok(Math.abs((bySteps.gpuHours?.likely ?? 0) / hours - 1) < 1e-12);
    const byTokens = timeOf({ 'schedule.tokens': 1024 * 50 });
    assert.equal(byTokens.runSeconds?.low, 50 * byTokens.stepSeconds.low);
    assert.equal(timeOf({}).runSeconds, undefined);
  });

  it('uses rated power times 1.1: LLaMA 7B’s 82,432 hours on A100 are 36 MWh (arXiv 2302.13971, table 15)', () => {
    const { gpuHours, energyKwh } = timeOf({ 'schedule.steps': 1e6 });
    assert.ok(gpuHours && energyKwh);
    const paper = (82_432 * energyKwh.likely) / gpuHours.likely;
    assert.equal(Math.round(paper / 1000), 36);
  });

  it('costs GPU-hours times list prices, with their date', () => {
    const { gpuHours, costUsd, price } = timeOf(
      { 'schedule.steps': 1000, 'hardware.gpus': 8, 'parallel.data': 'fsdp2' },
      card('H100-SXM5-80GB'),
    );
    assert.ok(gpuHours && costUsd && price);
    assert.deepEqual(price.instances, ['p5.48xlarge', 'Standard_ND96isr_H100_v5']);
    assert.deepEqual(price.usdPerGpuHour, { low: 55.04 / 8, likely: 55.04 / 8, high: 98.32 / 8 });
    assert.match(price.date ?? '', /^\d{4}-\d{2}-\d{2}$/);
    assert.equal(costUsd.low, gpuHours.low * 6.88);
    assert.equal(costUsd.high, gpuHours.high * 12.29);
  });

  it('costs what the run states instead', () => {
    const { gpuHours, costUsd, price } = timeOf({ 'schedule.steps': 1000, 'hardware.price': 2 });
    assert.equal(costUsd?.likely, 2 * (gpuHours?.likely ?? Number.NaN));
    assert.deepEqual(price?.instances, []);
  });

  it('takes the machine that the run names, else the cheapest of a provider that has as many GPUs as a node of the run', () => {
    const l4 = card('L4');
    const machines = (gpus: number) => priceOf(aRun({ 'hardware.gpus': gpus }), l4)?.instances;
    assert.deepEqual(machines(1), ['g6.xlarge']);
    assert.deepEqual(machines(4), ['g6.12xlarge']);
    assert.deepEqual(machines(8), ['g6.48xlarge']);
    assert.deepEqual(priceOf(aRun({ 'hardware.instance': 'g6.8xlarge' }), l4)?.instances, ['g6.8xlarge']);
    assert.equal(priceOf(aRun({}), { ...CARD, name: 'RTX 4090' }), undefined);
  });
});

describe('GPU-hours that papers state', () => {
  /** LLaMA, arXiv 2302.13971, tables 2 and 15: width, layers, heads, inner size, billions of tokens, hours on A100. */
  const PUBLISHED: readonly (readonly [string, number, number, number, number, number, number])[] = [
    ['7B', 4096, 32, 32, 11_008, 1000, 82_432],
    ['13B', 5120, 40, 40, 13_824, 1000, 135_168],
    ['33B', 6656, 60, 52, 17_920, 1400, 530_432],
    ['65B', 8192, 80, 64, 22_016, 1400, 1_022_362],
  ];
  for (const [name, width, layers, heads, inner, tokens, hours] of PUBLISHED) {
    it(`lie in the range of LLaMA ${name}`, () => {
      const model = aModel({
        ...SMALL_LLAMA,
        hidden_size: width,
        num_hidden_layers: layers,
        num_attention_heads: heads,
        num_key_value_heads: heads,
        intermediate_size: inner,
      });
      // Linear layers' outputs are kept, the rest is computed again (section 2.4); 2048 GPUs, 4 million tokens a step.
      const run = aRun({
        ...BF16,
        'batch.sequence': 2048,
        'hardware.gpus': 2048,
        'hardware.nodes': 256,
        'parallel.data': 'fsdp1',
        'activations.checkpointing': 'selective',
        'schedule.tokens': tokens * 1e9,
      });
      const { gpuHours } = estimate({ run, model, accelerator: card('A100-SXM4-80GB') }).compute.time ?? {};
      assert.ok(gpuHours && gpuHours.low < hours && hours < gpuHours.high, JSON.stringify(gpuHours));
    });
  }
});

describe('tokens per parameter', () => {
  const tokens = 20 * llama.parameters.total;
  const of = (values: RunValues, model = llama) => tokensPerParameter(aRun(values), model, 1000);

  it('are reported of pre-training', () => {
    assert.equal(of({ 'schedule.tokens': tokens }), 20);
    assert.equal(of({ 'schedule.steps': 1000 }), 1e6 / llama.parameters.total);
  });

  it('are not reported of fine-tuning, other objectives or an unknown length', () => {
    const named = { ...llama, origin: 'catalog' } as const;
    assert.equal(of({ 'schedule.steps': 1000 }, named), undefined);
    assert.equal(of({ 'schedule.tokens': tokens, 'method.kind': 'lora' }), undefined);
    assert.equal(of({ 'schedule.tokens': tokens, 'method.objective': 'dpo' }), undefined);
    assert.equal(of({}), undefined);
  });
});

describe('utilization', () => {
  const FP32: RunValues = { 'precision.compute': 'fp32', 'precision.scheme': 'native' };
  const utilized = (values: RunValues) => {
    const compute = computeOf(values);
    assert.ok(compute.time?.mfu && compute.time.hfu);
    return { seconds: compute.time.stepSeconds, mfu: compute.time.mfu, hfu: compute.time.hfu, compute };
  };

  it('of fp32 is that of fp32 products, unless somebody switches TF32 on', () => {
    const plain = utilized(FP32);
    const lowered = utilized({ ...FP32, 'kernels.tf32': true });
    // On by default from 1.7 to 1.11.
    for (const [torch, expected] of [
      ['1.6.0', false],
      ['1.8.1', true],
      ['1.11.0', true],
      ['1.12.0', false],
    ] as const)
      assert.equal(behavioursOfValues({ 'version.torch': torch }).multipliesInTf32, expected, torch);
    assert.ok(plain.mfu.high <= 1 && lowered.mfu.high <= 1, `${plain.mfu.high} ${lowered.mfu.high}`);
    assert.ok(lowered.seconds.low < 0.5 * plain.seconds.low);
    assert.ok(plain.seconds.low > (0.9 * plain.compute.flopsPerStep) / 19.5e12);
  });

  it('is never above all that the card can do, however long the sequence', () => {
    for (const checkpointing of ['none', 'full'] as const)
      for (const sequence of [4096, 65_536, 1_048_576]) {
        const { mfu, hfu, compute } = utilized({
          'batch.sequence': sequence,
          'activations.checkpointing': checkpointing,
        });
        assert.ok(mfu.high <= 1 && hfu.high <= 1, `${sequence}: ${mfu.high} ${hfu.high}`);
        const masked = timeFacts(compute).some(({ detail }) => detail?.includes('masked pairs not counted'));
        assert.equal(masked, compute.time?.withoutMasked === true);
        if (sequence === 4096) assert.ok(!masked);
        if (sequence === 1_048_576) assert.ok(masked);
      }
  });
});
