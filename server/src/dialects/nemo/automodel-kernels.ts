import { flagOf, textOf } from '../../config/scalar';
import type { RunValues } from '../../run/fields';
import type { OpenQuestion } from '../../run/open-question';
import { say } from '../../wording/say';
import type { ReadContext, RunMember } from '../dialect';
import { attentionOf } from '../hf/attention';
import type { FoundKey, Section } from '../section';
import { own } from './automodel-default';

/**
 * Types of models that Automodel computes in classes of its own (`_transformers/registry.py`, `MODEL_ARCH_MAPPING`): kernels of
 * Liger, and what `attn_implementation` is made to be, are for those of transformers alone.
 */
const OWN_CLASSES: ReadonlySet<string> = new Set(
  `baichuan bailing_moe_v2 deepseek_v3 deepseek_v32 deepseek_v4 ernie4_5_moe glm4_moe glm4_moe_lite glm_moe_dsa gemma4 gemma4_unified
  gpt_oss kimi_k25 kimi_k3 kimi_vl kimi_linear llama minimax_m2 minimax_m3 mimo_v2_flash laguna ministral3 mistral4 nemotron_h
  llava_onevision1_5 hy_v3 qwen2 qwen3 qwen2_5_omni qwen3_moe qwen3_next qwen3_5 qwen3_omni_moe qwen3_vl_moe qwen3_vl qwen3_5_moe
  step3p5 step3p7`.split(/\s+/),
);

const AUTO_MODEL = '_transformers/auto_model.py';
const PATCHES = '_transformers/kernel_patches.py';

/**
 * Attention: FlashAttention 2 where it is installed (`DEFAULT_ATTN_IMPLEMENTATION`), which packed rows need, and torch's under
 * context parallelism (`_apply_preload_overrides`). Liger: where it is installed, without tensor and context parallelism.
 */
export function readKernels(section: Section, context: ReadContext): void {
  const kernel = section.find([
    'model.attn_implementation',
    'model.config.attn_implementation',
    'model.backend.attn',
  ]);
  const forced = flagOf(section.find('model.force_hf')?.node) === true;
  const isOwn = !forced && hasOwnClass(context);
  const split = (size: string) => section.integerOrDefault(`distributed.${size}`) > 1;
  if (isOwn) readAttention(section, kernel);
  else readPatchedAttention(section, kernel, split('cp_size'));
  if (isOwn || split('tp_size') || split('cp_size'))
    section.assume('kernels.liger', own(false, say('not with such a model or layout'), AUTO_MODEL));
  else section.takeElse('model.use_liger_kernel', own(true, say('where Liger is installed'), AUTO_MODEL));
}

function hasOwnClass(context: ReadContext): boolean {
  const { model_type: type, text_config: text } = context.model?.config ?? {};
  // Mistral 3 is a class of its own over a language model of Mistral 4 alone (`models/mistral4/model.py`, `supports_config`).
  const inner = type === 'mistral3' && typeof text === 'object' && text !== null ? text : undefined;
  const decides = inner && 'model_type' in inner ? inner.model_type : type;
  return typeof decides === 'string' && OWN_CLASSES.has(decides) && (!inner || decides === 'mistral4');
}

function readAttention(section: Section, kernel: FoundKey | undefined): void {
  const word = textOf(kernel?.node);
  const attention = word === 'te' ? 'flash2' : attentionOf(word);
  if (kernel && attention) section.state('attention.implementation', attention, kernel);
  else if (kernel) section.leave(kernel, ['attention.implementation']);
  else
    section.assume(
      'attention.implementation',
      own('sdpa' as const, say("Automodel takes torch's attention"), AUTO_MODEL),
    );
}

function readPatchedAttention(section: Section, kernel: FoundKey | undefined, inContext: boolean): void {
  const rows = section.integerOrDefault('packed_sequence.packed_sequence_size');
  const asked = attentionOf(textOf(kernel?.node));
  const flashes = asked !== undefined && /^flash/.test(asked);
  const packs = rows > 0 && !flashes;
  if (kernel && !inContext && !packs) readAttention(section, kernel);
  else
    section.assume(
      'attention.implementation',
      inContext
        ? own('sdpa' as const, say("context parallelism takes torch's attention"), PATCHES)
        : own(
            'flash2' as const,
            packs ? say('packed rows take FlashAttention') : say('where FlashAttention is installed'),
            PATCHES,
          ),
    );
}

/** No file states what is installed: FlashAttention and Liger are in its container, and not in its package's own requirements. */
export function kernelQuestions(_members: readonly RunMember[], values: RunValues): OpenQuestion[] {
  const questions: OpenQuestion[] = [];
  if (values['attention.implementation'] === 'flash2' && values['batch.packed'] !== true)
    questions.push({
      field: 'attention.implementation',
      reason: say('No file says whether {0} is installed: it is assumed.', 'flash-attn'),
      otherwise: {
        changes: { 'attention.implementation': 'sdpa' },
        words: say("torch's attention"),
      },
    });
  if (values['kernels.liger'] === true)
    questions.push({
      field: 'kernels.liger',
      reason: say('No file says whether {0} is installed: it is assumed.', 'liger-kernel'),
      otherwise: { changes: { 'kernels.liger': false }, words: say('no kernels of Liger') },
    });
  return questions;
}
