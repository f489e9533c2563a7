import assert from 'node:assert/strict';
import { smallWorkspace } from '../workspace/small-workspace';

const FLAGS = 'train.py --model_name_or_path Qwen/Qwen2.5-0.5B --per_device_train_batch_size 2 --bf16';
const FIELDS = ['hardware.gpu', 'hardware.gpus', 'hardware.hostMemory', 'hardware.price'];

async function machineOf(command: string) {
  const { resolved, unread = [] } = await smallWorkspace({ 'run.sh': `${command}\n` }).analyze('run.sh');
  const values: Readonly<Record<string, unknown>> = resolved.values;
  const [gpu, gpus, host, price] = FIELDS.map((field) => values[field]);
  const gib = typeof host === 'number' ? host / 2 ** 30 : host;
  return { machine: [gpu, gpus, gib, price], unread: unread.map(({ kind, text }) => `${kind} ${text}`) };
}

describe('jobs of Hugging Face', () => {
  it('run on the machine that their flavor names', async () => {
    for (const [command, ...machine] of [
      [`hf jobs uv run --flavor a10g-large --timeout 2h ${FLAGS}`, 'A10G', 1, 46, 1.5],
      [`hf jobs uv run --with trl --flavor=h200 --secrets HF_TOKEN ${FLAGS}`, 'H200-SXM-141GB', 1, 256, 5],
      [`hf jobs run --flavor t4-small pytorch/pytorch:2.6.0 python ${FLAGS}`, 'T4', 1, 15, 0.4],
      [`hfjobs run --flavor l4x1 image python ${FLAGS}`, 'L4', 1, 30, 0.8],
      [
        `hf jobs run --flavor a100x4 image torchrun --nproc_per_node 4 ${FLAGS}`,
        'A100-SXM4-80GB',
        4,
        568,
        2.5,
      ],
      // One flag goes before all that the machine has.
      [`hf jobs run --flavor l40sx8 image torchrun --nproc_per_node 2 ${FLAGS}`, 'L40S', 2, 1534, 2.9375],
      [
        `hf jobs run --flavor rtx-pro-6000x2 image accelerate launch ${FLAGS}`,
        'RTX PRO 6000 Blackwell',
        2,
        512,
        2.75,
      ],
    ] as const)
      assert.deepEqual((await machineOf(command)).machine, machine, command);
  });

  it('have one process for several GPUs where nothing starts more', async () => {
    const { machine, unread } = await machineOf(`hf jobs run --flavor l40sx4 image python ${FLAGS}`);
    assert.equal(machine[1], 4);
    assert.ok(
      unread.some((text) => /^value .*flavor$/.test(text)),
      unread.join(', '),
    );
  });

  it('have no GPU that is known where the flavor names none, and a flag of another program is no flavor', async () => {
    for (const command of [
      `hf jobs uv run --flavor cpu-xl ${FLAGS}`,
      `hf jobs uv run --flavor of-tomorrow ${FLAGS}`,
      `brew --flavor a10g-large python ${FLAGS}`,
    ])
      assert.deepEqual((await machineOf(command)).machine.slice(0, 1), [undefined], command);
  });
});
