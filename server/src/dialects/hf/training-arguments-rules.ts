import type { MapNode } from '../../config/node';
import { flagOf, integerOf, isBlank, textOf } from '../../config/scalar';
import { fileIn, TRANSFORMERS } from '../../sources/repositories';
import type { Severity } from '../../text/problem';
import { closest, suggested } from '../../wording/closest';
import { say } from '../../wording/say';
import type { KeySpec } from '../dialect';
import type { Draft } from '../draft';
import { checkKeys, isSlip, type KeyPolicy } from '../key-check';
import { isInUse } from '../key-rows';
import type { KeyTable } from '../key-table';
import { forbid } from '../refusal';
import type { Section } from '../section';
import { fsdpOptions, namedChoice } from './fsdp-argument';
import { checkNamedValues, REMOVED_OPTIMIZERS } from './optimizer-releases';
import { HF_OPTIMIZERS } from './training-arguments-keys';

const SOURCE = fileIn(TRANSFORMERS, 'src/transformers/training_args.py');

/** From 5.10 on `fsdp` is a flag: its old words are moved into `fsdp_config`, and what excluded each other is taken (`_process_fsdp_args`). */
const WORDS_OF_FSDP = { until: '5.10' };

/**
 * Scripts add arguments of their own, so a key that is not listed may well be known to them: only slips of listed ones
 * are reported: at the top, and in blocks where the table lists what belongs there. `severity` is that of a slip.
 */
export function scriptPolicy(tool: string, blocks = false, severity: Severity = 'warning'): KeyPolicy {
  return {
    unknown(parent, key, near) {
      const meant = near.filter((name) => isSlip(name, key));
      // An underscore before a key takes it out of use.
      if ((parent !== '' && !blocks) || meant.length === 0 || key.startsWith('_')) return undefined;
      return {
        severity,
        message: `${say('{0} knows no key `{1}`.', tool, key)}${suggested(meant, '`')}`,
      };
    },
    wrongType: (spec: KeySpec) => (spec.fields ? 'warning' : undefined),
    // A word of Unsloth's, which scripts of a project's own hand to it; the Trainer itself never gets it.
    accepts: (node) => node.kind === 'scalar' && node.value === 'unsloth',
  };
}

/** What the Trainer itself refuses, and keys that are no keys. */
export function checkTrainingArguments(
  root: MapNode,
  section: Section,
  table: KeyTable,
  tool: string,
  draft: Draft,
  slips: Severity = 'warning',
): void {
  const offers = (path: string) => {
    const row = table.find(path);
    return row === undefined || isInUse(row, (name) => draft.versionOf(name));
  };
  checkKeys(root, table, { ...scriptPolicy(tool, false, slips), offers }, draft);
  const on = (key: string) => flagOf(section.find(key)?.node) === true;
  const fp16 = section.find('fp16')?.node;
  forbid(on('fp16') && on('bf16'), fp16, draft, {
    code: 'two-precisions',
    message: say('`fp16` and `bf16` are both on: the Trainer refuses that.'),
    source: SOURCE,
  });
  const { words, found } = fsdpOptions(section);
  const offloadAlone = words.length === 1 && words[0] === 'offload';
  forbid(offloadAlone, found?.node, draft, {
    code: 'fsdp-offload-alone',
    message: say('`fsdp: offload` works only beside `full_shard` or `shard_grad_op`.'),
    source: SOURCE,
    releases: WORDS_OF_FSDP,
  });
  forbid(words.includes('full_shard') && words.includes('shard_grad_op'), found?.node, draft, {
    code: 'two-fsdp-strategies',
    message: say('`full_shard` and `shard_grad_op` exclude each other.'),
    source: SOURCE,
    releases: WORDS_OF_FSDP,
  });
  checkStrategyOfFsdp1(section, draft);
  forbid(found !== undefined && section.has('deepspeed'), found?.node, draft, {
    code: 'two-shardings',
    message: say('`fsdp` and `deepspeed` exclude each other: one of them shards the model.'),
    source: SOURCE,
  });
  const config = section.section('fsdp_config');
  const minimum = config.find(['min_num_params', 'fsdp_min_num_params']);
  const layers = config.has(['transformer_layer_cls_to_wrap', 'fsdp_transformer_layer_cls_to_wrap']);
  forbid((integerOf(minimum?.node) ?? 0) > 0 && layers, minimum?.node, draft, {
    code: 'two-wrap-policies',
    message: say('`min_num_params` and `transformer_layer_cls_to_wrap` exclude each other.'),
    source: SOURCE,
    releases: WORDS_OF_FSDP,
  });
  checkSaving(section, draft);
  checkOptimizer(section, draft);
  checkNamedValues(section, draft);
  checkRedundant(section, draft);
}

/** FSDP 2 is the default since 5.10; a block that is a file or a text of its own may say otherwise. */
function checkStrategyOfFsdp1(section: Section, draft: Draft): void {
  const { words, found } = fsdpOptions(section);
  const block = section.find('fsdp_config');
  const config = section.section('fsdp_config');
  const isSecond =
    block === undefined ||
    isBlank(block.node) ||
    (block.node.kind === 'map' && (config.integer(namedChoice('version')) ?? 2) === 2);
  const old = words.find((word) => ['hybrid_shard', 'hybrid_shard_zero2', 'no_shard'].includes(word));
  forbid(old !== undefined && isSecond, found?.node, draft, {
    code: 'fsdp1-strategy',
    message: say('FSDP 2 has no `{0}`: set `version: 1` in `fsdp_config`.', old ?? ''),
    source: SOURCE,
    releases: { from: '5.10' },
  });
}

/** What the Trainer saves under DeepSpeed and FSDP (`trainer.py`, `create_accelerator_and_postprocess`). */
function checkSaving(section: Section, draft: Draft): void {
  const on = (key: string) => flagOf(section.find(key)?.node) === true;
  const alone = on('save_only_model') ? section.find('save_only_model') : undefined;
  if (!alone) return;
  // torch_xla shards without the plugin of Accelerate, of which alone the Trainer asks.
  const config = section.section('fsdp_config');
  const shards = fsdpOptions(section).found !== undefined && config.flag('xla') !== true;
  const rule = {
    code: 'model-saved-alone',
    source: fileIn(TRANSFORMERS, 'src/transformers/trainer.py'),
  } as const;
  const sharded = shards || section.has('deepspeed');
  const best = sharded && on('load_best_model_at_end');
  forbid(best, alone.node, draft, {
    ...rule,
    message: say(
      '`save_only_model` and `load_best_model_at_end` exclude each other under DeepSpeed and FSDP.',
    ),
    // In v4.38.2, not in v4.37.2.
    releases: { from: '4.38' },
  });
  const type = config.find(['state_dict_type', 'fsdp_state_dict_type']);
  forbid(!best && shards && /SHARDED_STATE_DICT/i.test(textOf(type?.node) ?? ''), alone.node, draft, {
    ...rule,
    message: say('`save_only_model` does not go with the state dict type `SHARDED_STATE_DICT` of FSDP.'),
    // In v4.50.3, not in v4.49.0.
    releases: { from: '4.50' },
  });
}

function checkOptimizer(section: Section, draft: Draft): void {
  const found = section.find('optim');
  const name = textOf(found?.node);
  const known: readonly string[] = HF_OPTIMIZERS;
  // A member of the enumeration, as scripts in Python give it.
  if (name !== undefined && /(^|\.)OptimizerNames\./.test(name)) return;
  if (!found || name === undefined) return;
  const removed = Object.hasOwn(REMOVED_OPTIMIZERS, name) ? REMOVED_OPTIMIZERS[name] : undefined;
  if (!removed && known.includes(name)) return;
  const releases = removed ? { from: removed.from } : {};
  if (removed && !draft.isRefusedByNamed(SOURCE, releases)) return;
  const near = removed ? [removed.other] : closest(name, known, 2);
  const hint = suggested(near, '`');
  forbid(true, found.node, draft, {
    code: 'unknown-optimizer',
    message: say('transformers knows no optimizer "{0}".{1}', name, hint),
    source: SOURCE,
    releases,
    data: { replacement: near[0] },
  });
}

/** Checkpointing asked for twice: by the Trainer and by FSDP. */
function checkRedundant(section: Section, draft: Draft): void {
  const own = section.find(['gradient_checkpointing', 'activation_checkpointing']);
  const fsdp = section
    .section('fsdp_config')
    .find(['activation_checkpointing', 'fsdp_activation_checkpointing']);
  if (!own || !fsdp || isBlank(own.node) || flagOf(own.node) !== true || flagOf(fsdp.node) !== true) return;
  draft.refuse(
    'checkpointing-twice',
    say('Checkpointing is on in the Trainer and in `fsdp_config`: the Trainer refuses both at once.'),
    fsdp.node.range,
    {
      source: fileIn(TRANSFORMERS, 'src/transformers/trainer.py'),
      releases: { from: '4.34' },
      related: [{ range: own.node.range, message: say('also here') }],
    },
  );
}
