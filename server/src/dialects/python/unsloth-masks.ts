import type { PyCall } from '../../config/python/value';
import { fileIn, UNSLOTH_ZOO } from '../../sources/repositories';
import { isAtLeast } from '../../terms/version';
import { say } from '../../wording/say';
import type { ReadContext } from '../dialect';
import { type Calls, variableOf } from './call-block';

const MASKS = fileIn(UNSLOTH_ZOO, 'unsloth_zoo/temporary_patches/misc.py');

/** Since this release what makes masks is compiled (`patch_transformers_masks`; 2026.1.4 has it not). */
const COMPILES_MASKS = '2026.2.1';
/** Since this release masks that hide nothing are left out before that (`_maskless_causal_arguments`; 2026.9.9 has it not). */
const LEAVES_OUT = '2026.10.1';
/** Until this release other models than these run flexible attention where they have it, which has blocks in place of a mask (`determine_attention_implementation`). */
const GOES_BY_SDPA = '2026.4.6';
const NEVER_FLEXIBLE = /^gemma4/;
/** Types whose module was imported before the patch (`temporary_patches/gemma.py`, `misc.py`), and encoders, whose masks others make. */
const BEFORE = /^(?:gemma3(?:_text)?|csm|modernbert|whisper|\w*bert\w*)$/;

/**
 * A mask reaches SDPA in every batch of releases that compile what makes it: transformers leaves one that hides nothing out, but not while
 * it is traced (`masking_utils.py`, `_ignore_causal_mask_sdpa`). Layers that Unsloth writes itself ask for none.
 */
export function readCompiledMasks(
  { draft, program }: Calls,
  load: PyCall,
  written: boolean,
  { model, versions }: ReadContext,
): void {
  const release = versions?.unsloth?.version;
  const config = model?.config;
  if (written || config === undefined || /SentenceTransformer/.test(load.callee)) return;
  if (isAtLeast(release, COMPILES_MASKS) !== true || isAtLeast(release, LEAVES_OUT) !== false) return;
  if (variableOf(program, 'UNSLOTH_COMPILE_DISABLE') === '1') return;
  const type = String(config.model_type);
  if (isAtLeast(release, GOES_BY_SDPA) === false && !NEVER_FLEXIBLE.test(type)) return;
  if (BEFORE.test(type) || draft.valueOf('attention.implementation') !== 'sdpa') return;
  const note = say('Unsloth {0} compiles what makes masks, and each batch has one', release ?? '');
  draft.assume('attention.mask', true, note, MASKS);
}

const ATTENTION = fileIn(UNSLOTH_ZOO, 'unsloth_zoo/temporary_patches/gemma.py');
const GEMMA_3 = /^gemma3(?:_text)?$/;
/** From these releases on Unsloth calls SDPA for Gemma 3 itself: where it forces fp32, and elsewhere (`patch_Gemma3Attention`, `patch_Gemma3Attention_generic`). */
const CALLS = { forced: '2025.5.11', plain: '2025.7.11' } as const;
/** Since this release it repeats heads where no kernel takes groups (`sdpa_gqa.py`; 2026.10.7 has it not). */
const REPEATS = '2026.10.8';

/** Gemma 3's attention asks SDPA for groups whatever the mask, for which there is no kernel but the one that keeps all scores. */
export function readGroupedMasks({ draft }: Calls, forced: boolean, { model, versions }: ReadContext): void {
  const release = versions?.unsloth?.version;
  if (!GEMMA_3.test(String(model?.config?.model_type))) return;
  if (draft.valueOf('attention.implementation') !== 'sdpa') return;
  if (
    isAtLeast(release, forced ? CALLS.forced : CALLS.plain) !== true ||
    isAtLeast(release, REPEATS) !== false
  )
    return;
  const note = say('Unsloth {0} asks SDPA to group heads under a mask', release ?? '');
  draft.assume('attention.groupsMasked', true, note, ATTENTION);
}
