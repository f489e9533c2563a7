import { refused } from '../../rules/rule';
import { fileIn, LLAMA_FACTORY, LLM_FOUNDRY } from '../../sources/repositories';

// Where the frameworks have it, at the release that is described.
const llamaFactory = (path: string) => fileIn(LLAMA_FACTORY, `src/llamafactory/hparams/${path}`);
const llmFoundry = (path: string) => fileIn(LLM_FOUNDRY, `llmfoundry/utils/${path}`);

/** Rules of LLaMA-Factory. */
export const LLAMA_FACTORY_RULES = {
  'pissa-quantized': refused(
    'PiSSA cannot be initialised on a quantized model.',
    'Remove one of them.',
    llamaFactory('parser.py'),
  ),
  'pissa-zero3': refused(
    'PiSSA cannot be initialised under ZeRO-3.',
    'Use another stage.',
    llamaFactory('parser.py'),
  ),
  'pissa-reference': refused(
    'PiSSA changes the base weights, which are the reference in this stage.',
    'Name a reference model.',
    llamaFactory('finetuning_args.py'),
  ),
  'adapter-without-lora': refused(
    'An adapter can only be loaded for `finetuning_type: lora`.',
    'Change the type.',
    llamaFactory('parser.py'),
  ),
  'pure-bf16-zero3': refused(
    '`pure_bf16` does not work with ZeRO-3.',
    'Use `bf16`.',
    llamaFactory('parser.py'),
  ),
  'low-rank-optimizer-deepspeed': refused(
    'GaLore and APOLLO do not work with DeepSpeed.',
    'Remove one of them.',
    llamaFactory('parser.py'),
  ),
  'low-rank-optimizer-lora': refused(
    'GaLore, APOLLO and BAdam do not work with LoRA.',
    'Use `finetuning_type: full`.',
    llamaFactory('finetuning_args.py'),
  ),
  'two-low-rank-optimizers': refused(
    'GaLore, APOLLO and BAdam exclude each other.',
    'Keep one.',
    llamaFactory('finetuning_args.py'),
  ),
  'layerwise-distributed': refused(
    'Layerwise optimizers work on one GPU only.',
    'Switch `*_layerwise` off.',
    llamaFactory('parser.py'),
  ),
  'unsloth-zero3': refused(
    'Unsloth does not work with ZeRO-3.',
    'Remove one of them.',
    llamaFactory('parser.py'),
  ),
  'generate-zero3': refused(
    '`predict_with_generate` does not work with ZeRO-3.',
    'Use another stage.',
    llamaFactory('parser.py'),
  ),
  'neat-packing-stage': refused(
    '`neat_packing` works for `stage: sft` only.',
    'Switch it off.',
    llamaFactory('parser.py'),
  ),
  'missing-reward-model': refused(
    'PPO needs a `reward_model`.',
    'Name one.',
    llamaFactory('finetuning_args.py'),
  ),
  'fp8-quantized': refused(
    'fp8 training does not work on quantized weights.',
    'Remove one of them.',
    llamaFactory('parser.py'),
  ),
  'lora-only': refused(
    'A key works for `finetuning_type: lora` only.',
    'Change the type, or remove the key.',
    llamaFactory('finetuning_args.py'),
  ),
  'llama-pro-full': refused(
    '`use_llama_pro` trains some layers only.',
    'Use `finetuning_type: freeze` or `lora`.',
    llamaFactory('finetuning_args.py'),
  ),
  'label-smoothing-loss': refused(
    '`dpo_label_smoothing` works with `pref_loss: sigmoid` only.',
    'Set it to 0.',
    llamaFactory('finetuning_args.py'),
  ),
  'resize-quantized': refused(
    'The embedding of a quantized model cannot be resized.',
    'Do not resize it.',
    llamaFactory('parser.py'),
  ),
  'batch-not-divisible': refused(
    'The global batch is not a multiple of the micro batches of all GPUs.',
    'Change one of them.',
    llmFoundry('config_utils.py'),
  ),
};

declare module '../../rules/rule-id' {
  interface RuleNames extends Record<keyof typeof LLAMA_FACTORY_RULES, true> {}
}
