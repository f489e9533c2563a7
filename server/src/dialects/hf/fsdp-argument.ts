import { isFilledLater } from '../../config/filled-later';
import type { ConfigNode } from '../../config/node';
import { parseConfig } from '../../config/parse';
import { flagOf, integerOf, textOf, textsOf } from '../../config/scalar';
import type { FieldValue } from '../../run/fields';
import { QUANTIZED_WHILE_LOADED } from '../../terms/quantizations';
import { isAtLeast } from '../../terms/version';
import type { Range } from '../../text/place';
import { say } from '../../wording/say';
import type { ReadContext } from '../dialect';
import type { Draft } from '../draft';
import { type DefaultValue, type FoundKey, Section } from '../section';
import { isNoFsdp } from './fsdp-version';
import { FSDP_TABLE } from './training-arguments-keys';

const DOCS = 'https://huggingface.co/docs/transformers/fsdp';

/** What the Trainer takes where `fsdp_config` does not state it. */
function trainer<V>(value: V): DefaultValue<V> {
  return { value, note: say('default of the Trainer'), source: DOCS };
}

const STRATEGIES: readonly (readonly [option: string, value: FieldValue<'fsdp.strategy'>])[] = [
  ['full_shard', 'full'],
  ['shard_grad_op', 'grad-op'],
  ['hybrid_shard_zero2', 'hybrid-grad-op'],
  ['hybrid_shard', 'hybrid'],
  ['no_shard', 'none'],
];

/** What may stand beside them; any other word is refused (`FSDPOption`, `trainer_utils.py`). */
const BESIDE = ['offload', 'auto_wrap', 'true', 'false', 'yes', 'no', '1', '0'];

/** A word that the Trainer does not take leaves open what is sharded. */
export function leaveUnknownOptions(words: readonly string[], { node }: FoundKey, draft: Draft): boolean {
  const known = [...STRATEGIES.map(([option]) => option), ...BESIDE];
  const odd = words.find((word) => !known.includes(word.toLowerCase()));
  if (odd === undefined || isFilledLater(words.join(' ')) || !/^[\w-]+$/.test(odd)) return false;
  const message = say('`{0}` takes `{1}`, which is not known.', 'fsdp', odd);
  draft.leave('value', node, ['fsdp', odd].join(': '), message, ['parallel.data', 'fsdp.strategy']);
  return true;
}

/** `fsdp: "full_shard auto_wrap offload"` as its words; empty where FSDP is not asked for. */
export function fsdpOptions(section: Section): {
  readonly words: readonly string[];
  readonly found?: FoundKey;
} {
  const found = section.find('fsdp');
  if (!found) return { words: [] };
  if (flagOf(found.node) === true && found.node.kind === 'scalar') return { words: ['full_shard'], found };
  const words = (textsOf(found.node) ?? [])
    .flatMap((item) => item.split(/[\s,]+/))
    .filter((word) => word !== '');
  return words.length === 0 || flagOf(found.node) === false ? { words: [] } : { words, found };
}

/**
 * `fsdp` and `fsdp_config` of the Trainer (transformers `training_args.py`, `_process_fsdp_args`), whose settings may
 * carry the prefix `fsdp_`. True where the run is FSDP. From transformers 5.10 (`training_args.py` of 5.9.0 and
 * 5.10.0 compared) the default is FSDP 2, and layers are wrapped without being asked.
 */
export function readFsdpArgument(section: Section, draft: Draft, context: ReadContext): boolean {
  const { words, found } = fsdpOptions(section);
  if (!found) return false;
  if (leaveUnknownOptions(words, found, draft)) return true;
  const written = writtenBlock(section, draft);
  const linked = written === undefined && section.link('fsdp_config', 'fsdp');
  const config = written ?? section.section('fsdp_config');
  const release = context.known['version.transformers'];
  const second = isAtLeast(release, '5.10') === true;
  // Before transformers 5.0 the Trainer hands no version on: it is FSDP 1 whatever stands there (`training_args.py`).
  const stated = isAtLeast(release, '5.0') === false ? undefined : config.integer(namedChoice('version'));
  const named = config.find(namedChoice('version'));
  const version = (stated ?? (second ? 2 : 1)) === 2 ? 2 : 1;
  // A file of its own may say which version it is.
  if (linked)
    draft.assume(
      'parallel.data',
      second ? 'fsdp2' : 'fsdp1',
      second
        ? say('FSDP 2 unless `fsdp_config` says otherwise')
        : say('FSDP 1 unless `fsdp_config` says otherwise'),
      DOCS,
      'fsdp',
    );
  else if (stated !== undefined && named && isNoFsdp(named.node)) section.leave(named, ['parallel.data']);
  else section.state('parallel.data', version === 2 ? 'fsdp2' : 'fsdp1', named ?? found);
  // Of two, the first counts where the Trainer takes both.
  const strategy = words.flatMap((word) => STRATEGIES.filter(([option]) => option === word))[0]?.[1];
  const reshard = config.find(namedChoice('reshard_after_forward'));
  if (version === 2 && reshard && flagOf(reshard.node) === false)
    section.state('fsdp.strategy', 'grad-op', reshard);
  else if (strategy) section.state('fsdp.strategy', strategy, found);
  if (words.includes('offload')) stateOffload(section, found);
  else readCpuOffload(config, context);
  const xla = config.find(namedChoice('xla'));
  if (xla && flagOf(xla.node) === true)
    draft.leave('refused', xla.node, 'xla', say('{0} trains here: that is not estimated.', 'PyTorch/XLA'));
  readWrap([config, section], found, draft, { asked: words.includes('auto_wrap'), unasked: second, linked });
  readFsdpSettings(config, context);
  return true;
}

/** `--fsdp_config '{"fsdp_version": 2}'`: a text that begins with a brace is the block itself (`training_args.py`, `__post_init__`). */
function writtenBlock(section: Section, draft: Draft): Section | undefined {
  const found = section.find('fsdp_config');
  const text = textOf(found?.node);
  if (!found || text?.trimStart().startsWith('{') !== true) return undefined;
  const { root } = parseConfig('file:///fsdp_config.json', text);
  return new Section(root && placedAt(root, found.node.range), draft, found.key);
}

/** A node that stands somewhere else as a whole. */
function placedAt(node: ConfigNode, range: Range): ConfigNode {
  if (node.kind === 'map') {
    const entries = node.entries.map(({ key, value }) => ({
      key,
      keyRange: range,
      value: placedAt(value, range),
    }));
    return { kind: 'map', range, entries };
  }
  return node.kind === 'list'
    ? { ...node, range, items: node.items.map((item) => placedAt(item, range)) }
    : { ...node, range };
}

/** `cpu_offload` among the settings of FSDP, which counts from transformers 5.10 (`training_args.py`). */
export function readCpuOffload(config: Section, { known }: ReadContext): void {
  const offload = config.find(namedChoice('cpu_offload'));
  const counts = isAtLeast(known['version.transformers'], '5.10') === true;
  if (counts && offload && flagOf(offload.node) === true) stateOffload(config, offload);
}

function stateOffload(section: Section, found: FoundKey): void {
  section.state('offload.parameters', 'cpu', found);
  section.state('offload.optimizer', 'cpu', found, say('FSDP steps weights that are offloaded on the CPU'));
}

/** The two spellings of an FSDP setting: with and without the prefix. */
export const namedChoice = (name: string): readonly [string, string] => [name, `fsdp_${name}`];

/** Which processes read the checkpoint: `cpu_ram_efficient_loading`. */
export function readHostCopies(config: Section): void {
  config.stateMeaning('loading.hostCopies', namedChoice('cpu_ram_efficient_loading'), ({ node }) => {
    const one = flagOf(node);
    return one === undefined ? undefined : one ? 'one' : 'every-process';
  });
}

/**
 * FSDP of the Trainer's own arguments has every process read the checkpoint (`training_args.py`,
 * `FSDP_CPU_RAM_EFFICIENT_LOADING`), which matters for what is quantized meanwhile: it stays on the GPU.
 */
export function assumeReadByAll(section: Section, draft: Draft): void {
  const sharded = /^fsdp[12]$/.test(String(draft.valueOf('parallel.data')));
  const kind = draft.valueOf('quantization.kind');
  const quantized = [...QUANTIZED_WHILE_LOADED].some((own) => own === kind);
  if (!sharded || !quantized || !section.has(['fsdp', 'fsdp_config']) || draft.knows('loading.hostCopies'))
    return;
  draft.assume(
    'loading.hostCopies',
    'every-process',
    say('every process reads the checkpoint unless `cpu_ram_efficient_loading` is set'),
    DOCS,
  );
}

/** Settings of `fsdp_config` that mean the same whatever `fsdp` states. */
export function readFsdpSettings(config: Section, { known }: ReadContext): void {
  config.stateMeaning(
    'fsdp.backwardPrefetch',
    namedChoice('backward_prefetch'),
    ({ node }) =>
      ({ backward_pre: 'pre', backward_post: 'post', no_prefetch: 'none' })[
        textOf(node)?.toLowerCase() ?? ''
      ] as FieldValue<'fsdp.backwardPrefetch'> | undefined,
    trainer('none'),
  );
  const rows = config.by(FSDP_TABLE).withVersions(known).withDefaultsOf(DOCS, say('default of the Trainer'));
  rows.takeFirst(...namedChoice('forward_prefetch'));
  rows.takeFirst(...namedChoice('use_orig_params'));
  readHostCopies(config);
  config.stateMeaning('saving.weights', namedChoice('state_dict_type'), ({ node }) => {
    const form = textOf(node)?.toUpperCase() ?? '';
    return form === 'FULL_STATE_DICT'
      ? 'full'
      : /^(SHARDED|LOCAL)_STATE_DICT$/.test(form)
        ? 'sharded'
        : undefined;
  });
  const checkpointing = config.find(namedChoice('activation_checkpointing'));
  if (checkpointing && flagOf(checkpointing.node) === true) {
    config.state('activations.checkpointing', 'full', checkpointing);
    config.assume('activations.reentrant', {
      value: false,
      note: say('Accelerate checkpoints FSDP layers without reentry'),
      source: DOCS,
    });
  }
}

interface Wrapping {
  /** `auto_wrap` is there. */
  readonly asked: boolean;
  /** This release wraps layers without being asked. */
  readonly unasked: boolean;
  /** A file of its own holds the settings. */
  readonly linked: boolean;
}

function readWrap(
  [config, above]: readonly [config: Section, above: Section],
  found: FoundKey,
  draft: Draft,
  { asked, unasked, linked }: Wrapping,
): void {
  // Old names of both stand beside `fsdp`.
  const size = config.find(['min_num_params', 'fsdp_min_num_params']) ?? above.find('fsdp_min_num_params');
  const minimum = integerOf(size?.node) ?? 0;
  const old = 'fsdp_transformer_layer_cls_to_wrap';
  const beside = above.find(old);
  const layers =
    config.find(['transformer_layer_cls_to_wrap', old]) ?? (textOf(beside?.node) ? beside : undefined);
  if (minimum > 0 && size && (asked || layers || unasked)) {
    config.state('fsdp.wrap', 'size', size);
    config.state('fsdp.minParameters', minimum, size);
    return;
  }
  if ((asked && !linked) || layers) {
    const note = layers ? say('the file names the layer classes') : say('the model names its layer classes');
    config.state('fsdp.wrap', 'layer', layers ?? found, note);
    return;
  }
  if (asked || unasked) {
    // A file of its own may say otherwise.
    draft.assume('fsdp.wrap', 'layer', say('the model names its layer classes'), DOCS, 'fsdp');
    return;
  }
  draft.assume(
    'fsdp.wrap',
    'none',
    say('without `auto_wrap` the whole model is gathered at once'),
    DOCS,
    'fsdp',
  );
}
