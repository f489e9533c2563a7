import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { estimate } from '../../server/src/estimate';
import { detailOf } from '../../server/src/explanation/detail';
import { OF_WEIGHTS } from '../../server/src/explanation/memory-tree';
import { WEIGHT_KINDS } from '../../server/src/explanation/weight-kind';
import { openedOf } from '../../server/src/features/breakdown';
import { OPERATOR_WORDS } from '../../server/src/memory/step';
import type { DetailNode } from '../../server/src/results/detail-node';
import { figureCalled } from '../../server/src/results/detail-words';
import { CATEGORY_LABELS } from '../../server/src/results/labels';
import type { RunValues } from '../../server/src/run/fields';
import { speakLanguage } from '../../server/src/wording/language';
import { Workspace } from '../../server/src/workspace/analyze';
import { DiskHost } from '../../server/src/workspace/disk-host';
import { aModel, aRun, CARD, SMALL_LLAMA } from './memory/a-run';
import { mayWait } from './translations';

type Texts = Readonly<Record<string, string>>;

const read = (file: string): Texts => JSON.parse(readFileSync(file, 'utf8'));
const DETAILS = read('l10n/details.ru.json');
const MESSAGES = { ...read('l10n/messages.ru.json'), ...read('l10n/bundle.l10n.ru.json') };

/** Texts of a folder of the server: first arguments of what translates them. */
function textsIn(folder: string, call: RegExp): string[] {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .flatMap((entry) => [...readFileSync(path.join(entry.parentPath, entry.name), 'utf8').matchAll(call)])
    .map(([, literal = '']) => literal.slice(1, -1).replace(/\\(.)/g, '$1'));
}

const LITERAL = `\\s*('(?:[^'\\\\]|\\\\.)*'|"(?:[^"\\\\]|\\\\.)*")`;
/** Functions of the opened figures translate their first argument; parts of host memory are translated where they are shown. */
const OF_FIGURES = [
  ...['server/src/memory', 'server/src/explanation'].flatMap((folder) =>
    textsIn(folder, new RegExp(`\\b(?:say|named|group|byKind|ranged)\\(${LITERAL}`, 'g')),
  ),
  ...textsIn('server/src/memory', new RegExp(`\\blabel:${LITERAL},?\\s+(?=bytes)`, 'g')),
  ...WEIGHT_KINDS,
  ...Object.values(OF_WEIGHTS),
  ...OPERATOR_WORDS.map(([, words]) => words).filter((words) => words.trim() !== ''),
];

describe('the Russian of the figures', () => {
  it('covers every text about them', () => {
    assert.ok(OF_FIGURES.length > 150, `only ${OF_FIGURES.length} texts were found`);
    mayWait(
      OF_FIGURES.filter((text) => !(DETAILS[text] ?? MESSAGES[text])),
      'not in l10n/details.ru.json',
    );
  });

  it('covers nothing else', () => {
    const texts = new Set([
      ...OF_FIGURES,
      ...textsIn('server/src', new RegExp(`\\b(?:say|named)\\(${LITERAL}`, 'g')),
    ]);
    assert.deepEqual(
      Object.keys(DETAILS).filter((text) => !texts.has(text)),
      [],
    );
  });
});

const RUNS: readonly RunValues[] = [
  {},
  { 'activations.checkpointing': 'full', 'parallel.data': 'ddp', 'hardware.gpus': 8 },
  ...[1, 2, 3].map(
    (stage): RunValues => ({
      'parallel.data': 'zero',
      'zero.stage': stage,
      'precision.scheme': 'deepspeed',
      'precision.compute': 'bf16',
      'hardware.gpus': 8,
      'batch.accumulation': 4,
      'offload.optimizer': stage === 2 ? 'cpu' : 'none',
    }),
  ),
  ...(['fsdp1', 'fsdp2'] as const).map(
    (data): RunValues => ({
      'parallel.data': data,
      'precision.scheme': 'fsdp',
      'precision.compute': 'bf16',
      'hardware.gpus': 8,
      'activations.checkpointing': 'selective',
      'saving.weights': 'full',
    }),
  ),
  { 'parallel.tensor': 2, 'hardware.gpus': 2, 'activations.checkpointing': 'full', 'batch.micro': 2 },
  { 'parallel.pipeline': 4, 'batch.accumulation': 8, 'hardware.gpus': 4 },
  {
    'precision.scheme': 'megatron',
    'precision.compute': 'bf16',
    'hardware.gpus': 8,
    'parallel.tensor': 2,
    'parallel.distributedOptimizer': true,
  },
  { 'method.kind': 'lora', 'quantization.kind': 'nf4', 'precision.compute': 'bf16' },
  {
    'precision.scheme': 'autocast',
    'precision.compute': 'bf16',
    'method.objective': 'dpo',
    'method.referenceModel': true,
  },
  {
    'evaluation.enabled': true,
    'evaluation.batch': 4,
    'evaluation.samples': 64,
    'evaluation.predictions': 'logits',
    'evaluation.generatedTokens': 20,
    'schedule.tokens': 1e9,
  },
];

const INPUT = { model: aModel(SMALL_LLAMA), accelerator: CARD };

/** All that is shown of a figure and below it; titles of sources are cited as they are. */
function textsOf({ name, why, formula, children = [] }: DetailNode): string[] {
  return [name, why ?? '', formula ?? '', ...children.flatMap(textsOf)];
}

/** What the panel shows of a run: the opened memory and figures, the moments, the parts of host memory. */
function shown(values: RunValues): string[] {
  const run = aRun(values);
  const { timeline, parts } = estimate({ ...INPUT, run });
  const last = timeline.length - 1;
  const opened = [undefined, 0, Math.floor(last / 2), last].map((at) => detailOf({ ...INPUT, run }, at));
  return [
    ...opened.flatMap(({ memory }) => textsOf(memory)),
    ...(opened[0]?.figures ?? []).flatMap(textsOf),
    ...timeline.map(({ label }) => label),
    ...parts.map(({ formula }) => formula ?? ''),
  ];
}

/** Words of English grammar, or three plain words in a row: names of operators and weights have neither. */
const ENGLISH =
  /(?:^|\s)(?:the|of|is|are|and|or|that|with|which|from|by|per|its|in|for|as|not|while|between)(?=[\s,;:]|$)|\b[a-z]{3,} [a-z]{3,} [a-z]{3,}\b(?!\.)/;
const NAMES = /\b[a-z]+ layernorm\b|\b(?:self attn|lm head|embed tokens|weight cast)\b/g;

describe('figures in Russian', function () {
  this.timeout(60_000);
  before(() => speakLanguage('ru-RU'));
  after(() => speakLanguage(undefined));

  for (const values of RUNS) {
    it(`have no English sentence: ${JSON.stringify(values)}`, () => {
      const texts = shown(values);
      assert.ok(texts.filter((text) => /[а-яё]/i.test(text)).length > 100);
      mayWait(
        [...new Set(texts)].filter((text) => ENGLISH.test(text.replace(NAMES, ''))),
        `figures of ${JSON.stringify(values)}`,
      );
    });
  }

  it('have none in any example', async () => {
    const workspace = new Workspace(new DiskHost([pathToFileURL(process.cwd() + path.sep).href]));
    let opened = 0;
    for (const name of readdirSync('examples').filter((file) => /(?<!^oomlint)\.(json|yaml)$/.test(file))) {
      const analysis = await workspace.analyze(pathToFileURL(path.resolve('examples', name)).href);
      const found = analysis && openedOf(analysis);
      if (!found) continue;
      opened += 1;
      const texts = [found.memory, ...found.figures].flatMap(textsOf);
      mayWait(
        [...new Set(texts)].filter((text) => ENGLISH.test(text.replace(NAMES, ''))),
        `figures of ${name}`,
      );
    }
    assert.ok(opened >= 5, `${opened} examples were opened`);
  });

  it('are found by their names in either language, and by their ids', () => {
    const { memory, figures } = detailOf({ ...INPUT, run: aRun({}) });
    for (const [english, russian] of [
      ['usable memory', 'Доступная память'],
      ['trained parameters', 'обучаемые параметры'],
      ['FLOPs per step', 'FLOP за шаг'],
    ] as const) {
      const found = figureCalled(english, figures);
      assert.equal(found?.id, english);
      assert.equal(figureCalled(russian, figures), found);
    }
    const parts = memory.children ?? [];
    assert.ok(parts.every(({ id }) => id !== undefined && id in CATEGORY_LABELS));
    assert.equal(parts.find(({ id }) => id === 'weights')?.name, 'веса');
  });

  it('are as many, and the same, as in English', async () => {
    const run = aRun({ 'parallel.data': 'ddp', 'hardware.gpus': 8 });
    const shape = ({ value, children = [] }: DetailNode): unknown => [value, children.map(shape)];
    const russian = shape(detailOf({ ...INPUT, run }).memory);
    await speakLanguage('en');
    assert.deepEqual(shape(detailOf({ ...INPUT, run }).memory), russian);
    await speakLanguage('ru');
  });
});
