import { flagOf, integerOf, switchOf, textOf } from '../../config/scalar';
import type { FieldValue } from '../../run/fields';
import { fileIn, PEFT, TRANSFORMERS } from '../../sources/repositories';
import { say } from '../../wording/say';
import { assumeLength } from '../length-cap';
import type { DefaultValue, Section } from '../section';
import {
  FASTCHAT,
  INTERN_VL,
  LLAVA,
  LONG_LORA,
  QLORA,
  QWEN,
  QWEN2_VL_FINETUNE,
  STANFORD_ALPACA,
} from './hugging-face-repository';
import type { KnownScript, ScriptAdapter } from './known-script';
import { lmflow } from './lmflow';
import { readNewModel } from './new-model';
import { SCRIPT_ARGUMENTS_TABLE } from './script-arguments-keys';

/** Under its launcher a module is written with dots. */
const path = (script: string) => script.replaceAll('.', '/').replace(/\/py$/, '');

/** `torch_dtype=(torch.bfloat16 if training_args.bf16 else None)`. */
function loadsInBf16(section: Section): void {
  const bf16 = section.find('bf16');
  if (bf16 && flagOf(bf16.node) === true)
    section.state('precision.weights', 'bf16', bf16, say('the script loads the model in bf16'));
}

/** A loop behind `get_peft_model` gives adapters, embedding and head the type that the run computes in (`qlora.py`, `get_accelerate_model`). */
function castsBack(section: Section): void {
  const bf16 = section.find('bf16');
  if (!bf16 || flagOf(bf16.node) !== true) return;
  section.state('lora.dtype', 'bf16', bf16, say('the script casts adapters to bf16'));
  section.state('quantization.recast', true, bf16, say('the script casts embedding and head back to bf16'));
}

/** Base weights in 4 or 8 bits by `--bits`, in NF4 with double quantization unless set otherwise. */
function readBits(section: Section, own: <V>(value: V) => DefaultValue<V>, byDefault?: 4): void {
  const bits = section.find('bits');
  const width = integerOf(bits?.node) ?? byDefault;
  if (width !== 4 && width !== 8) return;
  const fp4 = section.text('quant_type') === 'fp4';
  const kind: FieldValue<'quantization.kind'> = width === 8 ? 'int8' : fp4 ? 'fp4' : 'nf4';
  if (bits) section.state('quantization.kind', kind, bits);
  else section.assume('quantization.kind', own(kind), 'bits');
  if (width === 4) section.takeElse('double_quant', own(true));
}

/** Flags by which LLaVA and its forks name a tower; a kind of projector alone tells that there is one, too. */
const TOWERS = ['vision_tower', 'vision_encoder', 'image_tower', 'video_tower', 'mm_projector_type'];
const PROJECTOR = '(?:model\\.)?(?:mm_projector|multi_modal_projector)';
const LANGUAGE_MODEL =
  '(?:model\\.)?(?:language_model\\.)?(?:model\\.)?(?:layers|embed_tokens|norm|lm_head)\\b';
/** Linear layers of the language model: LLaVA leaves the vision tower out (`find_all_linear_names`). */
const LANGUAGE_LAYERS =
  'model\\.language_model\\.layers\\.\\d+\\.(self_attn|mlp)\\.(q_proj|k_proj|v_proj|o_proj|gate_proj|up_proj|down_proj)';

/**
 * LLaVA puts a vision tower and a projector before the language model that it is given: with the tower and the projector of LLaVA
 * 1.5 the model is that one. The tower stays frozen, and one switch trains the projector alone.
 * `llava/train/train.py`
 */
function readLlava(section: Section): void {
  const tower = section.find(TOWERS);
  const base = section.find('model_name_or_path');
  const name = textOf(base?.node) ?? '';
  const size = /(?:vicuna|llama-?2).*?\b(7|13)b/i.exec(name)?.[1];
  const same =
    /clip-vit-large-patch14-336$/.test(textOf(tower?.node) ?? '') &&
    section.text('mm_projector_type') === 'mlp2x_gelu';
  // A LLaVA that is trained on has both already.
  const whole = /llava/i.test(name) && !/vicuna/i.test(name);
  const known = tower && (whole || (same && size !== undefined));
  if (known && base && !whole)
    section.state(
      'model.id',
      `llava-hf/llava-1.5-${size}b-hf`,
      base,
      say('{0} with the vision tower and the projector of LLaVA 1.5', name),
    );
  else if (tower && !known)
    section.state(
      'features.unmodelled',
      ['vision-tower'],
      tower,
      say('The vision tower and the projector are not part of the estimate.'),
    );
  const only = section.find(['tune_mm_mlp_adapter', 'tune_mm_mlp_projector']);
  if (only && flagOf(only.node) === true) {
    section.state('method.kind', 'freeze', only, say('only the projector is trained'));
    section.state('method.trainable', [PROJECTOR], only);
    return;
  }
  if (!known) return;
  const lora = section.find('lora_enable');
  if (lora && flagOf(lora.node) === true) {
    section.state('lora.targetPattern', LANGUAGE_LAYERS, lora);
    section.state('lora.modulesToSave', ['multi_modal_projector'], lora);
    return;
  }
  const note = say('the vision tower is frozen');
  section.state('method.kind', 'freeze', tower, note);
  section.state(
    'method.trainable',
    section.flag('freeze_mm_mlp_adapter') === true ? [LANGUAGE_MODEL] : [LANGUAGE_MODEL, PROJECTOR],
    tower,
    note,
  );
}

const ALL = ['all-linear'];
const FASTCHAT_TRAINING = fileIn(FASTCHAT, 'fastchat/train/');
const FASTCHAT_FOLDER = /(^|\/)fastchat\/train\//;
/** `optim` of `TrainingArguments` in the scripts that FastChat and Alpaca became the pattern of. */
const ADAMW = 'adamw_torch';

/** Whether a script is one of FastChat: by its folder, or by a name that others have, too, together with what only it is given. */
const isFastchat = (script: string, name: string, isGiven: boolean) =>
  new RegExp(`(^|/)fastchat/train/${name}$`).test(path(script)) ||
  (isGiven && new RegExp(`(^|/)${name}$`).test(path(script)));
const EXAMPLES = fileIn(TRANSFORMERS, 'examples/');
/** HF's examples take a model by `--model_name_or_path`: a script of their name that is given `--model_id` is somebody's own. */
const isExample = (has: (flag: string) => boolean): boolean => !has('model_id');

/** Scripts of HF's examples that differ in their lengths alone: name, argument, default, and default of the target. */
const EXAMPLE_LENGTHS: readonly (readonly [
  name: RegExp,
  key: string,
  tokens: number,
  objective: FieldValue<'method.objective'>,
  target?: number,
])[] = [
  [/^run_glue|^run_classification|^run_xnli/, 'max_seq_length', 128, 'classification'],
  [/^run_(qa|squad)/, 'max_seq_length', 384, 'lm'],
  [/^run_seq2seq_qa/, 'max_seq_length', 384, 'lm', 30],
  [/^run_summarization|^finetune_trainer/, 'max_source_length', 1024, 'lm', 128],
  [/^run_translation/, 'max_source_length', 1024, 'lm', 128],
];

export const KNOWN_SCRIPTS: readonly KnownScript[] = [
  {
    name: 'LLaVA',
    source: fileIn(LLAVA, 'llava/train/train.py'),
    matches: (script, has) =>
      /(^|\/)llava\/train\//.test(path(script)) || has('mm_projector_type') || has('mm_vision_select_layer'),
    optim: ADAMW,
    adapter: { switches: ['lora_enable'], rank: 64, alpha: 16, dropout: 0.05, targets: ALL },
    length: { key: 'model_max_length', tokens: 512 },
    read(section, _draft, _context, own) {
      readBits(section, own);
      readLlava(section);
      loadsInBf16(section);
    },
  },
  {
    name: 'LongLoRA',
    source: fileIn(LONG_LORA, 'fine-tune.py'),
    loads: 'AutoModelForCausalLM',
    matches: (_script, has) => has('low_rank_training') || has('use_full_attn'),
    trainer: { checkpointing: true },
    optim: ADAMW,
    length: { key: 'model_max_length', tokens: 32768 },
    read(section, _draft, _context, own) {
      // `torch_dtype=torch.bfloat16`, whatever the Trainer computes in.
      section.assume('precision.weights', own('bf16' as const));
      const flash = section.find('use_flash_attn');
      const kernel = switchOf(flash?.node, 'flash2' as const, 'eager' as const);
      if (flash && kernel) section.state('attention.implementation', kernel, flash);
      else if (flash) section.leave(flash, ['attention.implementation']);
      else section.assume('attention.implementation', own('flash2' as const), 'use_flash_attn');
      const low = section.find('low_rank_training');
      if (low && flagOf(low.node) === false) {
        section.state('method.kind', 'full', low);
        return;
      }
      if (low && flagOf(low.node) === true) section.state('method.kind', 'lora', low);
      else section.assume('method.kind', own('lora' as const), 'low_rank_training');
      section.assume('lora.rank', own(8));
      section.assume('lora.alpha', own(16));
      section.assume('lora.dropout', own(0));
      section.assume('lora.targets', own(['q_proj', 'k_proj', 'v_proj', 'o_proj']));
      // Embedding and norms are trained beside the adapters.
      const more = section.find('trainable_params');
      const named = textOf(more?.node) ?? 'embed,norm';
      if (named.split(',').includes('embed'))
        section.assume('lora.modulesToSave', own(['embed_tokens']), 'trainable_params');
    },
  },
  {
    name: 'FastChat LoRA',
    source: `${FASTCHAT_TRAINING}train_lora.py`,
    loads: 'AutoModelForCausalLM',
    matches: (script, has) => isFastchat(script, 'train_lora', has('lazy_preprocess') || has('q_lora')),
    isCommon: (script) => !FASTCHAT_FOLDER.test(path(script)),
    optim: ADAMW,
    adapter: { switches: 'always', rank: 8, alpha: 16, dropout: 0.05, targets: ['q_proj', 'v_proj'] },
    length: { key: 'model_max_length', tokens: 512 },
  },
  {
    name: 'FastChat LoRA of T5',
    source: `${FASTCHAT_TRAINING}train_lora_t5.py`,
    matches: (script, has) => isFastchat(script, 'train_lora_t5', has('data_path')),
    isCommon: (script) => !FASTCHAT_FOLDER.test(path(script)),
    optim: ADAMW,
    adapter: { switches: 'always', rank: 8, alpha: 16, dropout: 0.05, targets: ['q', 'v'] },
    length: { key: 'model_max_length', tokens: 2048 },
  },
  {
    name: 'FastChat T5',
    source: `${FASTCHAT_TRAINING}train_flant5.py`,
    matches: (script, has) => isFastchat(script, 'train_flant5', has('data_path')),
    isCommon: (script) => !FASTCHAT_FOLDER.test(path(script)),
    optim: ADAMW,
    length: { key: 'model_max_length', tokens: 2048 },
  },
  {
    name: 'FastChat',
    source: `${FASTCHAT_TRAINING}train.py`,
    loads: 'AutoModelForCausalLM',
    matches: (script, has) =>
      FASTCHAT_FOLDER.test(path(script)) ||
      isFastchat(script, 'train(?:_mem|_xformers)?', has('data_path') && has('lazy_preprocess')),
    isCommon: (script) => !FASTCHAT_FOLDER.test(path(script)),
    optim: ADAMW,
    length: { key: 'model_max_length', tokens: 512 },
  },
  {
    name: 'Stanford Alpaca',
    source: fileIn(STANFORD_ALPACA, 'train.py'),
    loads: 'AutoModelForCausalLM',
    // As its README starts it, and as it is started elsewhere: from its own folder, sharded by the Trainer.
    matches: (script, has) =>
      has('data_path') &&
      (/(^|\/)stanford_alpaca\/train$/.test(path(script)) || (path(script) === 'train' && has('fsdp'))),
    isCommon: () => true,
    optim: ADAMW,
    length: { key: 'model_max_length', tokens: 512 },
  },
  lmflow(/(^|\/)(multistage_)?finetune(_with_custom_optim)?$/, 'lm'),
  lmflow(/(^|\/)reward_modeling$/, 'reward'),
  {
    name: 'Qwen',
    source: fileIn(QWEN, 'finetune.py'),
    loads: 'AutoModelForCausalLM',
    matches: (script, has) =>
      /(^|\/)finetune$/.test(path(script)) && has('data_path') && (has('lazy_preprocess') || has('q_lora')),
    isCommon: () => true,
    adapter: {
      switches: ['use_lora'],
      rank: 64,
      alpha: 16,
      dropout: 0.05,
      targets: ['c_attn', 'c_proj', 'w1', 'w2'],
    },
    optim: ADAMW,
    length: { key: 'model_max_length', tokens: 8192 },
    read(section) {
      const quantized = section.find('q_lora');
      // `GPTQConfig(bits=4)`: the base is a GPTQ model.
      if (quantized && flagOf(quantized.node) === true && section.flag('use_lora') === true)
        section.state('quantization.kind', 'gptq', quantized);
    },
  },
  {
    name: 'Qwen2-VL-Finetune',
    source: fileIn(QWEN2_VL_FINETUNE, 'src/params.py'),
    matches: (script, has) => has('model_id') && /(^|\/)train_(sft|dpo|cls|grpo)$/.test(path(script)),
    adapter: { switches: ['lora_enable'], rank: 64, alpha: 16, dropout: 0.05, targets: ALL },
    read(section, draft, _context, own) {
      section.by(SCRIPT_ARGUMENTS_TABLE).take('model_id');
      readBits(section, own);
      section.takeElse('use_liger', own(true));
      const off = section.find('disable_flash_attn2');
      if (off && flagOf(off.node) === true) section.state('attention.implementation', 'sdpa', off);
      else section.assume('attention.implementation', own('flash2' as const), 'disable_flash_attn2');
      for (const type of ['bf16', 'fp16'] as const) {
        const found = section.find(type);
        if (found && flagOf(found.node) === true)
          section.state(
            'precision.weights',
            type,
            found,
            say('the script loads the model in the type that it computes in'),
          );
      }
      readFrozenFlags(section);
      if (!section.take('max_seq_length', 'max_prompt_length', 'max_length'))
        assumeLength(draft, 'max_seq_length', section.find('model_id')?.node, this.source);
    },
  },
  {
    name: 'InternVL',
    source: fileIn(INTERN_VL, 'internvl_chat/internvl/train/internvl_chat_finetune.py'),
    matches: (script) => /internvl_chat_(finetune|pretrain|dpo)/.test(script),
    trainer: { checkpointing: true },
    length: { key: 'max_seq_length', tokens: 2048 },
    read(section, _draft, _context, own) {
      const rank = section.find('use_llm_lora');
      const size = integerOf(rank?.node) ?? 0;
      if (rank && size > 0) {
        section.state('method.kind', 'lora', rank);
        section.state('lora.rank', size, rank);
        section.assume('lora.alpha', own(2 * size));
        section.assume('lora.dropout', own(0.05));
        section.assume('lora.targets', own(ALL));
      }
      section.takeElse('grad_checkpoint', own('full'));
      loadsInBf16(section);
      section.assume('attention.implementation', own('flash2' as const));
    },
  },
  {
    name: 'qlora',
    source: fileIn(QLORA, 'qlora.py'),
    loads: 'AutoModelForCausalLM',
    matches: (script) => /(^|\/)qlora$/.test(path(script)),
    // `parse_args_into_dataclasses(return_remaining_strings=True)`.
    drops: ['lora_modules'],
    trainer: { micro: 1, accumulation: 16, checkpointing: true },
    read(section, _draft, _context, own) {
      // `DataArguments`.
      const [source, target] = [section.find('source_max_len'), section.find('target_max_len')];
      const sum = (integerOf(source?.node) ?? 1024) + (integerOf(target?.node) ?? 256);
      const found = source ?? target;
      if (found) section.state('batch.sequence', sum, found, say('source and target follow each other'));
      else section.assume('batch.sequence', own(sum), 'source_max_len');
      const full = section.find('full_finetune');
      if (full && flagOf(full.node) === true) section.state('method.kind', 'full', full);
      else {
        section.assume('method.kind', own('lora' as const), 'full_finetune');
        section.takeElse('lora_r', own(64));
        section.takeElse('lora_alpha', own(16));
        section.takeElse('lora_dropout', own(0));
        section.assume('lora.targets', own(ALL));
        readBits(section, own, 4);
        castsBack(section);
      }
      loadsInBf16(section);
      if (!section.has('optim')) section.assume('optimizer.name', own('paged-adamw' as const), 'optim');
    },
  },
  {
    get name() {
      return say('PEFT examples');
    },
    source: fileIn(PEFT, 'examples/sft/train.py'),
    loads: 'AutoModelForCausalLM',
    matches: (_script, has) => has('use_peft_lora'),
    adapter: {
      switches: ['use_peft_lora'],
      rank: 64,
      alpha: 16,
      dropout: 0.1,
      targets: ['q_proj', 'k_proj', 'v_proj', 'down_proj', 'up_proj', 'gate_proj'],
    },
    length: { key: 'max_length', tokens: 1024 },
    read(section) {
      const packed = section.find('packing');
      if (packed && flagOf(packed.node) === true) section.state('batch.packed', true, packed);
      const flash = section.find('use_flash_attn');
      if (flash && flagOf(flash.node) === true) section.state('attention.implementation', 'flash2', flash);
      const four = section.find('use_4bit_quantization');
      if (four && flagOf(four.node) === true) section.take('use_nested_quant');
    },
  },
  {
    get name() {
      return say('language modelling examples of transformers');
    },
    source: `${EXAMPLES}pytorch/language-modeling/run_clm.py`,
    loads: 'AutoModelForCausalLM',
    matches: (script, has) => isExample(has) && /(^|\/)run_(clm|fim)(_no_trainer)?$/.test(path(script)),
    read(section, _draft, context, own) {
      readNewModel(section);
      const longest = Math.min(1024, context.model?.maxPositions ?? 1024);
      section.takeElse('block_size', own(longest));
      section.assume('batch.packed', { ...own(true), note: say('texts are joined and cut into blocks') });
    },
  },
  {
    get name() {
      return say('masked language modelling examples of transformers');
    },
    source: `${EXAMPLES}pytorch/language-modeling/run_mlm.py`,
    matches: (script, has) => isExample(has) && /(^|\/)run_(mlm|plm)(_no_trainer)?$/.test(path(script)),
    read(section, _draft, context, own) {
      readNewModel(section);
      const longest = Math.min(1024, context.model?.maxPositions ?? 512);
      if (!section.take('max_seq_length', 'block_size'))
        section.assume('batch.sequence', own(longest), 'max_seq_length');
      if (section.flag('line_by_line') !== true)
        section.assume('batch.packed', { ...own(true), note: say('texts are joined and cut into blocks') });
    },
  },
  ...EXAMPLE_LENGTHS.map(
    ([pattern, key, tokens, objective, target]): KnownScript => ({
      get name() {
        return say('examples of transformers');
      },
      source: `${EXAMPLES}pytorch`,
      matches: (script, has) => isExample(has) && pattern.test(path(script).split('/').at(-1) ?? ''),
      length: { key, tokens, target },
      read(section, _draft, _context, own) {
        if (objective !== 'lm') section.assume('method.objective', own(objective));
      },
    }),
  ),
];

/** `freeze_llm`, `freeze_vision_tower` and `freeze_merger`: nothing is frozen unless they say so. */
function readFrozenFlags(section: Section): void {
  if (section.flag('lora_enable') === true) return;
  const patterns = [
    ['freeze_llm', '(?:model\\.)?(?:language_model\\.)?(?:model\\.)?(?:layers|embed_tokens|norm|lm_head)\\b'],
    ['freeze_vision_tower', '(?:model\\.)?visual(?!\\.merger)\\b'],
    ['freeze_merger', '(?:model\\.)?visual\\.merger\\b'],
  ] as const;
  const frozen = patterns.filter(([key]) => section.flag(key) === true);
  const [first] = frozen;
  const found = first && section.find(first[0]);
  if (!found || frozen.length === patterns.length) return;
  section.state('method.kind', 'freeze', found);
  section.state(
    'method.trainable',
    patterns.filter((pattern) => !frozen.includes(pattern)).map(([, pattern]) => pattern),
    found,
  );
}

/** Adapters where a script's switch is on, with its own defaults. */
export function readKnownAdapter(
  section: Section,
  adapter: ScriptAdapter,
  own: <V>(value: V) => DefaultValue<V>,
): void {
  const { switches } = adapter;
  if (switches === 'always') section.assume('method.kind', own('lora' as const));
  else {
    const found = switches.map((key) => section.find(key)).find((it) => flagOf(it?.node) === true);
    if (!found) return;
    section.state('method.kind', 'lora', found);
  }
  section.takeElse('lora_r', own(adapter.rank));
  section.takeElse('lora_alpha', own(adapter.alpha));
  section.takeElse('lora_dropout', own(adapter.dropout));
  section.takeElse('lora_target_modules', own(adapter.targets));
}
