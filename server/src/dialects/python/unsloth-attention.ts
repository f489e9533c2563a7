import { knownNode } from '../../config/python/node-of-value';
import type { PyCall } from '../../config/python/value';
import { textOf } from '../../config/scalar';
import { lacksKernel, languageType } from '../../run/behaviours';
import type { FieldValue } from '../../run/fields';
import { fileIn, UNSLOTH } from '../../sources/repositories';
import { isAtLeast } from '../../terms/version';
import { say } from '../../wording/say';
import type { ReadContext } from '../dialect';
import { attentionOf } from '../hf/attention';
import { argumentOf, type Calls, leaveArgument, variableOf } from './call-block';

const CHOICE = fileIn(UNSLOTH, 'unsloth/models/_utils.py');
const VISION = fileIn(UNSLOTH, 'unsloth/models/vision.py');
const OWN_LAYERS = fileIn(UNSLOTH, 'unsloth/models/llama.py');
const KEY = 'attn_implementation';

type Config = Readonly<Record<string, unknown>>;
type Kernel = FieldValue<'attention.implementation'>;

/** FlashAttention 2 has no kernel for wider heads (`_FLASH_ATTENTION_MAX_HEAD_DIM`). */
const WIDEST_FLASH = 256;
/** Models that are eager where nothing else is asked for (`_EAGER_ONLY_PREFIXES`). */
const EAGER = /^(gemma3n|deepseek_v4)/;
/** Models that flexible attention is taken for (`_FLEX_PREFERRED_MODELS`). */
const FLEXIBLE = /^(gemma3|gemma3_text|shieldgemma2)$/;
/** Models that get no SDPA even where it is asked for (`_is_sdpa_excluded`). */
const WITHOUT_SDPA = /^(gemma3|gemma3_text|gpt_oss|deepseek_v4)$/;
/** Models that get no FlashAttention 2 (`_FLASH_EXCLUDED_MODELS`). */
const WITHOUT_FLASH = /^(gpt_oss|deepseek_v4|mllama)$/;

/**
 * The attention of a model that Unsloth loads. Layers that it writes itself run FlashAttention 2 where that is installed, else xFormers or SDPA,
 * whatever is asked for (`llama.py`, `kwargs.pop("attn_implementation")`); Gemma 2's cap their scores, for which there is FlashAttention 2 or
 * what is written out (`gemma2.py`). All others get what is asked for, where they can have it (`resolve_attention_implementation`).
 */
export function readUnslothAttention(
  calls: Calls,
  load: PyCall,
  context: ReadContext,
  written: boolean,
): void {
  const config = context.model?.config;
  if (!config) {
    const asked = argumentOf(load, KEY);
    if (asked) leaveArgument(calls.draft, KEY, asked, ['attention.implementation']);
    return;
  }
  if (written) readOwnLayers(calls, load, context, config);
  else readChosen(calls, load, context, config);
}

/** `flash-attn` among what the cells install, or what the requirements of the run name. */
const installsFlash = ({ installs = [] }: Calls, { versions }: ReadContext) =>
  versions?.['flash-attn'] !== undefined ||
  installs.some(({ name, commented }) => /^flash[-_]attn$/.test(name) && !commented);

function readOwnLayers(calls: Calls, load: PyCall, context: ReadContext, config: Config): void {
  const { draft } = calls;
  const field = 'attention.implementation';
  const flash = installsFlash(calls, context) && calls.bf16 !== false;
  if (config.model_type === 'gemma2') {
    const source = fileIn(UNSLOTH, 'unsloth/models/gemma2.py');
    const note = flash
      ? say('Unsloth runs FlashAttention 2, which is installed')
      : say('Unsloth writes out attention that caps its scores, where FlashAttention 2 is not installed');
    draft.assume(field, flash ? 'flash2' : 'eager', note, source);
  } else if (flash)
    draft.assume(field, 'flash2', say('Unsloth runs FlashAttention 2, which is installed'), OWN_LAYERS);
  else {
    // xFormers keeps what SDPA and PyTorch's kernel for rows of several samples do: no scores (`attention_dispatch.py`).
    const note = argumentOf(load, KEY)
      ? say('Unsloth runs attention of its own, whatever `{0}` says', KEY)
      : say(
          'Unsloth runs attention of its own: xFormers or kernels of PyTorch, where FlashAttention 2 is not installed',
        );
    draft.assume(field, 'sdpa', note, OWN_LAYERS);
  }
}

/** Since this release what is asked for counts (`vision.py`; 2025.3.19 still takes SDPA in its place, 2025.3.10 drops it). */
const HEEDS = '2025.4.1';
/** Since this release flexible attention is taken for every class that has it (`prefer_flex_attn_if_supported`; 2026.1.4 has it not). */
const FIRST_FLEX = '2026.2.1';
/** Since this release FlashAttention 2 goes first where it is installed (`determine_attention_implementation`; 2026.3.18 has it not). */
const PREFERS_FLASH = '2026.4.1';
/** Since this release SDPA goes before flexible attention (`resolve_attention_implementation`; 2026.4.5 has it not). */
const RESOLVES = '2026.4.6';
/** Since this release some go back to flexible attention (`_FLEX_PREFERRED_MODELS`; 2026.5.2 has it not). */
const PREFERS_FLEX = '2026.5.3';

/**
 * Releases before the choice of today: SDPA where the class has it, whatever is asked for at first; then flexible attention where the class
 * has it, which keeps no scores either.
 */
function readBefore(calls: Calls, load: PyCall, release: string, support: Support, flash: boolean): void {
  const { draft } = calls;
  const field = 'attention.implementation';
  const asked = argumentOf(load, KEY);
  const word = textOf(knownNode(asked));
  const kernel = attentionOf(word);
  if (asked && kernel !== undefined && isAtLeast(release, HEEDS) !== false) {
    draft.state(field, kernel, asked, KEY);
    return;
  }
  if (flash && support.flash && isAtLeast(release, PREFERS_FLASH) === true) {
    draft.assume(field, 'flash2', say('Unsloth runs FlashAttention 2, which is installed'), CHOICE);
    return;
  }
  const flexible = isAtLeast(release, FIRST_FLEX) === true;
  if (flexible && FLEXIBLE.test(support.type)) {
    draft.assume(field, 'flex', say('Unsloth {0} default', release), VISION);
    return;
  }
  const own = support.own ? 'sdpa' : 'eager';
  const note = flexible
    ? say(
        'Unsloth {0} takes flexible attention where the model has it, else SDPA: neither keeps scores',
        release,
      )
    : asked
      ? say('Unsloth {0} takes no `{1}`', release, KEY)
      : say('Unsloth {0} default', release);
  draft.assume(field, own, note, VISION);
}

function readChosen(calls: Calls, load: PyCall, context: ReadContext, config: Config): void {
  const { draft } = calls;
  const field = 'attention.implementation';
  const asked = argumentOf(load, KEY);
  const release = context.versions?.unsloth?.version;
  const word = textOf(knownNode(asked));
  const kernel = attentionOf(word);
  const isNone = asked?.kind === 'scalar' && asked.value === null;
  if (asked && !isNone && kernel === undefined) {
    leaveArgument(draft, KEY, asked, [field]);
    return;
  }
  const support = supportOf(calls, context, config);
  if (release !== undefined && isAtLeast(release, RESOLVES) === false) {
    readBefore(calls, load, release, support, installsFlash(calls, context));
    return;
  }
  if (asked && kernel !== undefined) {
    const taken = takenInstead(kernel, support);
    if (taken === kernel) draft.state(field, kernel, asked, KEY);
    else
      draft.infer(
        field,
        taken,
        say('Unsloth takes no {0} for `{1}`', word ?? kernel, support.type),
        knownNode(asked),
        KEY,
      );
    return;
  }
  const byDefault = defaultOf(calls, context, support);
  draft.assume(field, byDefault, noteOf(byDefault, support), CHOICE);
}

/** Why Unsloth takes a kernel that nobody asks for. */
function noteOf(kernel: Kernel, { type, flash, refusesFlash }: Support): string {
  if (kernel !== 'sdpa') return say('{0} default', 'Unsloth');
  if (refusesFlash && !WITHOUT_FLASH.test(type))
    return say('Unsloth takes SDPA: heads of over {0} dimensions have no FlashAttention 2', WIDEST_FLASH);
  // Decoders with heads of over 128 run flexible attention on cards that hold its blocks (`_prefers_flex_for_head_dim`): neither keeps scores.
  return flash && !refusesFlash
    ? say('Unsloth takes SDPA or flexible attention, where FlashAttention 2 is not installed')
    : say('{0} default', 'Unsloth');
}

/** Since this release a kernel of its own takes wide heads (`kernels/large_head_attention.py`; 2026.10.6 has it not). */
const TAKES_WIDE_HEADS = '2026.10.7';
/** Width of the heads that it is for (`_SUPPORTED_HEAD_DIMS`). */
const WIDE_HEAD = 512;

/**
 * Heads of 512 dimensions run as a kernel of Unsloth's in place of SDPA, unless a variable has it otherwise (`patch_large_head_attention`).
 * It is for 16 bits: a model that is loaded in fp16 is forced to fp32, which leaves it out.
 */
export function readWideHeads(calls: Calls, { model, versions }: ReadContext): void {
  const { draft, program } = calls;
  const config = model?.config;
  if (!config || !headSizes(config).includes(WIDE_HEAD)) return;
  if (isAtLeast(versions?.unsloth?.version, TAKES_WIDE_HEADS) === false) return;
  if (variableOf(program, 'UNSLOTH_HD512_ATTENTION') === '0') return;
  const source = fileIn(UNSLOTH, 'unsloth/kernels/large_head_attention.py');
  const note = say('Unsloth has a kernel for heads of {0} dimensions', WIDE_HEAD);
  draft.assume('kernels.wideHeads', true, note, source);
}

/** What decides over the attention of a model. */
interface Support {
  readonly type: string;
  readonly sdpa: boolean;
  /** Its class has SDPA, whatever Unsloth thinks of it. */
  readonly own: boolean;
  readonly flex: boolean;
  readonly flash: boolean;
  /** Its heads are too wide for FlashAttention 2, or it has none. */
  readonly refusesFlash: boolean;
}

function supportOf({ bf16 }: Calls, { known }: ReadContext, config: Config): Support {
  const type = String(config.model_type);
  const language = languageType(config);
  const release = known['version.transformers'];
  const version = typeof release === 'string' ? release : undefined;
  const lacks = (kernel: 'sdpa' | 'flash') =>
    lacksKernel(kernel, type, version) || lacksKernel(kernel, language, version);
  return {
    type,
    own: !lacks('sdpa'),
    sdpa: !WITHOUT_SDPA.test(type) && !lacks('sdpa'),
    // Flexible attention is for Ampere and newer (`_FLEX_ATTENTION_MIN_CAPABILITY`).
    flex: bf16 !== false,
    flash: !lacks('flash') && bf16 !== false,
    refusesFlash: WITHOUT_FLASH.test(type) || Math.max(0, ...headSizes(config)) > WIDEST_FLASH,
  };
}

function headSizes(config: Config): readonly number[] {
  const nested = Object.entries(config).flatMap(([key, value]) =>
    key.endsWith('_config') && typeof value === 'object' && value !== null ? [value as Config] : [],
  );
  return [config, ...nested].flatMap((one) =>
    ['head_dim', 'global_head_dim', 'local_head_dim', 'kv_head_dim'].flatMap((key) => {
      const size = one[key];
      return typeof size === 'number' ? [size] : [];
    }),
  );
}

function takenInstead(asked: Kernel, { sdpa, flex, refusesFlash, type }: Support): Kernel {
  const fallback = sdpa ? 'sdpa' : flex ? 'flex' : 'eager';
  if ((asked === 'flash2' || asked === 'flash3') && refusesFlash) return fallback;
  return asked === 'sdpa' && WITHOUT_SDPA.test(type) ? (refusesFlash ? fallback : 'eager') : asked;
}

function defaultOf(
  calls: Calls,
  context: ReadContext,
  { type, sdpa, flex, flash, refusesFlash }: Support,
): Kernel {
  if (EAGER.test(type)) return 'eager';
  const prefersFlex = isAtLeast(context.versions?.unsloth?.version, PREFERS_FLEX) !== false;
  if (FLEXIBLE.test(type) && flex && prefersFlex) return 'flex';
  if (flash && !refusesFlash && installsFlash(calls, context)) return 'flash2';
  // Before, no card was too old for it (`_FLEX_ATTENTION_MIN_CAPABILITY` came later).
  if (FLEXIBLE.test(type) && !prefersFlex) return 'flex';
  return sdpa ? 'sdpa' : FLEXIBLE.test(type) ? 'eager' : flex ? 'flex' : 'eager';
}
