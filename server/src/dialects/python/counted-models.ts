import { isNone, knownNode, stringOf } from '../../config/python/node-of-value';
import type { PyCall, PyProgram, PyValue } from '../../config/python/value';
import { textOf } from '../../config/scalar';
import { type CheckpointWeights, checkpointWeights } from '../../model/checkpoint-weights';
import type { DType } from '../../terms/dtypes';
import { isAtLeast } from '../../terms/version';
import type { ReadContext } from '../dialect';
import { weightsDtypeOf } from '../hf/weights-dtype';
import { argumentOf, type Calls } from './call-block';
import { defaultModelOf, taskOf } from './pipeline-tasks';
import { isPipeline } from './placed-models';

interface NamedWeights extends CheckpointWeights {
  readonly name: string;
}

/** What is known of a model that lies on the GPU beside the training. */
export interface CountedModel {
  readonly name: string;
  readonly parameters: number;
  readonly bufferBytes: number;
  readonly dtype: DType;
}

/** The first release whose `pipeline` loads in the type of the checkpoint (transformers 4.53.0, `torch_dtype="auto"`; 4.52.4: none, which is fp32). */
const PIPED_AS_PUBLISHED = '4.53';
/** The first release whose `from_pretrained` does. */
const LOADED_AS_PUBLISHED = '5.0';

/** Arguments of `from_pretrained` that leave the weights as they are, or are read here. */
const PLAIN =
  /^(?:pretrained_model_name_or_path|device_map|dtype|torch_dtype|revision|trust_remote_code|token|use_auth_token|cache_dir|num_labels|id2label|label2id|low_cpu_mem_usage|attn_implementation|local_files_only|use_safetensors|use_cache|return_dict|ignore_mismatched_sizes|force_download|output_hidden_states|output_attentions)$/;
/** Arguments of a pipeline that bring other weights, or load them in another way. */
const SHAPES_PIPELINE =
  /^(?:model_kwargs|config|assistant_model|framework|pipeline_class|vocoder|quantization_config|load_in_[48]bit)$/;
/** OpenAI's own package, which makes a model in fp32 and loads the weights into it (`whisper/__init__.py`, `_MODELS`, `load_model`). */
const OWN_WHISPER = /^whisper\.load_model$/;
const WHISPER_NAMES: Readonly<Record<string, string>> = {
  turbo: 'large-v3-turbo',
  large: 'large-v3',
  'large-v1': 'large',
};
/** Methods that leave the weights of a model in their number, where they are called on it. */
const KEEPS_WEIGHTS =
  /^(?:\(\)|to|cuda|cpu|half|float|bfloat16|eval|train|requires_grad_|forward|generate|prepare|encode|encode_batch|classify_batch|predict|rank|similarity|transcribe|parameters|named_parameters|num_parameters|get_memory_footprint|state_dict|save_pretrained|push_to_hub|tie_weights|compute_transition_scores)$/;

/** Heads that a published language model has as it is. */
const OWN_HEAD =
  /(?:^|\.)\w+For(?:CausalLM|ConditionalGeneration|Seq2SeqLM|SpeechSeq2Seq|ImageTextToText|Vision2Seq|MultimodalLM)\.from_pretrained$/;
const OWN_TASKS =
  /^(?:text-generation|translation|summarization|text2text-generation|automatic-speech-recognition|image-to-text|image-text-to-text|text-to-audio)$/;
/** Heads that are small beside the encoder below them. */
const SMALL_HEAD =
  /(?:^|\.)(?:AutoModel|\w+Model|\w+For(?:SequenceClassification|TokenClassification|QuestionAnswering|MultipleChoice|MaskedLM|ImageClassification|AudioClassification|CTC))\.from_pretrained$/;
const SMALL_TASKS =
  /^(?:text-classification|token-classification|question-answering|fill-mask|feature-extraction|zero-shot-classification|image-classification|image-feature-extraction|audio-classification|automatic-speech-recognition)$/;
/** Types whose pipelines bring a vocoder of their own (`pipelines/text_to_audio.py`, `MODEL_FOR_TEXT_TO_SPECTROGRAM_MAPPING`). */
const SPECTROGRAMS = /^(?:speecht5|fastspeech2_conformer)/;

/**
 * What a model takes that another call puts on the GPU, and that what follows leaves as large; undefined where its size or its type is
 * not known, or it may be trained, too.
 */
export function countedModel(
  calls: Calls,
  load: PyCall,
  steps: readonly PyCall[],
  context: ReadContext,
): CountedModel | undefined {
  const { program } = calls;
  if (load.open || load.conditions.length > 0 || load.repeated) return undefined;
  // Where several processes run, each may put it on the same GPU, or one of its own.
  if (Number(context.known['hardware.gpus'] ?? 1) > 1) return undefined;
  const ids = new Set([
    load.id,
    ...steps
      .filter(
        ({ callee }) =>
          /^(?:to|cuda|eval|half|float|bfloat16|prepare)$/.test(callee) || callee.endsWith('pipeline'),
      )
      .map(({ id }) => id),
  ]);
  if (isTrainedElsewhere(program, ids)) return undefined;
  if (steps.some(({ callee, of }) => of !== undefined && !KEEPS_WEIGHTS.test(callee))) return undefined;
  const found = weightsOf(load);
  if (!found) return undefined;
  const dtype = typeWhenTrained(calls, load, steps, found.dtype, context);
  if (!dtype) return undefined;
  const { name, parameters, bufferBytes } = found;
  return { name, parameters, bufferBytes, dtype };
}

/** Whether an optimizer or another trainer is given it: then gradients and states come beside its weights. */
function isTrainedElsewhere(program: PyProgram, ids: ReadonlySet<number>): boolean {
  const holds = (value: PyValue): boolean =>
    value.kind === 'object'
      ? ids.has(value.id) || parametersOf(value.id)
      : value.kind === 'list'
        ? value.items.some(holds)
        : value.kind === 'either' && value.options.some(holds);
  const parametersOf = (id: number): boolean => {
    const call = program.calls[id];
    return (
      /^(?:named_)?parameters$/.test(call?.callee ?? '') && call?.of !== undefined && ids.has(call.of.id)
    );
  };
  return program.calls.some(
    ({ callee, positional, named }) =>
      /Trainer$|(?:^|\.)(?:optim\.\w+|\w*Adam\w*|SGD|Adafactor|get_peft_model|PeftModel\w*\.from_pretrained)$/.test(
        callee,
      ) && [...positional, ...named.map(({ value }) => value)].some(holds),
  );
}

/** The checkpoint that a call loads, where its class has the weights of the checkpoint. */
function weightsOf(load: PyCall): NamedWeights | undefined {
  if (isPipeline(load)) {
    if (load.named.some(({ key, value }) => SHAPES_PIPELINE.test(key) && !isNone(value))) return undefined;
    const task = stringOf(argumentOf(load, 'task', 0));
    const model = argumentOf(load, 'model', 1);
    const name = model && !isNone(model) ? stringOf(model) : task && defaultModelOf(task);
    const found = named(name);
    if (!found?.modelType) return found;
    if (found.headless) return task !== undefined && SMALL_TASKS.test(taskOf(task)) ? found : undefined;
    const own = task !== undefined && OWN_TASKS.test(taskOf(task)) && !SPECTROGRAMS.test(found.modelType);
    return own ? found : undefined;
  }
  if (OWN_WHISPER.test(load.callee)) {
    const size = stringOf(argumentOf(load, 'name', 0));
    return size === undefined ? undefined : named(`openai/whisper-${WHISPER_NAMES[size] ?? size}`);
  }
  const ofSpeech = /\.from_hparams$/.test(load.callee);
  const name = stringOf(argumentOf(load, ofSpeech ? 'source' : 'pretrained_model_name_or_path', 0));
  const found = named(name);
  if (ofSpeech) return found;
  if (!/\.from_pretrained$/.test(load.callee) || load.named.some(({ key }) => !PLAIN.test(key)))
    return undefined;
  const whole = found?.headless === true ? SMALL_HEAD.test(load.callee) : OWN_HEAD.test(load.callee);
  return !found?.modelType || whole ? found : undefined;
}

/** By the name that the file has. */
function named(name: string | undefined): NamedWeights | undefined {
  const weights = name === undefined ? undefined : checkpointWeights(name);
  return name !== undefined && weights ? { ...weights, name } : undefined;
}

/** The type that a model's weights have when the training starts, by its load and what is called on it. `published`: that of the checkpoint. */
export function typeWhenTrained(
  { bf16 }: Calls,
  load: PyCall,
  steps: readonly PyCall[],
  published: DType | undefined,
  { known, versions }: ReadContext,
): DType | undefined {
  let dtype: DType | undefined;
  if (/\.from_hparams$/.test(load.callee) || OWN_WHISPER.test(load.callee)) dtype = 'fp32';
  else {
    const given = argumentOf(load, 'dtype') ?? argumentOf(load, 'torch_dtype');
    const stated = weightsDtypeOf(textOf(knownNode(given, { bf16 })));
    const release = versions?.transformers?.version ?? textOfVersion(known['version.transformers']);
    const since = isPipeline(load) ? PIPED_AS_PUBLISHED : LOADED_AS_PUBLISHED;
    if (given && !isNone(given)) dtype = stated ?? (stringOf(given) === 'auto' ? published : undefined);
    else dtype = isAtLeast(release, since) === false ? 'fp32' : published;
    const revision = argumentOf(load, 'revision');
    if (revision && dtype === published) dtype = weightsDtypeOf(stringOf(revision)) ?? published;
  }
  for (const { callee, positional, named } of steps) {
    dtype = weightsDtypeOf(callee) ?? dtype;
    if (callee !== 'to') continue;
    for (const value of [...positional, ...named.map((argument) => argument.value)])
      dtype = weightsDtypeOf(textOf(knownNode(value, { bf16 }))) ?? dtype;
  }
  return dtype;
}

const textOfVersion = (version: unknown): string | undefined =>
  typeof version === 'string' ? version : undefined;
