import type { ConfigNode } from '../../config/node';
import { integerOf, plainOf, textOf } from '../../config/scalar';
import type { RuleId } from '../../rules/rule-id';
import { unevenGroups } from '../../run/derive';
import { fileIn, GPT_NEOX } from '../../sources/repositories';
import { say } from '../../wording/say';
import type { ReadContext } from '../dialect';
import type { Draft } from '../draft';
import { forbid } from '../refusal';
import type { Section } from '../section';

const SOURCE = fileIn(GPT_NEOX, 'megatron/neox_arguments/arguments.py');
const MODEL = fileIn(GPT_NEOX, 'megatron/model/transformer.py');

/** Nodes of arguments, and whole numbers that they hold. */
function argumentsOf(section: Section) {
  const node = (key: string) => section.find(key)?.node;
  return { node, size: (key: string) => integerOf(node(key)) };
}

/** What GPT-NeoX asserts of its arguments (`calculate_derived`, `validate_values`). */
export function checkGptNeox(section: Section, context: ReadContext, draft: Draft): void {
  const { node } = argumentsOf(section);
  const kernels = section.find('attention_config');
  const words = kernels ? JSON.stringify(plainOf(kernels.node)) : '';
  const stage = section.integer('zero_optimization.stage') ?? section.integer('zero_stage') ?? 0;
  const stageNode = node('zero_optimization.stage') ?? node('zero_stage');
  const ranks = section.integerOrDefault('model_parallel_size');

  forbid(section.integerOrDefault('moe_num_experts') > 1 && stage >= 2, stageNode, draft, {
    code: 'experts-with-zero',
    message: say('Experts do not work with ZeRO stage {0}: stages 0 and 1 do.', stage),
    source: SOURCE,
  });
  const recurrent = /mamba/.test(words) ? 'Mamba' : /rwkv/.test(words) ? 'RWKV' : undefined;
  forbid(recurrent !== undefined && stage === 3, stageNode, draft, {
    code: 'recurrent-with-zero',
    message: say('{0} does not work with ZeRO stage 3.', String(recurrent)),
    source: SOURCE,
  });
  forbid(recurrent === 'RWKV' && ranks > 1, node('model_parallel_size'), draft, {
    code: 'rwkv-model-parallel',
    message: say('RWKV does not work with model parallelism.'),
    source: SOURCE,
  });
  checkHeads(section, draft, { ranks, recurrent, words });
  checkSizes(section, draft);
  checkPrecision(section, draft);
  checkGpus(section, context, draft, ranks);
  adviseWidth(section, draft);
}

/** Heads are divided by the width, by the groups and by the model-parallel GPUs. `words`: the kinds of attention. */
function checkHeads(
  section: Section,
  draft: Draft,
  {
    ranks,
    recurrent,
    words,
  }: { readonly ranks: number; readonly recurrent?: string; readonly words: string },
): void {
  const { node, size } = argumentsOf(section);
  const [hidden, heads, groups] = [size('hidden_size'), size('num_attention_heads'), size('num_kv_heads')];
  forbid(
    hidden !== undefined && heads !== undefined && hidden % heads !== 0 && recurrent !== 'Mamba',
    node('num_attention_heads'),
    draft,
    {
      code: 'hidden-not-divisible',
      message: say('A hidden size of {0} is not a multiple of {1} heads.', String(hidden), String(heads)),
      source: SOURCE,
    },
  );
  forbid(heads !== undefined && heads % ranks !== 0, node('num_attention_heads'), draft, {
    code: 'heads-not-divisible',
    message: say('{0} heads cannot be split over {1} model-parallel GPUs.', String(heads), ranks),
    source: MODEL,
  });
  forbid(heads !== undefined && groups !== undefined && heads % groups !== 0, node('num_kv_heads'), draft, {
    code: 'groups-not-divisible',
    message: say('{0} heads are not a multiple of {1} key and value heads.', String(heads), String(groups)),
    source: SOURCE,
  });
  const grouped = groups !== undefined && heads !== undefined && groups < heads;
  forbid(grouped && groups % ranks !== 0, node('num_kv_heads'), draft, {
    code: 'too-few-kv-heads',
    message: say(
      '{0} key and value heads cannot be split over {1} model-parallel GPUs.',
      String(groups),
      ranks,
    ),
    source: SOURCE,
  });
  forbid(grouped && /sparse|local|bigbird/.test(words), node('attention_config'), draft, {
    code: 'groups-with-sparse',
    message: say('Grouped heads work with `flash` and `global` attention only.'),
    source: SOURCE,
  });
}

function checkSizes(section: Section, draft: Draft): void {
  const { node, size } = argumentsOf(section);
  const [sequence, positions] = [size('seq_length'), size('max_position_embeddings')];
  forbid(
    sequence !== undefined && positions !== undefined && positions < sequence,
    node('max_position_embeddings'),
    draft,
    {
      code: 'too-few-positions',
      message: say(
        '`max_position_embeddings` is {0}, less than the {1} tokens of a sample.',
        String(positions),
        String(sequence),
      ),
      source: SOURCE,
    },
  );
  const factor = node('expansion_factor');
  forbid(size('intermediate_size') !== undefined && factor !== undefined, factor, draft, {
    code: 'two-widths',
    message: say('`intermediate_size` and `expansion_factor` exclude each other.'),
    source: MODEL,
  });
  const parallelism = node('output_layer_parallelism');
  warnSinceLast(textOf(parallelism) === 'row', parallelism, draft, {
    code: 'row-parallel-head',
    message: say('GPT-NeoX stops on `row`: the head can be split by `column` only.'),
    source: MODEL,
  });
}

/** What came after the last release, v2.0 of March 2023, which takes it: no file states which of the two runs. */
function warnSinceLast(
  broken: boolean,
  at: ConfigNode | undefined,
  draft: Draft,
  { code, message, source }: { readonly code: RuleId; readonly message: string; readonly source: string },
): void {
  if (!broken || !at) return;
  draft.report(code, 'warning', `${message} ${say('GPT-NeoX up to 2.0 takes it.')}`, at.range, { source });
}

function checkPrecision(section: Section, draft: Draft): void {
  const found = section.find('precision');
  const word = textOf(found?.node);
  if (!found || word === undefined) return;
  for (const [block, type] of [
    ['fp16', 'fp16'],
    ['bf16', 'bfloat16'],
  ] as const) {
    warnSinceLast(section.flag(`${block}.enabled`) === true && word !== type, found.node, draft, {
      code: 'two-precisions',
      message: say('`precision` is {0}, and `{1}` is on.', word, block),
      source: SOURCE,
    });
  }
}

function checkGpus(section: Section, context: ReadContext, draft: Draft, ranks: number): void {
  const gpus = context.known['hardware.gpus'];
  const stages = Math.max(1, section.integerOrDefault('pipe_parallel_size'));
  const at = section.find(['model_parallel_size', 'pipe_parallel_size'])?.node;
  if (typeof gpus !== 'number') return;
  forbid(gpus % (stages * ranks) !== 0, at, draft, {
    code: 'world-size',
    message: unevenGroups(gpus, stages * ranks, { tensor: ranks, pipeline: stages }),
    source: SOURCE,
  });
}

/** A gated width as Hugging Face writes it is taken for three times what it is. */
function adviseWidth(section: Section, draft: Draft): void {
  const narrow = narrowWidth(section);
  if (!narrow || draft.hasLeft(narrow.found.node.range)) return;
  const { found, stated, inner } = narrow;
  draft.report(
    'gated-width',
    'information',
    say(
      "A gated MLP takes a third of `intermediate_size` for each branch: {0} here. Hugging Face's `intermediate_size` of {1} is {2} in GPT-NeoX.",
      String(inner),
      String(stated),
      String(3 * stated),
    ),
    found.node.range,
    { source: MODEL },
  );
}

/** A copy with keys of its own may well take such a width as Hugging Face does: how wide its layers are is then not known. */
export function leaveWidth(section: Section, draft: Draft): void {
  const narrow = narrowWidth(section);
  if (!narrow || !draft.unread.some(({ kind }) => kind === 'flag')) return;
  const { node, key } = narrow.found;
  const words = say(
    'Keys that GPT-NeoX does not have are those of a changed copy: how wide `{0}` makes its gated layers is in its code, which is not read.',
    key,
  );
  draft.leave('value', node, key, words, ['model.id']);
}

/** A width that makes a gated MLP narrower than twice the hidden size. */
function narrowWidth(section: Section) {
  const found = section.find('intermediate_size');
  const stated = integerOf(found?.node);
  const hidden = section.integer('hidden_size');
  const multiple = section.integerOrDefault('mlp_multiple_of');
  const gated = /glu$|^bilinear$/.test(section.textOrDefault('activation'));
  if (!found || stated === undefined || hidden === undefined || !gated || stated >= 4 * hidden)
    return undefined;
  const inner = Math.ceil(Math.floor((stated * 2) / 3 / 2) / multiple) * multiple;
  return inner < 2 * hidden ? { found, stated, inner } : undefined;
}
