import { entryOf } from '../../config/lookup';
import { flagOf, textOf } from '../../config/scalar';
import type { Launch } from './launch';

/** Words in the names of scripts that evaluate, generate, convert or prepare. */
const OTHER =
  /^(eval|evals|evaluate|evaluates|evaluation|evaluator|evalharness|inference|infer|generate|generation|generator|generating|gen|sample|samples|sampling|serve|server|serving|convert|convertor|converter|conversion|export|exporter|merge|merger|preprocess|preprocessing|tokenize|ptq|quantize|quantization|benchmark|demo|predict|prediction|prompting|zeroshot|reshape|reshaping|repartition|split|splitter|partitions|upload|download|score|scoring|hf2mcore|mcore2hf|hf2mg|hf2megatron|mg2hf|hf2te|te2hf|main_eval|visualize|plot|webui|cli_demo|collect|postprocess|detokenize|dump|inspect|analy[sz]e|analy[sz]er|analysis)$/;
/** Words of those that train, whatever else they do. */
const TRAINS =
  /^(train|trainer|training|pretrain|pretraining|finetune|finetuning|finetuner|tune|tuning|sft|dpo|grpo|ppo|mpo|gspo|dapo|simpo|cpo|ipo|rlhf|rloo|orpo|kto|rm|distill|distillation|learn|fit)$/;

/** What a script does comes first in its name: `eval_sft.py` evaluates. */
const VERBS =
  /^(eval|evaluate|chat|convert|export|merge|split|generate|infer|inference|preprocess|serve|quantize|tokenize|predict|hf2mcore|mcore2hf|hf2megatron)$/;

/** Scripts that prepare data and are given all flags of the training that follows. */
const PREPARES = /^(?:prepare_(?:data|dataset)|(?:data|dataset)_prepar(?:e|ation))$/;

/** The ends of scripts that write a checkpoint in another form: `deepspeed_to_hf_llama.py`, `zero_to_fp32.py`, `ds_to_universal.py`. */
const FORM =
  /^(?:hf|huggingface|transformers|megatron|mcore|nemo|neox|te|deepspeed|ds|fsdp|fp32|universal|safetensors|gguf|ggml|onnx|torch|pytorch)$/;

/** Switches of scripts that train where a switch asks for it (`--do_train`), for what else they do. */
const DOES_OTHERWISE =
  /^(?:do_(?:eval\w*|predict\w*|test|calib\w*|export|infer\w*|generate|valid\w*|quant\w*)|(?:save|export|to)_onnx)$/;

/** Words of a script's name: `hf2mcore_qwen2.5_convertor.py` is `hf2mcore`, `qwen2`, `5` and `convertor`, the module `a.b_c` is `b` and `c`. */
function wordsOf(script: string): string[] {
  const last = script.split('/').at(-1) ?? '';
  const name = last.endsWith('.py') ? last.slice(0, -3) : (last.split('.').at(-1) ?? last);
  return name.toLowerCase().split(/[._-]+/);
}

/** Whether a script is called after training. */
export const namesTraining = ({ script = '' }: Launch): boolean =>
  wordsOf(script).some((word) => TRAINS.test(word));

/**
 * Scripts that take the flags of training and train nothing: evaluation, generation, conversion of checkpoints, preparation of data.
 * They are distinguished by what they are called and by the flags that switch training off.
 */
export function trainsNothing(launch: Launch): boolean {
  const script = launch.script ?? '';
  const words = wordsOf(script);
  if (VERBS.test(words[0] ?? '') || PREPARES.test(words.join('_'))) return true;
  if (words.some((word, at) => word === 'to' && FORM.test(words[at + 1] ?? '')) && !namesTraining(launch))
    return true;
  // Who states how fast to learn, learns.
  const learns = ['per_device_train_batch_size', 'learning_rate'].some((key) =>
    entryOf(launch.arguments, key),
  );
  if (!learns && words.some((word) => OTHER.test(word)) && !words.some((word) => TRAINS.test(word)))
    return true;
  if (/(^|\/)tools\/(checkpoint|retro|bert_embedding|preprocess\w*)\//.test(script)) return true;
  const text = (key: string) => textOf(entryOf(launch.arguments, key)?.value);
  const on = (key: string) => flagOf(entryOf(launch.arguments, key)?.value) === true;
  // Megatron-LM: `tasks/main.py` evaluates without training for these, forks of it for what they call so; `--skip-train` evaluates alone.
  if (
    /(^|\/)tasks\/(\w+\/)?main\.py$/.test(script) &&
    /^(?:WIKITEXT103|LAMBADA|ICT-ZEROSHOT-NQ|MSDP-PROMPT|(?:.*-)?EVAL(?:-.*)?)$/.test(text('task') ?? '')
  )
    return true;
  if (on('help') || on('h')) return true;
  if (on('skip_train') || on('eval_only') || on('evaluate_only') || on('only_eval') || on('export_only'))
    return true;
  // verl validates once and stops (`trainer/ppo/ray_trainer.py`, `fit`).
  if (on('trainer.val_only') || on('+trainer.val_only')) return true;
  // torchtitan saves the weights of step 0 and stops (`train.py`).
  if (on('checkpoint.create_seed_checkpoint')) return true;
  const { entries } = launch.arguments;
  const otherwise = entries.some(({ key, value }) => DOES_OTHERWISE.test(key) && flagOf(value) === true);
  if (!learns && otherwise && !on('do_train')) return true;
  if (script === 'lm_eval' || script.startsWith('lm_eval.')) return true;
  // Scripts of HF's examples train where they are set to.
  const example =
    /^run_(glue|qa|clm|mlm|plm|ner|swag|squad|xnli|summarization|translation|classification|seq2seq_qa|speech\w*|image\w*|audio\w*|mae|mim)/;
  const name = script.split('/').at(-1) ?? '';
  return example.test(name) && (on('do_eval') || on('do_predict')) && !on('do_train');
}
