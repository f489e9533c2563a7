import { knownNode } from '../../config/python/node-of-value';
import type { PyCall } from '../../config/python/value';
import { textOf } from '../../config/scalar';
import { lacksKernel, languageType } from '../../run/behaviours';
import type { FieldValue } from '../../run/fields';
import { fileIn, UNSLOTH } from '../../sources/repositories';
import { say } from '../../wording/say';
import type { ReadContext } from '../dialect';
import { attentionOf } from '../hf/attention';
import { argumentOf, type Calls, leaveArgument } from './call-block';

const CHOICE = fileIn(UNSLOTH, 'unsloth/models/_utils.py');
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
  if (written) readOwnLayers(calls, load, config);
  else readChosen(calls, load, context, config);
}

/** `flash-attn` among what the cells install. */
const installsFlash = ({ installs = [] }: Calls) =>
  installs.some(({ name, commented }) => /^flash[-_]attn$/.test(name) && !commented);

function readOwnLayers(calls: Calls, load: PyCall, config: Config): void {
  const { draft } = calls;
  const field = 'attention.implementation';
  const flash = installsFlash(calls) && calls.bf16 !== false;
  if (config.model_type === 'gemma2') {
    const source = fileIn(UNSLOTH, 'unsloth/models/gemma2.py');
    const note = flash
      ? say('Unsloth runs FlashAttention 2, which is installed')
      : say('Unsloth writes out attention that caps its scores, where FlashAttention 2 is not installed');
    draft.assume(field, flash ? 'flash2' : 'eager', note, source);
  } else if (flash)
    draft.assume(field, 'flash2', say('Unsloth runs FlashAttention 2, which is installed'), OWN_LAYERS);
  else {
    // xFormers keeps what SDPA does: no scores.
    const note = argumentOf(load, KEY)
      ? say('Unsloth runs attention of its own, whatever `{0}` says', KEY)
      : say('Unsloth runs attention of its own: xFormers or SDPA, where FlashAttention 2 is not installed');
    draft.assume(field, 'sdpa', note, OWN_LAYERS);
  }
}

function readChosen(calls: Calls, load: PyCall, context: ReadContext, config: Config): void {
  const { draft } = calls;
  const field = 'attention.implementation';
  const asked = argumentOf(load, KEY);
  const word = textOf(knownNode(asked));
  const kernel = attentionOf(word);
  const isNone = asked?.kind === 'scalar' && asked.value === null;
  if (asked && !isNone && kernel === undefined) {
    leaveArgument(draft, KEY, asked, [field]);
    return;
  }
  const support = supportOf(calls, context, config);
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
  const byDefault = defaultOf(calls, support);
  if (byDefault !== 'sdpa') draft.assume(field, byDefault, say('{0} default', 'Unsloth'), CHOICE);
}

/** What decides over the attention of a model. */
interface Support {
  readonly type: string;
  readonly sdpa: boolean;
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
    sdpa: !WITHOUT_SDPA.test(type) && !lacks('sdpa'),
    // Flexible attention is for Ampere and newer (`_FLEX_ATTENTION_MIN_CAPABILITY`).
    flex: bf16 !== false,
    flash: !lacks('flash') && bf16 !== false,
    refusesFlash: WITHOUT_FLASH.test(type) || widestHead(config) > WIDEST_FLASH,
  };
}

function widestHead(config: Config): number {
  const nested = Object.entries(config).flatMap(([key, value]) =>
    key.endsWith('_config') && typeof value === 'object' && value !== null ? [value as Config] : [],
  );
  const sizes = [config, ...nested].flatMap((one) =>
    ['head_dim', 'global_head_dim', 'local_head_dim', 'kv_head_dim'].flatMap((key) => {
      const size = one[key];
      return typeof size === 'number' ? [size] : [];
    }),
  );
  return Math.max(0, ...sizes);
}

function takenInstead(asked: Kernel, { sdpa, flex, refusesFlash, type }: Support): Kernel {
  const fallback = sdpa ? 'sdpa' : flex ? 'flex' : 'eager';
  if ((asked === 'flash2' || asked === 'flash3') && refusesFlash) return fallback;
  return asked === 'sdpa' && WITHOUT_SDPA.test(type) ? (refusesFlash ? fallback : 'eager') : asked;
}

function defaultOf(calls: Calls, { type, sdpa, flex, flash, refusesFlash }: Support): Kernel {
  if (EAGER.test(type)) return 'eager';
  if (FLEXIBLE.test(type) && flex) return 'flex';
  if (flash && !refusesFlash && installsFlash(calls)) return 'flash2';
  return sdpa ? 'sdpa' : FLEXIBLE.test(type) ? 'eager' : flex ? 'flex' : 'eager';
}
