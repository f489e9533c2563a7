import { entryOf, mapAt } from '../../config/lookup';
import type { ConfigDocument, ConfigNode, MapNode } from '../../config/node';
import { textOf } from '../../config/scalar';
import { onDemand } from '../../memo/on-demand';
import { fileIn, MEGATRON } from '../../sources/repositories';
import { say } from '../../wording/say';
import type { Dialect, KeySpec, ReadContext, Reading } from '../dialect';
import { Draft } from '../draft';
import { scriptPolicy } from '../hf/training-arguments-rules';
import { checkKeys, rejectMisfits } from '../key-check';
import { block, movedRow } from '../key-rows';
import { readAllocatorEnvironment } from '../launch/allocator-environment';
import { MEGATRON_OPTIMIZERS } from '../optimizer-names';
import { Section } from '../section';
import { readMegatronArguments } from './megatron-arguments';
import { MEGATRON_KEYS, MEGATRON_TABLE } from './megatron-keys';
import { checkMegatron } from './megatron-rules';
import { megatronWords } from './megatron-words';
import {
  argumentName,
  argumentNames,
  SpelledSection,
  type WrittenArgument,
  writtenKeys,
} from './spelled-section';

const policy = scriptPolicy('Megatron-LM');
/** Blocks of `--yaml-cfg`. */
const BLOCKS = ['language_model', 'model_parallel'];
const SIZES = ['tensor_model_parallel_size', 'pipeline_model_parallel_size', 'num_layers', 'hidden_size'];

const RECIPES = fileIn(MEGATRON, 'tests/functional_tests/test_cases');
const FILE_KEYS: readonly KeySpec[] = block('', RECIPES, [
  ['MODEL_ARGS', 'object', 'Flags of the training script; `true` is a flag without a value.'],
  [
    'ENV_VARS',
    'object',
    'Environment of the training script.',
    {
      fields: [
        'allocator.expandableSegments',
        'allocator.maxSplit',
        'allocator.roundup',
        'allocator.cublasWorkspace',
      ],
    },
  ],
  ['MODE', 'string', 'What the test does: `pretraining` or `inference`.'],
  ['TEST_TYPE', 'string', 'Kind of the test.'],
  ['LAUNCHER', 'string', 'What starts the processes.'],
  ['METRICS', 'any', 'What the test compares.'],
  ['BEFORE_SCRIPT', 'string', 'Commands that run first.'],
  ['AFTER_SCRIPT', 'string', 'Commands that run last.'],
  ['language_model', 'object', 'Arguments of the model (`--yaml-cfg`).'],
  ['model_parallel', 'object', 'Arguments of parallelism and precision (`--yaml-cfg`).'],
]);

/** Made for the first file that has them: every start loads this family. */
const rows = onDemand((): readonly KeySpec[] => [
  ...FILE_KEYS,
  ...MEGATRON_KEYS,
  ...MEGATRON_KEYS.map((row) => movedRow(`MODEL_ARGS.--${row.path.replaceAll('_', '-')}`, row)),
]);

/** Megatron-LM's arguments in YAML: `MODEL_ARGS` of its functional tests, `--yaml-cfg`, or the flags by name. */
export const megatronYaml: Dialect = {
  id: 'megatron',
  name: 'Megatron-LM',
  released: MEGATRON_TABLE.released,
  optimizers: Object.keys(MEGATRON_OPTIMIZERS),
  words: megatronWords,
  get keys() {
    return rows();
  },
  markers: /^MODEL_ARGS\s*:|\btensor[-_]model[-_]parallel[-_]size\b|^language_model\s*:/m,
  rowAt: ([first = '', second]) => {
    const name = argumentName(BLOCKS.includes(first) || first === 'MODEL_ARGS' ? (second ?? '') : first);
    return MEGATRON_TABLE.find(name);
  },
  detect(root: ConfigNode): number {
    if (root.kind !== 'map') return 0;
    // Functional tests say what they do: `pretraining`, or `inference`, which trains nothing.
    if (/^inference$/i.test(textOf(entryOf(root, 'MODE')?.value) ?? '')) return 0;
    const tests = mapAt(root, 'MODEL_ARGS');
    if (tests) return tests.entries.some(({ key }) => key.startsWith('--')) ? 1 : 0;
    const blocks = BLOCKS.every((name) => entryOf(root, name)?.value.kind === 'map');
    if (blocks) return 1;
    const flat = argumentNames(root);
    const has = (name: string) => entryOf(flat, name) !== undefined;
    // NeMo's `model_config.yaml`, which it stores beside weights and its converters start from, describes a model and no run.
    if (has('nemo_version') || /^nemo\./.test(textOf(entryOf(flat, 'target')?.value) ?? '')) return 0;
    return has('tensor_model_parallel_size') &&
      has('micro_batch_size') &&
      SIZES.filter(has).length >= 2 &&
      !has('model') &&
      !has('trainer')
      ? 0.9
      : 0;
  },
  read(document: ConfigDocument, context: ReadContext): Reading {
    const draft = new Draft(document, context);
    const { root } = document;
    if (root?.kind !== 'map') return draft.reading();
    const { flags, written, tests } = flagsOf(root);
    const args = new SpelledSection(flags, draft, {}, '', written);
    readMegatronArguments(args, draft, { bert: isBert(document.uri, args), flags: tests });
    if (tests) inferMachine(document, draft, args);
    readAllocatorEnvironment(new Section(mapAt(root, 'ENV_VARS'), draft, 'ENV_VARS'), draft);
    rejectMisfits(flags, MEGATRON_TABLE, draft);
    draft.rules(() => {
      checkKeys(flags, MEGATRON_TABLE, policy, draft);
      checkMegatron(args, context, draft, {
        modern: true,
        complete: true,
        flags: tests,
        shown: (name) => (tests ? `\`--${name.replaceAll('_', '-')}\`` : `\`${name}\``),
      });
    });
    return draft.reading();
  },
};

/** The flags, wherever the file has them, by name with underscores. */
function flagsOf(root: MapNode): {
  readonly flags: MapNode;
  readonly written: WrittenArgument;
  readonly tests: boolean;
} {
  const tests = mapAt(root, 'MODEL_ARGS');
  if (tests) {
    const written = writtenKeys([{ path: 'MODEL_ARGS', block: tests }]);
    return { flags: argumentNames(tests), written, tests: true };
  }
  const blocks = BLOCKS.flatMap((path) => {
    const block = mapAt(root, path);
    return block ? [{ path, block }] : [];
  });
  const entries = root.entries.flatMap((entry) =>
    BLOCKS.includes(entry.key) && entry.value.kind === 'map' ? entry.value.entries : [entry],
  );
  const written = writtenKeys([{ path: '', block: root }, ...blocks]);
  return { flags: argumentNames({ ...root, entries }), written, tests: false };
}

function isBert(uri: string, args: Section): boolean {
  return /(^|[/_])bert[/_]/i.test(uri) || /^BertWordPiece/i.test(args.text('tokenizer_type') ?? '');
}

const CARDS: Readonly<Record<string, string>> = {
  a100: 'A100-SXM4-80GB',
  h100: 'H100-SXM5-80GB',
  gb200: 'GB200',
  b200: 'B200-SXM',
};

/** Functional tests name their machine in the folder: `..._dgx_a100_1N8G`. */
function inferMachine({ uri, root }: ConfigDocument, draft: Draft, args: Section): void {
  const name = decodeURIComponent(uri);
  const count = /_(\d+)N(\d+)G(?![a-z0-9])/i.exec(name);
  const card = CARDS[/_dgx_(a100|h100|b200|gb200)/i.exec(name)?.[1]?.toLowerCase() ?? ''];
  if (!root || args.has('num_nodes')) return;
  const node = { range: { start: root.range.start, end: root.range.start } };
  const note = say('the folder of the test names the machine');
  if (count) {
    draft.infer('hardware.gpus', Number(count[1]) * Number(count[2]), note, node);
    draft.infer('hardware.nodes', Number(count[1]), note, node);
  }
  if (card !== undefined) draft.infer('hardware.gpu', card, note, node);
}
