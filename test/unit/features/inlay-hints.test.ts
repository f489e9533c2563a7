import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { atLineEnds, inlayHints, LABEL_ROOM, type Shown } from '../../../server/src/features/inlay-hints';
import { shareBar } from '../../../server/src/features/share-bar';
import { speakLanguage } from '../../../server/src/wording/language';
import { Workspace } from '../../../server/src/workspace/analyze';
import { MemoryHost } from '../../../server/src/workspace/memory-host';

const ROOT = 'file:///repo';
const PROJECT = `targets: { gpu: H100-SXM5-80GB, gpus: 8 }
defaults: { model: meta-llama/Llama-3.1-8B, sequence: 4096 }
`;
const DEEPSPEED = `{
  "train_micro_batch_size_per_gpu": 4,
  "bf16": { "enabled": true },
  "optimizer": { "type": "AdamW", "params": { "lr": 1e-5 } },
  "zero_optimization": {
    "stage": 3,
    "reduce_bucket_size": 200000000
  }
}
`;

async function analyzed(name: string, text: string, project = PROJECT) {
  const files = { [`${ROOT}/${name}`]: text, [`${ROOT}/oomlint.yaml`]: project };
  const analysis = await new Workspace(new MemoryHost(files, { folders: [ROOT] })).analyze(`${ROOT}/${name}`);
  assert.ok(analysis);
  return analysis;
}

/** Lines of the text with their hints in brackets. */
async function drawn(name: string, text: string, shown: Shown, project?: string): Promise<string[]> {
  const hints = inlayHints(await analyzed(name, text, project), shown);
  const lines = text.split('\n');
  return hints.map(({ position: { line, character }, label }) => {
    const written = lines[line] ?? '';
    return `${written.slice(0, character)}[${label}]${written.slice(character)}`.trim();
  });
}

describe('inlay hints', () => {
  it('stand behind the values of the few keys that weigh most', async () => {
    const lines = await drawn('ds.json', DEEPSPEED, 'heaviest');
    assert.match(lines.join('\n'), /^"train_micro_batch_size_per_gpu": 4\[ [█-▏]+ [a-z ]+ [\d.]+ GiB\],$/mu);
    assert.match(lines.join('\n'), /^"stage": 3\[.* [\d.]+ GiB\],$/m);
    assert.ok(lines.length <= 4, lines.join('\n'));
  });

  it('leave out keys without weight', async () => {
    const all = await drawn('ds.json', DEEPSPEED, 'all');
    const few = await drawn('ds.json', DEEPSPEED, 'heaviest');
    assert.ok(few.every((line) => all.includes(line)));
    assert.ok(all.length > few.length, [...all, '--', ...few].join('\n'));
    assert.ok(!all.some((line) => line.includes('1e-5[')), all.join('\n'));
  });

  it('say what the parts of the estimate say', async () => {
    const analysis = await analyzed('ds.json', DEEPSPEED);
    const bucket = inlayHints(analysis, 'all').find(({ fields }) => fields.includes('zero.reduceBucket'));
    assert.match(bucket?.label ?? '', /^ ▏ communication buffers [\d.]+ [GM]iB$/u);
    const stage = inlayHints(analysis, 'all').find(({ fields }) => fields.includes('zero.stage'));
    assert.match(stage?.label ?? '', /^ [█-▏]+ model states.* GiB$/u);
  });

  it('begin with a bar of their share of the memory of a GPU, to an eighth of a character', async () => {
    assert.deepEqual(
      [0.001, 1 / 32, 0.25, 0.36, 0.5, 31 / 32, 1, 2.5].map((share) => shareBar(share * 80e9, 80e9)),
      ['▏', '▏', '█', '█▌', '██', '███▉', '████', '████'],
    );
    const analysis = await analyzed('ds.json', DEEPSPEED);
    const capacity = analysis.estimate?.capacityBytes ?? assert.fail();
    for (const { label, words } of inlayHints(analysis, 'all')) {
      if (words.onGpu && label.length > LABEL_ROOM - 6) continue;
      assert.equal(/^ [█-▏]+ /u.test(label), words.onGpu, label);
      if (words.onGpu) assert.ok(label.startsWith(` ${shareBar(words.bytes, capacity)} `), label);
    }
  });

  it('are drawn at the ends of lines, and name their keys where a line holds several', async () => {
    const hints = atLineEnds(inlayHints(await analyzed('ds.json', DEEPSPEED), 'heaviest'), DEEPSPEED);
    const lines = DEEPSPEED.split('\n');
    for (const { position } of hints) assert.equal(position.character, lines[position.line]?.length);
    const flat = DEEPSPEED.replace(/\n\s*/g, ' ');
    const shared = atLineEnds(inlayHints(await analyzed('ds.json', flat), 'heaviest'), flat);
    // As many as the editor draws of a line, the largest first; each names its key.
    const [heaviest] = [...hints].sort((a, b) => b.words.bytes - a.words.bytes);
    assert.ok(heaviest && shared.length > 0 && shared.length < hints.length);
    assert.ok(shared[0]?.label.startsWith(`${heaviest.key}: `), shared[0]?.label);
  });

  it('can be switched off, and say nothing before there is an estimate', async () => {
    assert.deepEqual(await drawn('ds.json', DEEPSPEED, 'off'), []);
    assert.deepEqual(await drawn('ds.json', DEEPSPEED, 'all', 'targets: { gpus: 8 }\n'), []);
  });

  it('stand behind the colon of a value of several lines', async () => {
    const text = `run:
  model.id: Qwen/Qwen2.5-0.5B
  hardware.gpu: H100
  hardware.gpus: 1
  batch.micro: 1
  batch.sequence: 512
  method.kind: lora
  lora.rank: 8
  lora.targets:
    - q_proj
    - v_proj
`;
    const lines = await drawn('a.oomlint.yaml', text, 'all', '');
    assert.ok(
      lines.some((line) => /^lora\.targets:\[.+\]$/.test(line)),
      lines.join('\n'),
    );
  });

  it('name host memory where the key moves its cost there', async () => {
    const text = DEEPSPEED.replace('"stage": 3', '"stage": 3, "offload_optimizer": { "device": "cpu" }');
    const lines = await drawn('ds.json', text, 'all');
    assert.ok(
      lines.some((line) => /"device": "cpu"\[.*GiB.*\]/.test(line)),
      lines.join('\n'),
    );
  });

  describe('lose no figure where VS Code cuts the hints of a line', () => {
    afterEach(() => speakLanguage(undefined));
    const configs = ['examples', 'test/fixtures/configs'].flatMap((folder) =>
      readdirSync(folder)
        .filter((name) => /\.(json|ya?ml|toml|sh)$/.test(name) && name !== 'oomlint.yaml')
        .map((name) => ({ name, text: readFileSync(path.join(folder, name), 'utf8') })),
    );
    for (const language of ['en', 'ru']) {
      it(`in every config at hand, whether its lines stand or are joined (${language})`, async () => {
        await speakLanguage(language);
        let looked = 0;
        for (const { name, text } of configs) {
          const joined = name.endsWith('.json') ? [text.replace(/\s*\n\s*/g, ' ')] : [];
          for (const written of [text, ...joined]) {
            const drawn = atLineEnds(inlayHints(await analyzed(name, written), 'all'), written);
            const byLine = new Map<number, number>();
            for (const { label, words, position } of drawn) {
              assert.ok(label.endsWith(words.figure), `${name}: ${label}`);
              byLine.set(position.line, (byLine.get(position.line) ?? 0) + label.length);
            }
            for (const [line, length] of byLine) assert.ok(length <= LABEL_ROOM, `${name}:${line + 1}`);
            looked += drawn.length;
          }
        }
        assert.ok(looked > 40, String(looked));
      });
    }
  });
});
