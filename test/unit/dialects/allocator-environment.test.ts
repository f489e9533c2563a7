import assert from 'node:assert/strict';
import { parseConfig } from '../../../server/src/config/parse';
import { loadPython } from '../../../server/src/config/python/grammar';
import { pythonRun } from '../../../server/src/dialects/python/python-run';
import { read, stated } from './reading';

/** The settings of PyTorch's allocator, and whether its segments grow (`c10/core/AllocatorConfig.cpp`, `parseArgs`). */
const SETTINGS: readonly (readonly [settings: string, grows: string | undefined])[] = [
  ['expandable_segments:True', 'true file'],
  ['expandable_segments:False', 'false file'],
  ['max_split_size_mb:512, expandable_segments : True', 'true file'],
  ['expandable_segments:True,expandable_segments:False', 'false file'],
  ['backend:cudaMallocAsync,expandable_segments:True', 'false file'],
  ['backend:native,expandable_segments:True', 'true file'],
  ['max_split_size_mb:512', undefined],
];

describe("settings of PyTorch's allocator", () => {
  before(loadPython);

  for (const [settings, grows] of SETTINGS) {
    it(`are read the same in a script and in Python: ${settings}`, () => {
      const launch = `PYTORCH_CUDA_ALLOC_CONF="${settings}" torchrun --nproc_per_node 8 train.py --model_name_or_path m --per_device_train_batch_size 2 --max_seq_length 1024 --output_dir o`;
      assert.equal(
        stated(read('launch-script', 'file:///w/run.sh', launch), 'allocator.expandableSegments'),
        grows,
      );
      const text = `import os
os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "${settings}"
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
model = AutoModelForCausalLM.from_pretrained("gpt2")
Trainer(model=model, args=TrainingArguments(output_dir="o")).train()
`;
      const reading = pythonRun.read(parseConfig('file:///w/train.py', text), { known: {} });
      assert.equal(stated(reading, 'allocator.expandableSegments'), grows, 'Python');
    });
  }

  const launched = (settings: string, more = '') =>
    read(
      'launch-script',
      'file:///w/run.sh',
      `${more}export PYTORCH_CUDA_ALLOC_CONF="${settings}"\ntorchrun --nproc_per_node 8 train.py --model_name_or_path m --per_device_train_batch_size 2 --max_seq_length 1024 --output_dir o`,
    );
  const refusals = (settings: string) =>
    launched(settings)
      .problems.filter(({ code }) => code === 'allocator-settings')
      .map(({ severity, message }) => `${severity}: ${message}`);

  it('hold the size from which on blocks are not split, in bytes', () => {
    assert.equal(stated(launched('max_split_size_mb:128'), 'allocator.maxSplit'), '134217728 file');
    assert.equal(
      stated(launched('backend:cudaMallocAsync,max_split_size_mb:128'), 'allocator.maxSplit'),
      undefined,
    );
  });

  it('state the fewest parts that requests are rounded up by', () => {
    const parts = (settings: string) => stated(launched(settings), 'allocator.roundup');
    assert.equal(parts('roundup_power2_divisions:4'), '4 file');
    assert.equal(parts('roundup_power2_divisions:[256:1,512:2,1024:4,>:8]'), '2 file');
    for (const settings of [
      'roundup_power2_divisions:1',
      'roundup_power2_divisions:[256:1,>:0]',
      'backend:native',
    ])
      assert.equal(parts(settings), undefined, settings);
  });

  it('count what changes the segments or the share of the card in another way', () => {
    const left = (settings: string) =>
      (launched(settings).unread ?? []).map(({ text }) => text).filter((text) => text !== 'train.py');
    assert.deepEqual(left('expandable_segments:True,large_segment_size_mb:12'), ['large_segment_size_mb:12']);
    assert.deepEqual(left('per_process_memory_fraction:0.5'), ['per_process_memory_fraction:0.5']);
    assert.deepEqual(left('per_process_memory_fraction:1.0,garbage_collection_threshold:0.8'), []);
  });

  it('are refused where no release takes them', () => {
    const stops = "error: PyTorch's allocator stops on";
    assert.deepEqual(refusals('expandable_segments:true'), [
      `${stops} \`expandable_segments:true\`: it takes \`True\` or \`False\`.`,
    ]);
    assert.deepEqual(refusals('max_split_size_mb:16'), [
      `${stops} \`max_split_size_mb:16\`: it takes a whole number from 20.`,
    ]);
    assert.deepEqual(refusals('garbage_collection_threshold:80'), [
      `${stops} \`garbage_collection_threshold:80\`: it takes a number between 0 and 1.`,
    ]);
    assert.deepEqual(refusals('roundup_power2_divisions:[256:3,>:1]'), [
      `${stops} \`roundup_power2_divisions:[256:3,>:1]\`: it takes powers of two.`,
    ]);
    for (const settings of [
      'large_segment_size_mb:12,max_split_size_mb:16',
      'expandable_segments : True, garbage_collection_threshold:0.8, max_split_size_mb:512',
      'backend:native,pinned_use_cuda_host_register:True,pinned_num_register_threads:8',
      'roundup_power2_divisions:[64:8,128:2,256:4,512:2,1024:4,>:1],expandable_segments:False',
      'roundup_bypass_threshold_mb:256,roundup_power2_divisions:4,',
      '$MY_SETTINGS',
      'max_split_size_mb:$SIZE',
      '',
    ])
      assert.deepEqual(refusals(settings), [], settings);
  });

  it('are no errors where a branch that is not settled sets them', () => {
    const flags =
      '--model_name_or_path m --per_device_train_batch_size 2 --max_seq_length 1024 --output_dir o';
    const codes = (set: string) =>
      read(
        'launch-script',
        'file:///w/run.sh',
        `${set}\nexport PYTORCH_CUDA_ALLOC_CONF=$CONF\ntorchrun --nproc_per_node 8 train.py ${flags}`,
      ).problems.map(({ code }) => code);
    assert.ok(codes('CONF=expandable_segments:true').includes('allocator-settings'));
    const branch = 'if some_probe; then CONF=expandable_segments:true; fi';
    assert.ok(!codes(branch).includes('allocator-settings'));
  });

  it('of a name that was not read are a warning where the release is not known', () => {
    assert.match(
      refusals('expandable_segment:True').join(),
      /^warning: `expandable_segment` is no setting .*PyTorch/,
    );
  });

  it('are those of the first variable that is set', () => {
    const both = launched(
      'expandable_segments:False',
      'export PYTORCH_ALLOC_CONF=expandable_segments:True\n',
    );
    assert.equal(stated(both, 'allocator.expandableSegments'), 'true file');
  });
});
