import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { scalarsOf } from '../../../server/src/measured/event-file';
import { LineSplitter } from '../../../server/src/measured/line-splitter';
import { type LogFigures, LogFiguresReader } from '../../../server/src/measured/log-figures';
import { logLinesOf } from '../../../server/src/measured/log-line';
import { growthOf } from '../../../server/src/measured/measurement';

const MIB = 2 ** 20;
const GIB = 2 ** 30;

function read(text: string): LogFigures {
  const reader = new LogFiguresReader();
  for (const line of logLinesOf(text)) reader.add(line);
  return reader.finish();
}

/** `source kind peak: GiB`, of the highest. */
function reported(text: string): string[] {
  return read(text).series.map(
    ({ source, kind, peak, rank, highest }) =>
      `${source}${rank === undefined ? '' : ` ${rank}`} ${kind}${peak ? ' peak' : ''}: ${(highest.quantity.bytes / GIB).toFixed(2)}`,
  );
}

describe('figures of logs', () => {
  it('torchtitan: the reserved peak, with steps and retries', () => {
    const text = [
      '[titan] 2026-02-24 19:40:57,825 - root - INFO - step:  5  loss:  6.75186  grad_norm: 34.0000  memory: 169.13GiB(94.83%)  tps: 10,378  tflops: 324.98  mfu: 14.44%',
      '[titan] 2026-02-24 19:41:57,825 - root - WARNING - 6 CUDA memory allocation retries.',
      '\u001b[31mstep: 10\u001b[0m  loss: 5.1  memory: 168.00GiB(94.20%)  tps: 10,378',
    ].join('\n');
    assert.deepEqual(reported(text), ['torchtitan reserved peak: 169.13']);
    const { series, retries } = read(text);
    assert.deepEqual([series[0]?.highest.step, series[0]?.last.step, retries], [5, 10, 6]);
  });

  it('Axolotl, in three eras', () => {
    assert.deepEqual(
      reported(
        '[2024-01-01 10:00:00] [INFO] [axolotl.load_model:500] [PID:24] [RANK:1] GPU memory usage after model load: 13.500GB (+0.250GB cache, +0.376GB misc)',
      ),
      ['Axolotl 1 allocated: 13.50', 'Axolotl 1 reserved: 13.75', 'Axolotl 1 process: 14.13'],
    );
    // Before a model is loaded nothing is cached, and the line has no such part.
    assert.deepEqual(
      reported(
        '[INFO] [axolotl.normalize_config:183] [PID:2411672] [RANK:0] GPU memory usage baseline: 0.000GB (+0.376GB misc)',
      ),
      ['Axolotl 0 allocated: 0.00', 'Axolotl 0 reserved: 0.00', 'Axolotl 0 process: 0.38'],
    );
    assert.deepEqual(
      reported(
        "{'loss': 1.2, 'memory/max_mem_active(gib)': 77.69, 'memory/max_mem_allocated(gib)': 77.5, 'memory/device_mem_reserved(gib)': 78.43, 'epoch': 0}",
      ),
      ['metrics active peak: 77.69', 'metrics allocated peak: 77.50', 'metrics reserved peak: 78.43'],
    );
    assert.deepEqual(
      reported(
        '"memory/device_reserved (GiB)": 78.43,\n"memory/max_active (GiB)": 77.69,\n"memory/max_allocated (GiB)": 77.5,',
      ),
      ['metrics reserved peak: 78.43', 'metrics active peak: 77.69', 'metrics allocated peak: 77.50'],
    );
  });

  it('TensorBoard and Weights & Biases name what torchtitan does', () => {
    assert.deepEqual(
      reported('{"step": 5, "memory/max_active(GiB)": 50.5, "memory/max_reserved(GiB)": 61.5}'),
      ['metrics active peak: 50.50', 'metrics reserved peak: 61.50'],
    );
  });

  it('peaks that are reset between lines: that of the run is the highest of them', () => {
    const line = (most: string) =>
      `[utils.py:803:see_memory_usage] MA 0.58 GB         Max_MA ${most} GB         CA 26.71 GB         Max_CA 27 GB `;
    const peak = read([line('26.38'), line('30.11'), line('4.02')].join('\n')).series.find(
      ({ kind, peak }) => kind === 'allocated' && peak,
    );
    assert.deepEqual(
      [peak?.highest, peak?.last].map((one) => one && one.quantity.bytes / GIB),
      [30.11, 4.02].map((gib) => Math.round(gib * GIB) / GIB),
    );
  });

  it('DeepSpeed: GB are GiB, and Max_CA is rounded to whole ones', () => {
    const text = [
      '[2023-11-17 11:04:06,500] [INFO] [utils.py:802:see_memory_usage] After initializing optimizer states',
      '[2023-11-17 11:04:06,577] [INFO] [utils.py:803:see_memory_usage] MA 0.58 GB         Max_MA 26.38 GB         CA 26.71 GB         Max_CA 27 GB ',
      '[2023-11-17 11:04:06,580] [INFO] [utils.py:810:see_memory_usage] CPU Virtual Memory:  used = 322.58 GB, percent = 17.1%',
    ].join('\n');
    assert.deepEqual(reported(text), [
      'DeepSpeed allocated: 0.58',
      'DeepSpeed allocated peak: 26.38',
      'DeepSpeed reserved: 26.71',
      'DeepSpeed reserved peak: 27.00',
      'DeepSpeed host: 322.58',
    ]);
    const { series } = read(text);
    const most = series.find(({ kind, peak }) => kind === 'reserved' && peak)?.highest;
    assert.deepEqual([most?.quantity.lowerBytes, most?.quantity.upperBytes], [26.5 * GIB, 27.5 * GIB]);
    assert.equal(most?.moment, 'After initializing optimizer states');
    assert.deepEqual(reported('MemAllocated=17.94GB, MaxMemAllocated=54.06GB'), [
      'DeepSpeed allocated: 17.94',
      'DeepSpeed allocated peak: 54.06',
    ]);
  });

  it('Megatron-LM counts in MiB, Megatron-Bridge and Composer in 10^9', () => {
    assert.deepEqual(
      reported(
        '[Rank 0] (after 20 iterations) memory (MB) | allocated: 3270.16 | max allocated: 5670.39 | reserved: 6406.00 | max reserved: 6406.00',
      ),
      [
        'Megatron-LM 0 allocated: 3.19',
        'Megatron-LM 0 allocated peak: 5.54',
        'Megatron-LM 0 reserved: 6.26',
        'Megatron-LM 0 reserved peak: 6.26',
      ],
    );
    assert.deepEqual(
      reported(
        '[Rank 1] (after 2 iterations) memory (GB) | mem-allocated-gigabytes: 63.66 | mem-reserved-gigabytes: 182.2 | mem-max-allocated-gigabytes: 153.4 | mem-max-reserved-gigabytes: 182.2 | mem-alloc-retires: 0',
      ),
      [
        'Megatron-Bridge 1 allocated: 59.29',
        'Megatron-Bridge 1 allocated peak: 142.86',
        'Megatron-Bridge 1 reserved: 169.69',
        'Megatron-Bridge 1 reserved peak: 169.69',
      ],
    );
    assert.deepEqual(reported('memory/peak_allocated_mem: 21.47'), ['Composer allocated peak: 20.00']);
    assert.deepEqual(reported('Theoretical memory footprints: weight and optimizer=9884.48 MB'), []);
  });

  it('ms-swift, LLaMA-Factory and the Trainer', () => {
    const swift =
      "{'loss': 1.47, 'global_step/max_steps': '7/94', 'memory(GiB)': 4.87, 'train_speed(iter/s)': 0.345807}";
    assert.deepEqual(reported(swift), ['ms-swift reserved peak: 4.87']);
    assert.equal(read(swift).series[0]?.highest.step, 7);
    assert.deepEqual(
      reported('{"current_steps": 10, "loss": 1.1, "vram_allocated": 16.25, "vram_reserved": 18.5}'),
      ['LLaMA-Factory allocated peak: 16.25', 'LLaMA-Factory reserved peak: 18.50'],
    );
    // Changes: 312 + 0 - 153 + 2012, each to the nearest MiB.
    const trainer = read(
      'before_init_mem_gpu        =      312MB\n  init_mem_gpu_alloc_delta   =        0MB\n  train_mem_gpu_alloc_delta  =     -153MB\n  train_mem_gpu_peaked_delta =     2012MB',
    ).series[0];
    assert.equal(trainer?.highest.quantity.bytes, (312 - 153 + 2012) * MIB);
    assert.ok(
      (trainer?.highest.quantity.upperBytes ?? 0) - (trainer?.highest.quantity.lowerBytes ?? 0) >= 3.5 * MIB,
    );
    assert.deepEqual(
      reported(
        '"before_init_mem_gpu": 327155712,\n"init_mem_gpu_alloc_delta": 0,\n"train_mem_gpu_alloc_delta": 1073741824,\n"train_mem_gpu_peaked_delta": 2147483648',
      ),
      ['Trainer allocated peak: 3.30'],
    );
    // Without the level before, changes say nothing.
    assert.deepEqual(reported('train_mem_gpu_peaked_delta =     2012MB'), []);
  });

  it('Unsloth, with its card and versions', () => {
    const text = [
      '==((====))==  Unsloth 2026.4.4: Fast Gemma4 patching. Transformers: 5.5.0.',
      '   \\\\   /|    Tesla T4. Num GPUs = 2. Max memory: 14.563 GB. Platform: Linux.',
      'O^O/ \\_/ \\    Torch: 2.10.0+cu128. CUDA: 7.5. CUDA Toolkit: 12.8. Triton: 3.6.0',
      'GPU = Tesla T4. Max memory = 14.563 GB.',
      '8.258 GB of memory reserved.',
      'Peak reserved memory = 10.949 GB.',
      'Peak reserved memory for training = 2.691 GB.',
      'Peak reserved memory % of max memory = 75.184 %.',
    ].join('\n');
    assert.deepEqual(reported(text), ['Unsloth reserved: 8.26', 'Unsloth reserved peak: 10.95']);
    const { facts } = read(text);
    assert.equal(facts.gpu, 'Tesla T4');
    assert.equal(facts.capacityBytes, Math.round(14.563 * GIB));
    assert.equal(facts.versions?.torch, '2.10.0+cu128');
    assert.equal(facts.versions?.transformers, '5.5.0');
  });

  it('torchtune, verl, litgpt, nanotron and prime-rl', () => {
    assert.deepEqual(
      reported(
        'Memory stats after model init:\n\tGPU peak memory allocation: 6.21 GiB\n\tGPU peak memory reserved: 6.27 GiB\n\tGPU peak memory active: 6.22 GiB',
      ),
      ['torchtune allocated peak: 6.21', 'torchtune reserved peak: 6.27', 'torchtune active peak: 6.22'],
    );
    assert.deepEqual(
      reported(
        'Step 4 | loss:1.5 lr:2e-05 peak_memory_active:20.5 peak_memory_alloc:20.25 peak_memory_reserved:22.75',
      ),
      ['torchtune allocated peak: 20.25', 'torchtune active peak: 20.50', 'torchtune reserved peak: 22.75'],
    );
    assert.deepEqual(
      reported(
        'After init model from HF AutoModel, memory allocated (GB): 3.5, memory reserved (GB): 4.25, device memory used/total (GB): 5.5/79.15',
      ),
      ['verl allocated: 3.50', 'verl reserved: 4.25', 'verl process: 5.50'],
    );
    assert.deepEqual(
      reported('step:1 - perf/max_memory_allocated_gb:30.5 - perf/max_memory_reserved_gb:41.25'),
      ['verl allocated peak: 30.50', 'verl reserved peak: 41.25'],
    );
    // 10^9: 13.90 GB are 12.95 GiB.
    assert.deepEqual(reported('Memory used: 13.90 GB'), ['litgpt allocated peak: 12.95']);
    assert.deepEqual(
      reported(
        '[After model building] Memory usage: 512.00MiB. Peak allocated: 768.00MiB Peak reserved: 1024.00MiB',
      ),
      ['nanotron allocated: 0.50', 'nanotron allocated peak: 0.75', 'nanotron reserved peak: 1.00'],
    );
    // 10^9 too: 100.759 GB are 93.84 GiB.
    assert.deepEqual(
      reported(
        'Iter 10: Train loss 2.1, It/sec 0.5, Tokens/sec 90.1, Trained Tokens 1800, Peak mem 100.759 GB',
      ),
      ['MLX allocated peak: 93.84'],
    );
    assert.deepEqual(
      reported('Step 9 | Time: 40.0s | Loss: 1.2 | MFU: 5.5% | Peak Mem.: 7.8/23.7 GiB (32.9%)'),
      ['prime-rl torch peak: 7.80'],
    );
  });

  it('torch.cuda.memory_summary, whose MB are MiB up to 2.0', () => {
    const table = (unit: string) =>
      [
        '|            CUDA OOMs: 1            |        cudaMalloc retries: 3         |',
        '|        Metric         | Cur Usage  | Peak Usage | Tot Alloc  | Tot Freed  |',
        `| Allocated memory      |    1062 ${unit} |    4877 ${unit} |   89299 ${unit} |   88237 ${unit} |`,
        `|       from large pool |    1060 ${unit} |    4875 ${unit} |   89299 ${unit} |   88237 ${unit} |`,
        `| GPU reserved memory   |    6144 ${unit} |    6144 ${unit} |    6144 ${unit} |       0 B  |`,
      ].join('\n');
    for (const unit of ['MB', 'MiB']) {
      assert.deepEqual(reported(table(unit)), [
        'torch.cuda.memory_summary allocated: 1.04',
        'torch.cuda.memory_summary allocated peak: 4.76',
        'torch.cuda.memory_summary reserved: 6.00',
        'torch.cuda.memory_summary reserved peak: 6.00',
      ]);
      assert.equal(read(table(unit)).retries, 3);
    }
  });

  it('nvidia-smi as a list, a table and XML; what it does not know is no figure', () => {
    assert.deepEqual(
      reported('index, memory.used [MiB], memory.total [MiB]\n1, 8311 MiB, 16303 MiB\n2, [N/A], [N/A]'),
      ['nvidia-smi process: 8.12'],
    );
    assert.deepEqual(
      reported('| N/A   45C    P0    70W / 400W |  61234MiB / 81920MiB |     99%      Default |'),
      ['nvidia-smi process: 59.80'],
    );
    assert.deepEqual(reported('<reserved>563 MiB</reserved>\n<used>8311 MiB</used>'), [
      'nvidia-smi process: 8.12',
    ]);
  });

  it('tell which kernels and which packing a run uses', () => {
    const inUse = (text: string) => {
      const reader = new LogFiguresReader();
      for (const line of logLinesOf(text)) reader.add(line);
      return reader.finish().facts.inUse;
    };
    assert.deepEqual(
      inUse(
        '[INFO|2025-03-14] llamafactory.model.model_utils.attention:157 >> Using vanilla attention implementation.\n[INFO] >> Using block diagonal attention for sequence packing without cross-attention.\n',
      ),
      {
        attention: { kernel: 'eager', source: 'LLaMA-Factory', line: 0 },
        packed: { source: 'LLaMA-Factory', line: 1 },
      },
    );
    assert.deepEqual(inUse('[axolotl] sample_packing_eff_est across ranks: [0.98]\n'), {
      packed: { source: 'Axolotl', line: 0 },
    });
    assert.equal(inUse('Using torch SDPA for faster training and inference.\n')?.attention?.kernel, 'sdpa');
    assert.equal(inUse('packing the suitcase, using vanilla\n'), undefined);
  });

  it('say nothing of other lines', () => {
    for (const text of [
      'memory: efficient attention is on',
      'step 3 | loss 2.2 | lr 1e-4',
      'Loading model from memory/(GiB) backup',
      'Memory used by tokenizer: 3.2 GB',
      '| Model | Memory | MT-Bench |',
    ])
      assert.deepEqual(reported(text), [], text);
  });

  it('are reported of each rank', () => {
    const line = (rank: number, gib: number) => `[rank${rank}]: {'memory(GiB)': ${gib}}`;
    assert.deepEqual(reported([line(0, 10), line(1, 12), line(0, 11)].join('\n')), [
      'ms-swift 0 reserved peak: 11.00',
      'ms-swift 1 reserved peak: 12.00',
    ]);
  });

  it('never fail, and keep little of many', () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ maxLength: 2000 }),
        (bytes) => void read(Buffer.from(bytes).toString('latin1')),
      ),
    );
    const many = Array.from({ length: 30_000 }, (_, i) => `{'memory(GiB)': ${10 + (i % 7)}}`).join('\n');
    const [series] = read(many).series;
    assert.equal(series?.count, 30_000);
    assert.ok((series?.course.length ?? 9999) <= 512);
  });
});

describe('growth over steps', () => {
  const course = (values: readonly number[]) =>
    growthOf(read(values.map((gib) => `{'memory(GiB)': ${gib.toFixed(3)}}`).join('\n')).series[0] as never);

  it('is a leak where it does not end, and none where it comes to rest', () => {
    const steps = Array.from({ length: 60 }, (_, i) => i);
    assert.ok(course(steps.map((i) => 20 + 0.1 * i)) > 3 * GIB);
    assert.equal(course(steps.map((i) => 20 + Math.min(i, 5))), 0);
    assert.equal(course(steps.map((i) => 20 + 4 * (1 - Math.exp(-i / 8)))), 0);
    assert.equal(course(steps.map((i) => 20 + (i % 3))), 0);
    assert.equal(course([20, 21, 22]), 0);
  });
});

describe('streams of bytes', () => {
  it('are cut into the lines that the whole text has, wherever the pieces end', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom('a', 'ж', '\n', '\r\n', '\r', '|') }),
        fc.integer({ min: 1, max: 7 }),
        (text, size) => {
          const bytes = new TextEncoder().encode(text);
          const splitter = new LineSplitter();
          const lines = [];
          for (let i = 0; i < bytes.length; i += size)
            lines.push(...splitter.push(bytes.subarray(i, i + size)));
          lines.push(...splitter.end());
          const whole = [...logLinesOf(text)].map((line) => line.text).filter((line) => line !== '');
          assert.deepEqual(
            lines.map((line) => line.text).filter((line) => line !== ''),
            whole,
          );
        },
      ),
    );
  });

  it('keep only the beginning of an endless line', () => {
    const splitter = new LineSplitter();
    const piece = new Uint8Array(2 ** 20).fill(97);
    for (let i = 0; i < 20; i++) assert.deepEqual(splitter.push(piece), []);
    assert.ok((splitter.end()[0]?.text.length ?? 0) <= 65_536);
  });
});

describe('TensorBoard event files', () => {
  const varint = (n: number): number[] => (n < 128 ? [n] : [(n & 127) | 128, ...varint(Math.floor(n / 128))]);
  const field = (number: number, bytes: readonly number[]) => [
    ...varint(number * 8 + 2),
    ...varint(bytes.length),
    ...bytes,
  ];
  const float = (value: number) => [...new Uint8Array(Float32Array.of(value).buffer)];
  const record = (data: readonly number[]) => [
    ...new Uint8Array(BigUint64Array.of(BigInt(data.length)).buffer),
    0,
    0,
    0,
    0,
    ...data,
    0,
    0,
    0,
    0,
  ];
  const text = (words: string) => [...new TextEncoder().encode(words)];
  const simple = (tag: string, step: number, value: number) =>
    record([
      9,
      0,
      0,
      0,
      0,
      0,
      0,
      0,
      0,
      16,
      ...varint(step),
      ...field(5, field(1, [...field(1, text(tag)), 21, ...float(value)])),
    ]);
  const tensor = (tag: string, step: number, value: number) =>
    record([
      16,
      ...varint(step),
      ...field(5, field(1, [...field(1, text(tag)), ...field(8, [8, 1, ...field(4, float(value))])])),
    ]);

  it('give their scalars, in either form', () => {
    const file = Uint8Array.from([
      ...record([9, 0, 0, 0, 0, 0, 0, 0, 0, ...field(3, text('brain.Event:2'))]),
      ...simple('memory/max_reserved(GiB)', 300, 61.5),
      ...tensor('loss', 301, 2.25),
    ]);
    assert.deepEqual(
      [...scalarsOf(file)],
      [
        { tag: 'memory/max_reserved(GiB)', step: 300, value: 61.5 },
        { tag: 'loss', step: 301, value: 2.25 },
      ],
    );
    // A run that is still writing.
    assert.equal([...scalarsOf(file.subarray(0, file.length - 3))].length, 1);
  });

  it('end where they are something else', () => {
    assert.deepEqual([...scalarsOf(new Uint8Array(readFileSync('package.json')))], []);
    fc.assert(fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => void [...scalarsOf(bytes)]));
  });
});
