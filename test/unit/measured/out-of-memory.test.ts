import assert from 'node:assert/strict';
import fc from 'fast-check';
import { mayBe, requestedFor, tensorBytesOf } from '../../../server/src/measured/allocation';
import type { OutOfMemory } from '../../../server/src/measured/out-of-memory';
import { quantityOf } from '../../../server/src/measured/quantity';
import { processorMs } from '../processor-time';
import { readOutOfMemory } from './read-out-of-memory';

const MIB = 2 ** 20;
const GIB = 2 ** 30;

function only(text: string): OutOfMemory {
  const { found } = readOutOfMemory(text);
  assert.equal(found.length, 1, JSON.stringify(found.map(({ message }) => message)));
  const [first] = found;
  assert.ok(first);
  return first;
}

/** GiB of a figure, as it was printed. */
const gib = (figure: { readonly bytes: number } | undefined) =>
  figure && Number((figure.bytes / GIB).toFixed(2));

describe('printed figures', () => {
  it('stand for what rounds to them', () => {
    const figure = quantityOf('1.96', 'GiB');
    assert.deepEqual(figure, {
      bytes: Math.round(1.96 * GIB),
      lowerBytes: Math.ceil(1.955 * GIB),
      upperBytes: Math.floor(1.965 * GIB),
    });
    assert.deepEqual(quantityOf('512', 'bytes'), { bytes: 512, lowerBytes: 512, upperBytes: 512 });
  });

  it('take a GB for a GiB but where the program counts in thousands', () => {
    assert.equal(quantityOf('2', 'GB')?.bytes, 2 * GIB);
    assert.equal(quantityOf('2', 'GB', 1000)?.bytes, 2e9);
    assert.equal(quantityOf('2', 'GiB', 1000)?.bytes, 2 * GIB);
    assert.equal(quantityOf('9,884.48', 'MB')?.bytes, Math.round(9884.48 * MIB));
  });

  it('are none where nothing can hold so much', () => {
    assert.equal(quantityOf('99999999999999999999999', 'GiB'), undefined);
    assert.equal(quantityOf('3', 'parsecs'), undefined);
  });
});

describe('requests to the device', () => {
  it('come in segments', () => {
    assert.equal(requestedFor(1), 2 * MIB);
    assert.equal(requestedFor(MIB), 2 * MIB);
    assert.equal(requestedFor(MIB + 1), 20 * MIB);
    assert.equal(requestedFor(10 * MIB - 512), 20 * MIB);
    assert.equal(requestedFor(10 * MIB), 10 * MIB);
    assert.equal(requestedFor(10 * MIB + 1), 12 * MIB);
    assert.equal(requestedFor(4096 * 128_256 * 4), 2004 * MIB);
  });

  it('find their tensor again', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 2 ** 40 }), (bytes) => {
        const size = requestedFor(bytes);
        const [number, unit] = size < GIB ? [size / MIB, 'MiB'] : [size / GIB, 'GiB'];
        const printed = quantityOf(number.toFixed(2), unit);
        assert.ok(printed && mayBe(bytes, printed, 'sentences'), `${bytes}`);
        const [least, most] = tensorBytesOf(printed, 'sentences');
        assert.ok(least <= bytes && bytes <= most, `${bytes} in ${least}..${most}`);
      }),
    );
  });

  it('are no other tensor', () => {
    const printed = quantityOf('896.00', 'MiB');
    assert.ok(printed);
    assert.ok(mayBe(896 * MIB, printed, 'advice'));
    assert.ok(mayBe(894 * MIB + 1, printed, 'advice'));
    assert.ok(!mayBe(896 * MIB + 1, printed, 'advice'));
    assert.ok(!mayBe(894 * MIB, printed, 'advice'));
  });
});

describe("PyTorch's messages", () => {
  it('up to 1.0 stated what lies beside tensors', () => {
    const { torch } = only(
      'RuntimeError: CUDA out of memory. Tried to allocate 12.50 MiB (GPU 0; 10.92 GiB total capacity; 8.57 MiB already allocated; 9.28 GiB free; 4.68 MiB cached)',
    );
    assert.equal(torch?.era, 'cached');
    assert.equal(torch?.requested.bytes, 12.5 * MIB);
    assert.equal(gib(torch?.total), 10.92);
    assert.equal(gib(torch?.free), 9.28);
    assert.equal(torch?.allocated?.bytes, Math.round(8.57 * MIB));
    assert.equal(torch?.reserved?.bytes, Math.round(8.57 * MIB) + Math.round(4.68 * MIB));
    assert.ok(torch && mayBe(12.4 * MIB, torch.requested, torch.era));
  });

  it('1.2 and 1.3 stated what the allocator holds', () => {
    const { torch } = only(
      'RuntimeError: CUDA out of memory. Tried to allocate 196.00 MiB (GPU 1; 15.75 GiB total capacity; 14.20 GiB already allocated; 72.88 MiB free; 14.63 GiB cached)',
    );
    assert.equal(torch?.gpu, 1);
    assert.equal(gib(torch?.reserved), 14.63);
  });

  it('1.4 to 1.9', () => {
    const { torch } = only(
      'RuntimeError: CUDA out of memory. Tried to allocate 1.96 GiB (GPU 3; 39.59 GiB total capacity; 34.10 GiB already allocated; 1.12 GiB free; 36.40 GiB reserved in total by PyTorch)',
    );
    assert.equal(torch?.era, 'reserved');
    assert.equal(gib(torch?.requested), 1.96);
    assert.equal(gib(torch?.reserved), 36.4);
    assert.deepEqual(torch?.others, []);
  });

  it('1.10 to 2.0', () => {
    const { torch, rank } = only(
      '[rank5]: torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 896.00 MiB (GPU 5; 79.15 GiB total capacity; 70.02 GiB already allocated; 0 bytes free; 77.31 GiB reserved in total by PyTorch) If reserved memory is >> allocated memory try setting max_split_size_mb to avoid fragmentation.  See documentation for Memory Management and PYTORCH_CUDA_ALLOC_CONF',
    );
    assert.equal(torch?.era, 'advice');
    assert.equal(torch?.free?.bytes, 0);
    assert.equal(rank, 5);
  });

  it('2.1, with its slip of the pen', () => {
    const { torch } = only(
      'torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 32.00 MiB. GPU 0 has a total capacty of 4.00 GiB of which 41.56 MiB is free. Including non-PyTorch memory, this process has 3.44 GiB memory in use. Of the allocated memory 2.58 GiB is allocated by PyTorch, and 1.90 MiB is reserved by PyTorch but unallocated. If reserved but unallocated memory is large try setting max_split_size_mb to avoid fragmentation.  See documentation for Memory Management and PYTORCH_CUDA_ALLOC_CONF',
    );
    assert.equal(torch?.era, 'sentences');
    assert.equal(gib(torch?.total), 4);
    assert.equal(gib(torch?.process), 3.44);
    assert.equal(gib(torch?.allocated), 2.58);
    assert.equal(gib(torch?.reserved), 2.58);
  });

  it('2.2 in a container, where the process itself has another number', () => {
    const { torch } = only(
      'torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 23.65 GiB of which 1.11 GiB is free. Process 771 has 7.50 GiB memory in use. Process 20398 has 15.02 GiB memory in use. Of the allocated memory 14.06 GiB is allocated by PyTorch, and 210.50 MiB is reserved by PyTorch but unallocated.',
    );
    assert.equal(gib(torch?.process), 15.02);
    assert.deepEqual(
      torch?.others.map(({ pid, bytes }) => [pid, gib(bytes)]),
      [[771, 7.5]],
    );
  });

  it('2.5 and later, with pools and a limit', () => {
    const { torch } = only(
      'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 22.78 GiB. GPU 0 has a total capacity of 31.47 GiB of which 12.73 GiB is free. 25.18 GiB allowed; Including non-PyTorch memory, this process has 18.73 GiB memory in use. Of the allocated memory 9.08 GiB is allocated by PyTorch, with 2.01 GiB allocated in private pools (e.g., CUDA Graphs), and 9.35 GiB is reserved by PyTorch but unallocated. If reserved but unallocated memory is large try setting PYTORCH_ALLOC_CONF=expandable_segments:True to avoid fragmentation.',
    );
    assert.equal(gib(torch?.allowed), 25.18);
    assert.equal(gib(torch?.privatePools), 2.01);
    assert.equal(gib(torch?.reserved), 18.43);
  });

  it('on AMD, Intel and Apple', () => {
    assert.equal(
      only(
        'torch.OutOfMemoryError: HIP out of memory. Tried to allocate 256.00 MiB. GPU 2 has a total capacity of 63.98 GiB of which 88.00 MiB is free. Of the allocated memory 60.20 GiB is allocated by PyTorch, and 1.05 GiB is reserved by PyTorch but unallocated. If reserved but unallocated memory is large try setting PYTORCH_HIP_ALLOC_CONF=expandable_segments:True',
      ).torch?.device,
      'hip',
    );
    assert.equal(
      only(
        'torch.OutOfMemoryError: XPU out of memory. Tried to allocate 48.00 MiB. GPU 0 has a total capacity of 15.91 GiB. Of the allocated memory 14.50 GiB is allocated by PyTorch, and 300.12 MiB is reserved by PyTorch but unallocated. Please use `empty_cache` to release all unoccupied cached memory.',
      ).torch?.device,
      'xpu',
    );
    const { torch } = only(
      'RuntimeError: MPS backend out of memory (MPS allocated: 17.96 GB, other allocations: 58.86 MB, max allowed: 18.13 GB). Tried to allocate 320.00 MB on private pool. Use PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0 to disable upper limit for memory allocations (may cause system failure).',
    );
    assert.equal(torch?.device, 'mps');
    assert.equal(torch?.requested.bytes, 320 * MIB);
    assert.equal(gib(torch?.allowed), 18.13);
  });

  it('broken into lines by whoever pasted them', () => {
    const { torch } = only(
      `OutOfMemoryError: CUDA out of memory. Tried to allocate 1.00 GiB (GPU 0; 23.69 GiB total
capacity; 20.52 GiB already allocated; 512.56 MiB free; 21.81 GiB reserved in total by
PyTorch) If reserved memory is >> allocated memory try setting max_split_size_mb to
avoid fragmentation.`,
    );
    assert.equal(gib(torch?.total), 23.69);
    assert.equal(gib(torch?.reserved), 21.81);
  });

  it('without figures', () => {
    assert.equal(only('RuntimeError: CUDA error: out of memory').kind, 'driver');
    assert.deepEqual(readOutOfMemory('We saw CUDA out of memory often last week.').found, []);
  });
});

describe('other messages', () => {
  const cases: readonly (readonly [string, OutOfMemory['kind'], number | undefined, boolean])[] = [
    [
      'OOM when allocating tensor with shape[25000,30522] and type float on /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc\n\t [[{{node bert/embeddings/one_hot}}]]',
      'tensorflow',
      25000 * 30522 * 4,
      true,
    ],
    [
      'W tensorflow/core/common_runtime/bfc_allocator.cc:419] Allocator (GPU_0_bfc) ran out of memory trying to allocate 2.84GiB (rounded to 3052200192).  Current allocation summary follows.',
      'tensorflow',
      3_052_200_192,
      true,
    ],
    [
      'jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 51.26GiB.',
      'xla',
      Math.round(51.26 * GIB),
      true,
    ],
    [
      'XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 4294967296 bytes.',
      'xla',
      2 ** 32,
      true,
    ],
    ['Error out of memory at line 380 in file /src/csrc/pythonInterface.c', 'bitsandbytes', undefined, true],
    ["[1] NCCL WARN Cuda failure 2 'out of memory'", 'nccl', undefined, true],
    [
      'RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`',
      'library',
      undefined,
      true,
    ],
    [
      'RuntimeError: CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling `cublasCreate(handle)`',
      'library',
      undefined,
      false,
    ],
    [
      "RuntimeError: [enforce fail at alloc_cpu.cpp:75] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to allocate 17179869184 bytes. Error code 12 (Cannot allocate memory)",
      'host',
      2 ** 34,
      true,
    ],
    [
      '[E] failed (exitcode: -9) local_rank: 0 (pid: 4711) of binary: /usr/bin/python',
      'host',
      undefined,
      false,
    ],
    ["[launch.py:325:sigkill_handler] ['python'] exits with return code = -9", 'host', undefined, false],
    [
      'slurmstepd: error: Detected 1 oom_kill event in StepId=991.0. Some of the step tasks have been OOM Killed.',
      'host',
      undefined,
      true,
    ],
    [
      'kernel: Out of memory: Killed process 12345 (python) total-vm:210000000kB, anon-rss:131072000kB, file-rss:0kB',
      'host',
      undefined,
      true,
    ],
    [
      'ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.\nMemory on the node (IP: 10.0.0.2, ID: ab) where the task ran was 28.77GB / 30.00GB (0.959), which exceeds the memory usage threshold of 0.95.',
      'host',
      undefined,
      true,
    ],
  ];
  for (const [text, kind, bytes, certain] of cases) {
    it(`${kind}: ${text.slice(0, 60)}`, () => {
      const [first] = readOutOfMemory(text).found;
      assert.equal(first?.kind, kind);
      assert.equal(first?.other?.requested?.bytes, bytes);
      assert.equal(first?.other?.certain, certain);
    });
  }

  it('are no sentence about something else', () => {
    for (const text of [
      'INFO memory usage: 12.3 GiB, allocated 9.1 GiB',
      'step 9: loss -9.1, exit code: 0',
      'Saving to /models/room-killer',
      'hidden_states = self.memory(-9)',
    ])
      assert.deepEqual(readOutOfMemory(text).found, [], text);
  });
});

describe('what surrounds a message', () => {
  const trace = (rank: string, file: string) =>
    [
      'Traceback (most recent call last):',
      '  File "/repo/train.py", line 40, in <module>',
      '    trainer.train()',
      `  File "/lib/${file}", line 1190, in forward`,
      '    logits = logits.float()',
      '             ^^^^^^^^^^^^^^',
    ].map((line) => rank + line);
  const message = (rank: string) =>
    `${rank}torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.96 GiB. GPU 0 has a total capacity of 79.10 GiB of which 1.00 GiB is free. Including non-PyTorch memory, this process has 78.05 GiB memory in use. Of the allocated memory 76.00 GiB is allocated by PyTorch, and 512.00 MiB is reserved by PyTorch but unallocated.`;

  it('is the traceback above it', () => {
    const { frames } = only([...trace('', 'modeling_llama.py'), message('')].join('\n'));
    assert.deepEqual(frames, [
      { file: '/repo/train.py', line: 40, function: '<module>', code: 'trainer.train()' },
      { file: '/lib/modeling_llama.py', line: 1190, function: 'forward', code: 'logits = logits.float()' },
    ]);
  });

  it('is its own where ranks write at once', () => {
    const [a, b] = [trace('[rank0]: ', 'a.py'), trace('[rank1]: ', 'b.py')];
    const mixed = a.flatMap((line, index) => [line, b[index] ?? '']);
    const { found } = readOutOfMemory([...mixed, message('[rank1]: '), message('[rank0]: ')].join('\n'));
    assert.deepEqual(
      found.map(({ rank, frames }) => [rank, frames.at(-1)?.file, frames.at(-1)?.code]),
      [
        [1, '/lib/b.py', 'logits = logits.float()'],
        [0, '/lib/a.py', 'logits = logits.float()'],
      ],
    );
  });

  it('is found under colours, behind progress bars, and in boxes', () => {
    const bar = ` 12%|#2        | 3/25 [00:10<01:17]\r 16%|#6        | 4/25 [00:13<01:10]\r${message('\u001b[31m')}\u001b[0m`;
    assert.equal(gib(only(bar).torch?.total), 79.1);
    const rich = [
      '╭───────────── Traceback (most recent call last) ─────────────╮',
      '│ /src/trainer.py:88 in step                                  │',
      '│                                                             │',
      '│    87 │   x = 1                                             │',
      '│ ❱  88 │   loss.backward()                                   │',
      '╰─────────────────────────────────────────────────────────────╯',
      message(''),
    ];
    assert.deepEqual(only(rich.join('\n')).frames, [
      { file: '/src/trainer.py', line: 88, function: 'step', code: 'loss.backward()' },
    ]);
  });

  it('is how the run was started, and how its allocator was set', () => {
    const log = readOutOfMemory(
      [
        '+ export PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:128',
        '+ torchrun --nproc_per_node 8 train.py --per_device_train_batch_size 4',
        '[INFO] [runner.py:571:main] cmd = /usr/bin/python3 -u -m deepspeed.launcher.launch --world_info=e30= train.py --deepspeed ds.json',
        message(''),
      ].join('\n'),
    );
    assert.equal(log.allocatorSettings, 'max_split_size_mb:128');
    assert.deepEqual(
      log.commands.map(({ line, text }) => [line, text]),
      [
        [1, 'torchrun --nproc_per_node 8 train.py --per_device_train_batch_size 4'],
        [
          2,
          '/usr/bin/python3 -u -m deepspeed.launcher.launch --world_info=e30= train.py --deepspeed ds.json',
        ],
      ],
    );
  });

  it('repeats no message that a launcher prints once more', () => {
    assert.equal(
      readOutOfMemory([...trace('', 'x.py'), message(''), message('')].join('\n')).found.length,
      1,
    );
  });
});

describe('bad logs', () => {
  it('are read without an error, and nothing is made of noise', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 4000 }), (bytes) => {
        assert.deepEqual(readOutOfMemory(Buffer.from(bytes).toString('latin1')).found, []);
      }),
    );
  });

  it('with figures beyond measure say nothing false', () => {
    const { found } = readOutOfMemory(
      `RuntimeError: CUDA out of memory. Tried to allocate ${'9'.repeat(400)} GiB (GPU 0; 1.00 GiB total capacity)`,
    );
    assert.ok(found.every(({ torch }) => torch === undefined));
  });

  it('that say it a million times keep a few', async () => {
    const lines = Array.from(
      { length: 20_000 },
      (_, i) =>
        `RuntimeError: CUDA out of memory. Tried to allocate ${2 * i + 2}.00 MiB (GPU 0; 1.00 GiB total capacity; 1.00 GiB already allocated; 0 bytes free; 1.00 GiB cached)`,
    );
    const took = await processorMs(() => {
      const log = readOutOfMemory(lines.join('\n'));
      assert.equal(log.found.length + log.more, 20_000);
      assert.ok(log.found.length <= 64);
    });
    assert.ok(took < 10_000, `${took} ms`);
  });

  it('of one endless line end', async () => {
    const took = await processorMs(() => {
      assert.deepEqual(readOutOfMemory('File "'.repeat(500_000)).found, []);
      assert.deepEqual(readOutOfMemory(`python ${'-u '.repeat(300_000)}`).found, []);
    });
    assert.ok(took < 10_000, `${took} ms`);
  });
});
