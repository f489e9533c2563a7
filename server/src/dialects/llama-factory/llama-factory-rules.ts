import type { ConfigNode, MapNode } from '../../config/node';
import { flagOf, textOf } from '../../config/scalar';
import type { RuleId } from '../../rules/rule-id';
import { fileIn, LLAMA_FACTORY } from '../../sources/repositories';
import { say } from '../../wording/say';
import { reportDead } from '../dead-keys';
import type { ReadContext } from '../dialect';
import type { Draft } from '../draft';
import { checkParsedArguments } from '../hf/released-arguments';
import { checkTrainingArguments } from '../hf/training-arguments-rules';
import { forbid } from '../refusal';
import type { Section } from '../section';
import { LLAMA_FACTORY_TABLE } from './llama-factory-keys';

const PARSER = fileIn(LLAMA_FACTORY, 'src/llamafactory/hparams/parser.py');
const FINETUNING = fileIn(LLAMA_FACTORY, 'src/llamafactory/hparams/finetuning_args.py');

/** A config as its rules look at it. */
interface Checked {
  readonly section: Section;
  readonly context: ReadContext;
  readonly stage: string | undefined;
  /** `finetuning_type`. */
  readonly type: string;
  /** ZeRO-3 in the file that it joins. */
  readonly third: boolean;
  readonly on: (key: string) => boolean;
  readonly at: (key: string) => ConfigNode | undefined;
  /**
   * Reports a key whose combination LLaMA-Factory refuses; `from` is the first release that does, where older ones that have the key
   * take it (messages of the tags v0.3.0 to v0.9.5).
   */
  readonly refuse: (
    broken: boolean,
    key: string,
    code: RuleId,
    message: string,
    source?: string,
    from?: string,
  ) => void;
}

/** What LLaMA-Factory refuses (`hparams/parser.py`, `get_train_args`; `finetuning_args.py`, `__post_init__`). */
export function checkLlamaFactory(root: MapNode, section: Section, context: ReadContext, draft: Draft): void {
  checkTrainingArguments(root, section, LLAMA_FACTORY_TABLE, 'LLaMA-Factory', draft);
  // Its releases bring arguments that transformers drops (`hparams/training_args.py`, `overwrite_output_dir`), and end what they take of it.
  checkParsedArguments(root, draft, { may: true, isOwn: (key) => key === 'overwrite_output_dir' });
  const at = (key: string) => section.find(key)?.node;
  const type = textOf(at('finetuning_type'))?.toLowerCase() ?? 'lora';
  const checked: Checked = {
    section,
    context,
    stage: textOf(at('stage'))?.toLowerCase(),
    type,
    third: context.known['parallel.data'] === 'zero' && context.known['zero.stage'] === 3,
    on: (key) => flagOf(at(key)) === true,
    at,
    refuse: (broken, key, code, message, source = PARSER, from) =>
      forbid(broken, at(key), draft, { code, message, source, ...(from ? { releases: { from } } : {}) }),
  };
  checkWeights(checked);
  checkAdapter(checked);
  checkOptimizer(checked);
  checkStage(checked);
  checkDead(section, type, draft);
}

/** Quantized weights, and those that cannot be had under ZeRO-3. */
function checkWeights({ section, type, third, on, refuse }: Checked): void {
  const adapters = type === 'lora' || type === 'oft';
  refuse(
    section.has('quantization_bit') && !adapters,
    'quantization_bit',
    'quantized-without-adapter',
    say(
      'Quantized weights cannot be trained themselves: `finetuning_type: {0}` needs them whole. Use `lora`.',
      type,
    ),
  );
  refuse(
    on('pure_bf16') && third,
    'pure_bf16',
    'pure-bf16-zero3',
    say('`pure_bf16` does not work with ZeRO-3.'),
    PARSER,
    '0.8.0',
  );
  refuse(
    on('use_unsloth') && third,
    'use_unsloth',
    'unsloth-zero3',
    say('Unsloth does not work with ZeRO-3.'),
    PARSER,
    '0.8.0',
  );
  refuse(
    on('fp8') && section.has('quantization_bit'),
    'fp8',
    'fp8-quantized',
    say('fp8 training does not work on quantized weights.'),
  );
  refuse(
    section.has('quantization_bit') && on('resize_vocab'),
    'resize_vocab',
    'resize-quantized',
    say('The embedding of a quantized model cannot be resized.'),
    PARSER,
    '0.7.0',
  );
}

/** Adapters, and what changes the base below them. */
function checkAdapter({ section, stage, type, third, on, at, refuse }: Checked): void {
  const preference = textOf(at('pref_loss'))?.toLowerCase() ?? 'sigmoid';
  const reference = stage === 'dpo' && preference !== 'orpo' && preference !== 'simpo';
  refuse(
    section.has('quantization_bit') && on('pissa_init'),
    'pissa_init',
    'pissa-quantized',
    say('PiSSA cannot be initialised on a quantized model.'),
  );
  refuse(
    on('pissa_init') && third,
    'pissa_init',
    'pissa-zero3',
    say('PiSSA cannot be initialised under ZeRO-3.'),
    PARSER,
    '0.8.3',
  );
  refuse(
    section.has('adapter_name_or_path') && type !== 'lora',
    'adapter_name_or_path',
    'adapter-without-lora',
    say('An adapter can only be loaded for `finetuning_type: lora`.'),
    PARSER,
    '0.5.2',
  );
  for (const key of ['use_dora', 'use_rslora', 'pissa_init', 'loraplus_lr_ratio'])
    refuse(
      type !== 'lora' && section.has(key) && flagOf(at(key)) !== false,
      key,
      'lora-only',
      say('`{0}` works for `finetuning_type: lora` only.', key),
      FINETUNING,
      key === 'loraplus_lr_ratio' ? '0.6.3' : '0.8.3',
    );
  refuse(
    on('pissa_init') && type === 'lora' && (stage === 'ppo' || stage === 'kto' || reference),
    'pissa_init',
    'pissa-reference',
    say('PiSSA changes the base weights, which are the reference in this stage.'),
    FINETUNING,
  );
  refuse(
    on('use_llama_pro') && type === 'full',
    'use_llama_pro',
    'llama-pro-full',
    say('`use_llama_pro` trains some layers only: use `finetuning_type: freeze` or `lora`.'),
    FINETUNING,
  );
}

/** GaLore, APOLLO and BAdam. */
function checkOptimizer({ section, context, type, on, refuse }: Checked): void {
  const lowRank = ['use_galore', 'use_apollo', 'use_badam'].filter(on);
  const gpus = context.known['hardware.gpus'];
  refuse(
    (on('use_galore') || on('use_apollo')) && section.has('deepspeed'),
    'deepspeed',
    'low-rank-optimizer-deepspeed',
    say('GaLore and APOLLO do not work with DeepSpeed.'),
  );
  refuse(
    lowRank.length > 0 && type === 'lora',
    lowRank[0] ?? '',
    'low-rank-optimizer-lora',
    say('GaLore, APOLLO and BAdam do not work with LoRA.'),
    FINETUNING,
    // GaLore and APOLLO since they are there.
    lowRank[0] === 'use_badam' ? '0.8.0' : undefined,
  );
  refuse(
    lowRank.length > 1,
    lowRank[1] ?? '',
    'two-low-rank-optimizers',
    say('GaLore, APOLLO and BAdam exclude each other.'),
    FINETUNING,
    on('use_apollo') ? undefined : '0.7.1',
  );
  for (const key of ['galore_layerwise', 'apollo_layerwise'])
    refuse(
      on(key) && on(`use_${key.split('_')[0]}`) && typeof gpus === 'number' && gpus > 1,
      key,
      'layerwise-distributed',
      say('`{0}` works on one GPU only.', key),
    );
}

/** What the stage of the training needs. */
function checkStage({ section, stage, third, on, at, refuse }: Checked): void {
  const preference = textOf(at('pref_loss'))?.toLowerCase() ?? 'sigmoid';
  refuse(
    on('predict_with_generate') && third,
    'predict_with_generate',
    'generate-zero3',
    say('`predict_with_generate` does not work with ZeRO-3.'),
    PARSER,
    '0.9.0',
  );
  refuse(
    on('neat_packing') && stage !== undefined && stage !== 'sft',
    'neat_packing',
    'neat-packing-stage',
    say('`neat_packing` works for `stage: sft` only.'),
  );
  refuse(
    stage === 'ppo' && !section.has('reward_model'),
    'stage',
    'missing-reward-model',
    say('PPO needs a `reward_model`.'),
    FINETUNING,
  );
  refuse(
    stage === 'dpo' && preference !== 'sigmoid' && section.numberOrDefault('dpo_label_smoothing') > 1e-6,
    'dpo_label_smoothing',
    'label-smoothing-loss',
    say('`dpo_label_smoothing` works with `pref_loss: sigmoid` only.'),
    FINETUNING,
  );
  refuse(
    on('streaming') && section.integerOrDefault('max_steps') === -1,
    'streaming',
    'missing-steps',
    say('A streamed data set has no length: set `max_steps`.'),
  );
}

const LORA_KEYS = ['lora_rank', 'lora_alpha', 'lora_dropout', 'lora_target'];

/** LoRA keys beside a method that is not LoRA. */
function checkDead(section: Section, type: string, draft: Draft): void {
  if (type === 'lora') return;
  reportDead(section, draft, {
    keys: LORA_KEYS,
    one: (key) => say('`{0}` has no effect with `finetuning_type: {1}`.', key, type),
    several: (keys) => say('With `finetuning_type: {0}` these have no effect: {1}.', type, keys),
    source: FINETUNING,
    heedsOff: true,
  });
}
