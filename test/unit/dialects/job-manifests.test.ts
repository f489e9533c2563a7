import assert from 'node:assert/strict';
import fc from 'fast-check';
import { setShell } from '../../../server/src/advice/write/set-shell';
import { parseConfig } from '../../../server/src/config/parse';
import { mightBeTrainingConfig } from '../../../server/src/dialects/registry';
import { Workspace } from '../../../server/src/workspace/analyze';
import { MemoryHost } from '../../../server/src/workspace/memory-host';

const URI = 'file:///w/job.yaml';
const RUN =
  'run_clm.py --model_name_or_path meta-llama/Llama-3.1-8B --per_device_train_batch_size 2 --block_size 1024 --do_train --output_dir o';

async function analyzed(text: string, files: Record<string, string> = {}, uri = URI) {
  const analysis = await new Workspace(new MemoryHost({ ...files, [URI]: text })).analyze(uri);
  assert.ok(analysis);
  return analysis;
}

const valuesOf = async (text: string, files?: Record<string, string>, uri?: string) =>
  (await analyzed(text, files, uri)).resolved.values;

const sky = (resources: string, run: string, more = '') =>
  `resources:\n  ${resources}\n${more}run: |\n  cd code\n  ${run}\n`;

const pod = (resources: string, command: string, more = '') => [
  'containers:',
  '- name: train',
  '  image: nvcr.io/nvidia/pytorch:24.10-py3',
  `  ${command}`,
  `  resources: {limits: {${resources}}}`,
  ...(more === '' ? [] : [more]),
];

const below = (indent: number, lines: readonly string[]) =>
  lines.map((line) => `${' '.repeat(indent)}${line}`).join('\n');

const job = (spec: readonly string[]) =>
  `apiVersion: batch/v1\nkind: Job\nmetadata: {name: j}\nspec:\n  template:\n    spec:\n${below(6, spec)}\n`;

describe('tasks of SkyPilot', () => {
  for (const [accelerators, gpu, gpus] of [
    ['H100:8', 'H100-SXM5-80GB', 8],
    ['{A100-80GB: 4}', 'A100-SXM4-80GB', 4],
    ['A100:2', 'A100-SXM4-40GB', 2],
    ['L4', 'L4', 1],
    ['[A100:8, H100:8]', undefined, 8],
    ['[L4:1, L4:4]', 'L4', undefined],
  ] as const)
    it(`start a launch on ${accelerators}`, async () => {
      const values = await valuesOf(sky(`accelerators: ${accelerators}`, `deepspeed ${RUN}`));
      assert.equal(values['model.id'], 'meta-llama/Llama-3.1-8B');
      assert.equal(values['hardware.gpu'], gpu);
      assert.equal(values['hardware.gpus'], gpus);
    });

  it('know how many addresses of machines there are', async () => {
    const run = `torchrun --nnodes=$NODES --nproc_per_node=$SKYPILOT_NUM_GPUS_PER_NODE ${RUN}`;
    const count = 'NODES=$(echo "$SKYPILOT_NODE_IPS" | wc -l)';
    const { unread, resolved } = await analyzed(
      sky('accelerators: H100:8', `${count}\n  ${run}`, 'num_nodes: 2\n'),
    );
    assert.equal(resolved.values['hardware.gpus'], 16);
    assert.deepEqual(unread ?? [], []);
  });

  it('know their own variables, and those of envs', async () => {
    const text = sky(
      'accelerators: H100:8',
      `torchrun --nnodes=$SKYPILOT_NUM_NODES --nproc_per_node=$SKYPILOT_NUM_GPUS_PER_NODE ${RUN} --per_device_train_batch_size $MICRO`,
      'num_nodes: 2\nenvs:\n  MICRO: 4\n  TOKEN:\n',
    );
    const { resolved } = await analyzed(text);
    assert.equal(resolved.values['hardware.gpus'], 16);
    assert.equal(resolved.values['hardware.nodes'], 2);
    assert.equal(resolved.values['batch.micro'], 4);
  });

  it('have each value at its place in the file', async () => {
    const text = sky('accelerators: H100:8', `torchrun --nproc_per_node 8 ${RUN}`);
    const { resolved } = await analyzed(text);
    const at = resolved.origins['batch.micro']?.location?.range;
    assert.equal(at && text.split('\n')[at.start.line]?.slice(at.start.character, at.end.character), '2');
    const card = resolved.origins['hardware.gpu'];
    assert.equal(card?.location?.range.start.line, 1);
    assert.match(card?.note ?? '', /SkyPilot/);
  });

  it('give their machines to a config and to a script that they start', async () => {
    const config = 'file:///w/sft.yaml';
    const recipe = 'model_name_or_path: Qwen/Qwen3-4B\nper_device_train_batch_size: 2\nmax_length: 1024\n';
    const started = sky('accelerators: L40S:2', 'accelerate launch sft.py --config sft.yaml').replace(
      '  cd code\n',
      '',
    );
    const files = {
      [config]: recipe,
      'file:///w/sft.py': 'from trl import SFTTrainer, SFTConfig, TrlParser\n',
    };
    const values = await valuesOf(started, files, config);
    assert.equal(values['hardware.gpu'], 'L40S');
    assert.equal(values['hardware.gpus'], 2);
  });
});

describe('jobs of Kubernetes', () => {
  const words = (text: string) =>
    `command: [${text
      .split(' ')
      .map((word) => `"${word}"`)
      .join(', ')}]`;

  it('start words or a script, on the GPUs of a pod', async () => {
    for (const command of [
      words(`torchrun --nproc_per_node 8 ${RUN}`),
      `command: ["/bin/bash", "-c", "torchrun --nproc_per_node 8 ${RUN}"]`,
      `command: ["bash", "-lc"]\n        args:\n        - |\n          torchrun --nproc_per_node 8 \\\n            ${RUN}`,
      `args: ["deepspeed", ${RUN.split(' ')
        .map((word) => `"${word}"`)
        .join(', ')}]`,
    ]) {
      const values = await valuesOf(job(pod('nvidia.com/gpu: 8', command)));
      assert.equal(values['hardware.gpus'], 8, command);
      assert.equal(values['batch.micro'], 2, command);
      assert.match(String(values['version.torch']), /^2\.5/, command);
    }
  });

  it('name the GPU by labels of their nodes', async () => {
    const command = words(`deepspeed ${RUN}`);
    for (const [label, gpu] of [
      ['cloud.google.com/gke-accelerator: nvidia-h100-mega-80gb', 'H100-SXM5-80GB'],
      ['cloud.google.com/gke-accelerator: nvidia-tesla-a100', 'A100-SXM4-40GB'],
      ['nvidia.com/gpu.product: NVIDIA-A100-SXM4-80GB', 'A100-SXM4-80GB'],
      ['node.kubernetes.io/instance-type: p4d.24xlarge', 'A100-SXM4-40GB'],
    ] as const) {
      const values = await valuesOf(job(pod('nvidia.com/gpu: 8', command, `nodeSelector: {${label}}`)));
      assert.equal(values['hardware.gpu'], gpu, label);
    }
  });

  it('run a script with the words after it, as a shell does', async () => {
    const given = RUN.split(' ').map((word) => `"${word}"`);
    for (const command of [
      `command: ["sh", "-c", 'exec "$@"', "--"]\n        args: ["torchrun", "--nproc_per_node", "8", ${given.join(', ')}]`,
      `command: ["/bin/bash", "-c", 'cd code && torchrun --nproc_per_node $1 "\${@:2}"', "train", "8", ${given.join(', ')}]`,
      `command: ["/bin/bash", "-c", 'torchrun --nproc_per_node $0 "$@"', "8", ${given.join(', ')}]`,
    ]) {
      const values = await valuesOf(job(pod('nvidia.com/gpu: 8', command)));
      assert.equal(values['hardware.gpus'], 8, command);
      assert.equal(values['model.id'], 'meta-llama/Llama-3.1-8B', command);
      assert.equal(values['batch.micro'], 2, command);
    }
  });

  it('name the GPU by the resource that they ask for, and by labels of other clusters', async () => {
    const command = words(`deepspeed ${RUN}`);
    for (const [resource, label, gpu] of [
      ['nvidia.com/a40: 2', '', 'A40'],
      ['nvidia.com/rtxa6000: 2', '', 'RTX A6000'],
      ['nvidia.com/gpu: 2', 'karpenter.k8s.aws/instance-gpu-name: l40s', 'L40S'],
      ['nvidia.com/gpu: 2', 'eks.amazonaws.com/instance-gpu-name: l4', 'L4'],
    ] as const) {
      const text = job(pod(resource, command, label === '' ? '' : `nodeSelector: {${label}}`));
      const values = await valuesOf(text);
      assert.equal(values['hardware.gpu'], gpu, resource + label);
      assert.equal(values['hardware.gpus'], 2, resource + label);
    }
    // Cards of one name with several sizes of memory, and what is no card.
    const { unread } = await analyzed(job(pod('nvidia.com/a100: 2', command)));
    assert.ok(unread?.some(({ message }) => /several sizes/.test(message)));
    assert.equal((await valuesOf(job(pod('nvidia.com/hostdev: 8', command))))['hardware.gpus'], undefined);
  });

  it('have no memory that is known on a GPU that pods take turns on', async () => {
    const command = `command: [bash, -c, "torchrun --nproc_per_node 1 ${RUN}"]`;
    for (const [resources, more] of [
      ['nvidia.com/gpu.shared: 1'],
      ['nvidia.com/mig-1g.10gb.shared: 1'],
      ['nvidia.com/gpu: 1', 'nodeSelector: {nvidia.com/gpu.product: NVIDIA-A100-SXM4-80GB-SHARED}'],
      ['nvidia.com/gpu: 1', 'nodeSelector: {cloud.google.com/gke-gpu-sharing-strategy: time-sharing}'],
    ] as const) {
      const { resolved, unread } = await analyzed(job(pod(resources, command, more)));
      assert.equal(resolved.values['hardware.gpuMemory'], undefined, resources);
      assert.equal(resolved.values['hardware.gpu'], undefined, resources);
      assert.ok(
        unread?.some(({ fields }) => fields?.includes('hardware.gpuMemory')),
        resources,
      );
    }
  });

  it('have the memory of a slice, which is no whole GPU', async () => {
    const command = words(`python ${RUN}`);
    const product = 'nvidia.com/gpu.product: NVIDIA-A100-SXM4-80GB-MIG-3g.40gb';
    for (const text of [
      job(pod('nvidia.com/mig-3g.40gb: 1', command)),
      job(
        pod(
          'nvidia.com/mig-3g.40gb: 1',
          command,
          'nodeSelector: {nvidia.com/gpu.product: NVIDIA-A100-SXM4-80GB}',
        ),
      ),
      job(pod('nvidia.com/gpu: 1', command, `nodeSelector: {${product}}`)),
    ]) {
      const { resolved, estimate } = await analyzed(text);
      assert.equal(resolved.values['hardware.gpuMemory'], 39.25 * 2 ** 30);
      assert.match(String(resolved.values['hardware.gpu']), /^GPU with/);
      assert.equal(resolved.values['hardware.gpus'], 1);
      assert.equal(estimate?.capacityBytes, 39.25 * 2 ** 30);
    }
    // A process sees one of several, and a slice that no list has states nothing.
    const several = await analyzed(job(pod('nvidia.com/mig-1g.10gb: 2', command)));
    assert.equal(several.resolved.values['hardware.gpus'], 1);
    assert.ok(several.unread?.some(({ message }) => /slices/.test(message)));
    const unknown = await valuesOf(job(pod('nvidia.com/mig-9g.99gb: 1', command)));
    assert.equal(unknown['hardware.gpuMemory'], undefined);
  });

  it('count the replicas of all that do the same, and no others', async () => {
    const replicas = (name: string, count: number, command: string) =>
      below(4, [`${name}:`, `  replicas: ${count}`, '  template:', '    spec:']) +
      `\n${below(10, pod('nvidia.com/gpu: 8', command))}\n`;
    const several = (worker: string) =>
      `apiVersion: v1\nkind: Service\n---\napiVersion: kubeflow.org/v1\nkind: PyTorchJob\nspec:\n  pytorchReplicaSpecs:\n${replicas('Master', 1, words(`accelerate launch ${RUN}`))}${replicas('Worker', 3, worker)}`;
    const values = await valuesOf(several(words(`accelerate launch ${RUN}`)));
    assert.equal(values['hardware.nodes'], 4);
    assert.equal(values['hardware.gpus'], 32);
    assert.equal(parseConfig(URI, several(words('sleep inf'))).manifest, undefined);
  });

  it('fill in what Kubernetes does, and leave what comes from elsewhere', async () => {
    const env = 'env: [{name: MICRO, value: "4"}, {name: KEY, valueFrom: {secretKeyRef: {name: a, key: b}}}]';
    const text = job(
      pod(
        'nvidia.com/gpu: 1',
        `${words(`python ${RUN} --per_device_train_batch_size $(MICRO) --learning_rate $(KEY)`)}\n        ${env}`,
      ),
    );
    assert.equal((await valuesOf(text))['batch.micro'], 4);
  });

  it('are none where they serve, or leave the command to their image', () => {
    const text = job(pod('nvidia.com/gpu: 1', words(`python ${RUN}`)));
    assert.equal(parseConfig(URI, text.replace('kind: Job', 'kind: Deployment')).format, 'yaml');
    assert.equal(parseConfig(URI, job(pod('nvidia.com/gpu: 1', 'tty: true'))).format, 'yaml');
  });
});

describe('tasks of dstack', () => {
  for (const [gpu, card, gpus] of [
    ['H100:8', 'H100-SXM5-80GB', 8],
    ['A100:80GB:4', 'A100-SXM4-80GB', 4],
    ['24GB:2', undefined, 2],
    ['{name: L4, count: 4}', 'L4', 4],
    ['H100:1..8', 'H100-SXM5-80GB', undefined],
  ] as const)
    it(`start a launch on ${gpu}`, async () => {
      const text = `type: task\nenv:\n- MICRO=4\n- HF_TOKEN\ncommands:\n- pip install trl==0.19.0\n- accelerate launch ${RUN} --per_device_train_batch_size $MICRO\nresources:\n  gpu: ${gpu}\n`;
      const values = await valuesOf(text);
      assert.equal(values['hardware.gpu'], card);
      assert.equal(values['hardware.gpus'], gpus);
      assert.equal(values['batch.micro'], 4);
      assert.equal(values['version.trl'], '0.19.0');
    });
});

describe('packages that commands of a manifest install', () => {
  const script = (metadata: string) =>
    `${metadata}from transformers import AutoModelForCausalLM
from trl import GRPOConfig, GRPOTrainer
model = AutoModelForCausalLM.from_pretrained("gpt2")
GRPOTrainer(model, args=GRPOConfig(use_vllm=True, per_device_train_batch_size=1)).train()
`;
  const metadata = '# /// script\n# dependencies = ["trl==1.7.0", "vllm"]\n# ///\n';
  const wheel = 'https://example.org/v0.10.2/vllm-0.10.2+cu129-cp38-abi3-manylinux_2_28_x86_64.whl';
  const task = (install: string) =>
    `type: task\ncommands:\n- uv pip install --torch-backend=cu129\n    ${install}\n- python train.py\nresources:\n  gpu: H100:1\n`;

  for (const install of ['vllm==0.10.2', `"vllm @ ${wheel}"`, wheel])
    it(`are folded lines, and wheels by their address, before what a script's metadata allow: ${install}`, async () => {
      for (const written of ['', metadata]) {
        const values = await valuesOf(task(install), { 'file:///w/train.py': script(written) });
        assert.equal(values['version.torch'], '2.8.0', written);
      }
    });
});

describe('manifests', () => {
  it('are looked into for what they start, and are no launch where they start no training', async () => {
    const text = sky('accelerators: H100:8', `torchrun --nproc_per_node 8 ${RUN}`);
    assert.ok(mightBeTrainingConfig(text, 'job.yaml'));
    const serving = sky('accelerators: H100:8', 'vllm serve meta-llama/Llama-3.1-8B');
    assert.equal(await new Workspace(new MemoryHost({ [URI]: serving })).analyze(URI), undefined);
  });

  it('have the flags of their commands changed, and others added where these are lines of a script', () => {
    const path = (flag: string) => ['commands', '[1]', 'arguments', flag];
    const task = sky(
      'accelerators: H100:8',
      `torchrun --nproc_per_node 8 \\\n    ${RUN.replace(' --block', ' \\\n    --block')}`,
    );
    const micro = setShell(task, path('per_device_train_batch_size'), 1);
    assert.equal(micro, task.replace('batch_size 2', 'batch_size 1'));
    const more = setShell(task, path('gradient_checkpointing'), true);
    assert.ok(
      more?.includes('--output_dir o --gradient_checkpointing\n') ||
        more?.includes('\\\n    --gradient_checkpointing'),
      more,
    );
    const listed = job(
      pod(
        'nvidia.com/gpu: 8',
        `command:\n${RUN.split(' ')
          .map((word) => `        - "${word}"`)
          .join('\n')
          .replace('- "run', '- python\n        - "run')}`,
      ),
    );
    const inList = (flag: string) => ['commands', '[0]', 'arguments', flag];
    assert.equal(
      setShell(listed, inList('per_device_train_batch_size'), 1),
      listed.replace('- "2"', '- "1"'),
    );
    assert.equal(setShell(listed, inList('gradient_checkpointing'), true), undefined);
  });

  it('never throw, whatever they hold', () => {
    const words = [
      'run:',
      'resources:',
      '  accelerators: H100:8',
      '  accelerators:',
      'commands:',
      '- a',
      'type: task',
      'apiVersion: v1',
      'kind: Job',
      'spec:',
      '  template:',
      '    spec:',
      '      containers:',
      '      - args: ["-c"]',
      '        command: [bash]',
      '  x: |',
      '    torchrun a.py',
      '---',
      'envs: {A: 1}',
      'run: >-',
      '  a b',
      "env: ['A=1']",
      '  parallelism: x',
    ];
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...words), { maxLength: 16 }), (lines) => {
        parseConfig(URI, `${lines.join('\n')}\n`);
      }),
      { numRuns: 300 },
    );
  });
});

describe('one process on several GPUs', () => {
  it('has no verdict: what it makes of them is not known', async () => {
    for (const [text, isLeft] of [
      [sky('accelerators: L4:4', `python ${RUN}`), true],
      [sky('accelerators: L4:1', `CUDA_VISIBLE_DEVICES=0,1 python ${RUN}`), true],
      [sky('accelerators: L4:1', `python ${RUN}`), false],
      [sky('accelerators: L4:4', `CUDA_VISIBLE_DEVICES=0 python ${RUN}`), false],
      [sky('accelerators: L4:4', `torchrun --nproc_per_node 4 ${RUN}`), false],
    ] as const) {
      const { resolved, estimate } = await analyzed(text);
      assert.equal(estimate === undefined, isLeft, text);
      assert.equal(resolved.values['hardware.nodes'], 1);
    }
  });

  it('runs on its own machine alone', async () => {
    const text = sky('accelerators: L4:1', `python ${RUN}`, 'num_nodes: 4\n');
    const values = await valuesOf(text);
    assert.equal(values['hardware.nodes'], 1);
    assert.equal(values['hardware.gpus'], 1);
  });
});
