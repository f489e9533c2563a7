import { entryOf } from '../../config/lookup';
import type { MapNode } from '../../config/node';
import { flagOf, integerOf, isBlank } from '../../config/scalar';
import { fileIn, TRANSFORMERS, TRL } from '../../sources/repositories';
import { isAtLeast } from '../../terms/version';
import { say } from '../../wording/say';
import { reportDead } from '../dead-keys';
import type { ReadContext } from '../dialect';
import type { Draft } from '../draft';
import { TRL_RELEASES } from '../hf/model-arguments-keys';
import { checkParsedArguments } from '../hf/released-arguments';
import { checkTrainingArguments } from '../hf/training-arguments-rules';
import { forbid } from '../refusal';
import type { Section } from '../section';
import { TRL_TABLE } from './trl-keys';
import type { TrlMethod } from './trl-method';

const SOURCE = fileIn(TRL, 'trl/trainer/');

/** LoRA keys that do nothing without `use_peft`. */
const LORA_KEYS = [
  'lora_r',
  'lora_alpha',
  'lora_dropout',
  'lora_target_modules',
  'lora_modules_to_save',
  'use_dora',
  'use_rslora',
];

/** Whether one of TRL's own configs has an argument, whatever transformers has. */
const isOfTrl = (key: string) => TRL_RELEASES.tableNames.some((name) => TRL_RELEASES.table(name).has(key));

/** Arguments that TRL's parser is given and that the release of transformers does not take; a call has a rule of its own. */
export const checkParsedTrl = (root: MapNode, draft: Draft): void =>
  checkParsedArguments(root, draft, { may: true, isOwn: isOfTrl });

/** What TRL refuses or ignores. */
export function checkTrl(root: MapNode, section: Section, method: TrlMethod, draft: Draft): void {
  checkTrainingArguments(root, section, TRL_TABLE, 'TRL', draft);
  const on = (key: string) => flagOf(section.find(key)?.node) === true;
  forbid(on('load_in_8bit') && on('load_in_4bit'), section.find('load_in_8bit')?.node, draft, {
    code: 'two-quantizations',
    message: say('Weights cannot be loaded in 8 and in 4 bits at once.'),
    source: `${SOURCE}model_config.py`,
  });
  checkDead(section, on('use_peft'), draft);
  const uncut = entryOf(root, 'max_length');
  forbid(on('packing') && uncut !== undefined && isBlank(uncut.value), uncut?.value, draft, {
    code: 'packing-without-length',
    message: say('Packing needs `max_length`: it is the length of every row.'),
    source: `${SOURCE}sft_trainer.py`,
  });
  if (uncut && isBlank(uncut.value) && !on('packing')) missingCap(section, uncut.value.range, draft);
  checkQuantizedWithoutAdapter(section, on, draft);
  if (method === 'grpo' || method === 'rloo') checkGenerations(method, section, draft);
}

function missingCap(section: Section, range: Parameters<Draft['report']>[3], draft: Draft): void {
  if (section.has('max_seq_length')) return;
  draft.report(
    'missing-length-cap',
    'warning',
    say('Nothing limits the length of a sample: one long sample decides the peak. Set `max_length`.'),
    range,
    { source: `${SOURCE}sft_config.py` },
  );
}

function checkDead(section: Section, peft: boolean, draft: Draft): void {
  // A script with arguments of its own has its own word for it.
  if (peft || draft.unread.some(({ fields }) => fields?.includes('method.kind'))) return;
  reportDead(section, draft, {
    keys: LORA_KEYS,
    one: (key) => say('`{0}` has no effect without `use_peft: true`: all weights are trained.', key),
    several: (keys) =>
      say('Without `use_peft: true` all weights are trained, and these have no effect: {0}.', keys),
    needs: 'use_peft',
    source: fileIn(TRL, 'trl/trainer/utils.py'),
  });
}

/** transformers refuses to train quantized weights themselves. */
function checkQuantizedWithoutAdapter(section: Section, on: (key: string) => boolean, draft: Draft): void {
  const quantized = ['load_in_4bit', 'load_in_8bit'].find(on);
  if (quantized === undefined || on('use_peft')) return;
  // Adapters that are loaded, or made where nobody sees it, may well be what is trained.
  if (draft.unread.some(({ fields }) => fields?.includes('method.kind'))) return;
  draft.refuse(
    'quantized-without-adapter',
    say('Quantized weights cannot be trained themselves: add `use_peft: true`.'),
    section.find(quantized)?.node.range ?? {
      start: { line: 0, character: 0 },
      end: { line: 0, character: 0 },
    },
    { source: fileIn(TRANSFORMERS, 'src/transformers/trainer.py') },
  );
}

/**
 * What a step takes of all GPUs, so often as it accumulates or as is stated, must hold whole groups of completions (`grpo_config.py` and
 * `rloo_config.py`, `__post_init__`, of v0.22.2 and later). `method`: that of the trainer.
 */
export function checkWholeGroups(
  section: Section,
  method: TrlMethod,
  draft: Draft,
  context: ReadContext,
): void {
  if (method !== 'grpo' && method !== 'rloo') return;
  if (isAtLeast(context.known['version.trl'], '0.22.2') !== true || section.has('generation_batch_size'))
    return;
  const stated = section.find('num_generations');
  const group = stated ? integerOf(stated.node) : section.integerOrDefault('num_generations');
  const [micro, ranks] = [draft.valueOf('batch.micro'), context.known['hardware.gpus']];
  const asked = section.find('steps_per_generation');
  const steps = asked ? integerOf(asked.node) : draft.valueOf('batch.accumulation');
  const isOpen = draft.unread.some(({ fields }) => fields?.includes('batch.accumulation'));
  if (typeof micro !== 'number' || typeof steps !== 'number' || typeof ranks !== 'number' || isOpen) return;
  const whole = micro * steps * ranks;
  if (group === undefined || group < 1 || whole % group === 0) return;
  const at = stated ?? section.find('per_device_train_batch_size');
  forbid(true, at?.node, draft, {
    code: 'generation-groups',
    message: say(
      'The samples of a step on {2} {2|GPU|GPUs} must hold whole groups: {0} is not a multiple of {1} completions per prompt.',
      whole,
      group,
      ranks,
    ),
    source: `${SOURCE}${method}_config.py`,
  });
}

/** Smallest group, and what follows from what: `__post_init__` of both configs has it since these releases, RLOO's since it is built as GRPO's. */
const GROUPS = {
  grpo: { name: 'GRPO', fewest: { from: '0.17' }, sizes: { from: '0.18' }, usual: 8 },
  rloo: { name: 'RLOO', fewest: { from: '0.22' }, sizes: { from: '0.22' }, usual: 2 },
} as const;

function checkGenerations(method: keyof typeof GROUPS, section: Section, draft: Draft): void {
  const { name, fewest, sizes, usual } = GROUPS[method];
  const source = `${SOURCE}${method}_config.py`;
  const generations = section.find('num_generations');
  const count = integerOf(generations?.node);
  forbid(count !== undefined && count < 2, generations?.node, draft, {
    code: 'too-few-generations',
    message: say(
      '{0} needs at least two completions per prompt to compare: `{0}Config` stops with a `ValueError`.',
      name,
    ),
    source,
    releases: fewest,
  });
  const both = section.has('generation_batch_size') && section.has('steps_per_generation');
  forbid(both, section.find('steps_per_generation')?.node, draft, {
    code: 'two-generation-sizes',
    message: say(
      '`generation_batch_size` and `steps_per_generation` exclude each other: one follows from the other.',
    ),
    source,
    releases: sizes,
  });
  const size = section.find('generation_batch_size');
  const whole = integerOf(size?.node);
  const group = generations ? count : usual;
  forbid(!both && whole !== undefined && group !== undefined && whole % group !== 0, size?.node, draft, {
    code: 'generation-groups',
    message: say(
      '`generation_batch_size` must hold whole groups: {0} is not a multiple of {1} completions per prompt.',
      String(whole),
      String(group),
    ),
    source,
    releases: sizes,
  });
  const auto = section.find('auto_find_batch_size')?.node;
  forbid(flagOf(auto) === true, auto, draft, {
    code: 'auto-batch-generation',
    message: say('{0} does not work with `auto_find_batch_size`.', name),
    source,
    releases: { from: '1.9' },
  });
}
