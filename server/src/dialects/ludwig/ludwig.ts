import { entryOf, nodeAt } from '../../config/lookup';
import type { ConfigDocument, ConfigNode } from '../../config/node';
import { flagOf, integerOf, isAuto, isBlank, plainOf, textOf } from '../../config/scalar';
import { fileIn } from '../../sources/repositories';
import { say } from '../../wording/say';
import type { Dialect, ReadContext, Reading } from '../dialect';
import { Draft } from '../draft';
import { assumePadding } from '../hf/padding';
import { rejectMisfits } from '../key-check';
import { assumeLength } from '../length-cap';
import { type OptimizerOptions, optimizerStatements } from '../optimizer-names';
import { Section } from '../section';
import { LUDWIG_KEYS, LUDWIG_TABLE } from './ludwig-keys';
import { LUDWIG_OPTIMIZERS, ludwigOptimizer } from './ludwig-optimizers';
import { LUDWIG } from './ludwig-repository';
import { checkLudwig } from './ludwig-rules';
import { LUDWIG_LOADING, LUDWIG_TRAINER } from './ludwig-source';
import { ludwigWords } from './ludwig-words';

const MODEL = fileIn(LUDWIG, 'ludwig/models/llm.py');
const OPTIMIZERS = fileIn(LUDWIG, 'ludwig/schema/optimizers.py');

/** Ludwig's YAML for language models that are fine-tuned; its other models, and prompts without training, are none of ours. */
export const ludwig: Dialect = {
  id: 'ludwig',
  name: 'Ludwig',
  optimizers: LUDWIG_OPTIMIZERS,
  keys: LUDWIG_KEYS,
  words: ludwigWords,
  markers: /\bmodel_type\b/,
  detect(root: ConfigNode): number {
    if (root.kind !== 'map' || textOf(entryOf(root, 'model_type')?.value) !== 'llm') return 0;
    if (!entryOf(root, 'base_model')) return 0;
    if (textOf(nodeAt(root, 'trainer.type')) === 'finetune') return 1;
    // Without a trainer an adapter is refused, unless it is a trained one that is only asked.
    const adapter = entryOf(root, 'adapter')?.value;
    return adapter && !isBlank(adapter) && !nodeAt(adapter, 'pretrained_adapter_weights') ? 0.95 : 0;
  },
  read(document: ConfigDocument, context: ReadContext): Reading {
    const draft = new Draft(document, context);
    const { root } = document;
    if (root?.kind !== 'map') return draft.reading();
    const section = new Section(root, draft, '', LUDWIG_TABLE);
    readLudwig(section, draft, context);
    rejectMisfits(root, LUDWIG_TABLE, draft);
    draft.rules(() => checkLudwig(root, section, draft));
    return draft.reading();
  },
};

function readLudwig(section: Section, draft: Draft, context: ReadContext): void {
  draft.assume('framework', 'ludwig', say('the file is a {0} config', 'Ludwig'));
  section.take('base_model');
  section.section('model_parameters').take('neftune_noise_alpha');
  readBatch(section, draft, context);
  readLength(section, draft, context);
  readMethod(section, draft);
  readPrecision(section, draft);
  readOptimizer(section, draft);
  leaveUnknown(section, draft);
  readPlacement(section, draft, context);
  readLoss(draft);
}

/** `get_rendered_batch_size_grad_accum` (`utils/trainer_utils.py`): `auto` is what the other two leave. */
function readBatch(section: Section, draft: Draft, context: ReadContext): void {
  const trainer = section.section('trainer');
  const micro = trainer.has('batch_size')
    ? trainer.integer('batch_size')
    : trainer.integerOrDefault('batch_size');
  const global = trainer.integer('effective_batch_size');
  const steps = trainer.integer('gradient_accumulation_steps');
  const note = say('what the effective batch leaves');
  const open = (key: string) => isAuto(trainer.find(key)?.node) || !trainer.has(key);
  if (global !== undefined && steps !== undefined && isAuto(trainer.find('batch_size')?.node))
    draft.infer('batch.micro', Math.max(1, Math.floor(global / Math.max(1, steps))), note);
  else trainer.take('batch_size');
  if (!open('gradient_accumulation_steps')) trainer.take('gradient_accumulation_steps');
  else if (micro !== undefined && micro > 0)
    draft.infer('batch.accumulation', Math.max(1, Math.floor((global ?? micro) / micro)), note);
  if (!open('effective_batch_size')) trainer.take('effective_batch_size');
  trainer.take('enable_gradient_checkpointing', 'compile', 'eval_batch_size');
  if (trainer.flag('enable_gradient_checkpointing'))
    draft.assume(
      'activations.reentrant',
      true,
      say('Ludwig asks for reentrant checkpointing'),
      fileIn(LUDWIG, 'ludwig/trainers/trainer.py'),
    );
  if (!trainer.take('skip_all_evaluation'))
    draft.assume(
      'evaluation.enabled',
      true,
      say('Ludwig splits the data and evaluates on a part of it'),
      LUDWIG_TRAINER,
    );
  const known = context.known['batch.micro'];
  assumePadding(section, draft, micro ?? (typeof known === 'number' ? known : 1));
}

/**
 * A sample is its input, its output and an end token (`generate_merged_ids`), cut at the global length and at the longest
 * input of the model (`LLM.__init__`).
 */
function readLength(section: Section, draft: Draft, context: ReadContext): void {
  const preprocessing = section.section('preprocessing');
  const global = preprocessing.integer('global_max_sequence_length');
  const longest = context.model?.maxPositions;
  const [input, output] = ['input_features', 'output_features'].map((key) => featureLength(section, key));
  const both = input !== undefined && output !== undefined ? input + output + 1 : undefined;
  const limit = Math.min(both ?? Number.POSITIVE_INFINITY, longest ?? Number.POSITIVE_INFINITY);
  if (global !== undefined && global <= limit) preprocessing.take('global_max_sequence_length');
  else if (both !== undefined && both === limit)
    draft.infer('batch.sequence', both, say('the longest input and output, and the end of the text'));
  else if (global !== undefined) draft.infer('batch.sequence', limit, say('the longest input of the model'));
  else
    assumeLength(
      draft,
      'preprocessing.global_max_sequence_length',
      nodeAt(section.root, 'preprocessing'),
      MODEL,
    );
}

/** Most tokens of the first feature of a list. */
function featureLength(section: Section, key: string): number | undefined {
  const list = section.find(key)?.node;
  const first = list?.kind === 'list' ? list.items[0] : undefined;
  return first && integerOf(nodeAt(first, 'preprocessing.max_sequence_length'));
}

/** Later releases have more adapters, optimizers and kinds of quantization: their names decide what is not worked out. */
function leaveUnknown(section: Section, draft: Draft): void {
  for (const [key, names, fields] of [
    ['adapter.type', ['lora', 'adalora', 'ia3'], ['method.kind', 'lora.rank']],
    ['trainer.optimizer.type', LUDWIG_OPTIMIZERS, ['optimizer.name']],
    ['quantization.backend', ['bitsandbytes'], ['quantization.kind']],
  ] as const) {
    const found = section.find(key);
    const name = textOf(found?.node);
    if (!found || name === undefined || (names as readonly string[]).includes(name)) continue;
    draft.leave('value', found.node, name, say('What `{0}` stands for is not worked out.', name), fields);
    draft.forget(...fields);
  }
}

function readMethod(section: Section, draft: Draft): void {
  const frozen = section.find('trainer.layers_to_freeze_regex');
  if (frozen)
    draft.leave(
      'value',
      frozen.node,
      textOf(frozen.node) ?? '',
      say('Which parameters the expression freezes is not worked out.'),
      ['method.kind'],
    );
  const found = section.find('adapter');
  if (!found) {
    if (!frozen) draft.assume('method.kind', 'full', say('all weights are trained'), MODEL);
    return;
  }
  const adapter = section.section('adapter');
  draft.state('method.kind', 'lora', found.node, 'adapter');
  adapter.take('type');
  const trained = adapter.find('pretrained_adapter_weights');
  if (trained) {
    draft.leave(
      'value',
      trained.node,
      textOf(trained.node) ?? '',
      say('The settings of the trained adapter count, which are not read.'),
      ['lora.rank'],
    );
    return;
  }
  const kind = adapter.text('type') ?? 'lora';
  adapter.take('target_modules');
  if (kind === 'ia3') return;
  adapter.take(kind === 'adalora' ? 'init_r' : 'r', 'alpha', 'dropout', 'bias_type', 'use_dora');
  const rank = adapter.integerOrDefault('r');
  adapter.assume('lora.alpha', {
    value: 2 * rank,
    note: say('twice the rank'),
    source: fileIn(LUDWIG, 'ludwig/schema/llms/peft.py'),
  });
}

/**
 * A quantized model is loaded in the type of its products and prepared by PEFT, its attention eager; any other is loaded in fp32
 * (`load_pretrained_from_config`). Mixed precision is autocast without a type, which is fp16 on GPUs.
 */
function readPrecision(section: Section, draft: Draft): void {
  const found = section.find('quantization');
  const block = section.section('quantization');
  const note = say('{0} default', 'Ludwig');
  if (found) {
    const bits = block.integerOrDefault('bits');
    const type = block.text('bnb_4bit_quant_type') === 'fp4' ? 'fp4' : 'nf4';
    if (bits === 8 || bits === 4)
      draft.state('quantization.kind', bits === 8 ? 'int8' : type, found.node, 'quantization');
    if (bits === 4) block.take('bnb_4bit_use_double_quant');
    block.take('bnb_4bit_compute_dtype');
    draft.assume('quantization.prepared', true, note, MODEL);
    draft.assume('attention.implementation', 'eager', note, LUDWIG_LOADING);
  } else draft.assume('precision.weights', 'fp32', say('Ludwig loads models in fp32'), LUDWIG_LOADING);
  const mixed = section.find('trainer.use_mixed_precision');
  if (mixed && flagOf(mixed.node)) {
    draft.state('precision.scheme', 'autocast', mixed.node, mixed.key);
    draft.state('precision.compute', 'fp16', mixed.node, mixed.key);
    return;
  }
  draft.assume('precision.scheme', 'native', note, LUDWIG_TRAINER);
  const word = found ? block.textOrDefault('bnb_4bit_compute_dtype') : 'float32';
  const compute = ({ float32: 'fp32', float16: 'fp16', bfloat16: 'bf16' } as const)[word];
  if (compute) draft.assume('precision.compute', compute, note, LUDWIG_LOADING);
}

function readOptimizer(section: Section, draft: Draft): void {
  const block = section.find('trainer.optimizer');
  const type = section.find('trainer.optimizer.type');
  const name = textOf(type?.node);
  const options = block?.node.kind === 'map' ? (plainOf(block.node) as OptimizerOptions) : {};
  const values = ludwigOptimizer(name ?? 'adam', options);
  for (const { field, value } of optimizerStatements(values ?? {})) {
    if (type) section.state(field, value as never, type);
    else
      draft.assume(field, value as never, say('{0} default', 'Ludwig'), OPTIMIZERS, 'trainer.optimizer.type');
  }
}

/** One process spreads the layers over the GPUs that it sees (`device_map: auto`); under Ray the strategy decides. */
function readPlacement(section: Section, draft: Draft, context: ReadContext): void {
  const type = section.find(['backend.type', 'backend']);
  const word = textOf(type?.node);
  if (type && word !== undefined && word !== 'local') {
    draft.leave('value', type.node, word, say('How the run is spread by its backend is not worked out.'), [
      'parallel.data',
    ]);
    return;
  }
  draft.assume('parallel.data', 'none', say('one process trains'), LUDWIG_LOADING);
  const gpus = context.known['hardware.gpus'];
  if (typeof gpus !== 'number' || gpus < 2) return;
  const spread = say('one process spreads the layers over the GPUs that it sees');
  draft.infer('parallel.pipeline', gpus, spread);
  draft.infer('parallel.pipelineSchedule', 'sequential', spread);
}

/**
 * The loss is Ludwig's own, of shifted logits (`NextTokenSoftmaxCrossEntropyLoss`). Their softmax is made beside
 * them, and the result holds both through backward (`_SequencePredict`, `Trainer.train_step`).
 */
function readLoss(draft: Draft): void {
  const source = fileIn(LUDWIG, 'ludwig/features/sequence_feature.py');
  draft.assume('loss.implementation', 'full-shifted', say("Ludwig's loss of shifted logits in fp32"), MODEL);
  draft.assume(
    'loss.keptLogits',
    'backward-with-softmax',
    say('Ludwig keeps the logits and their softmax through backward'),
    source,
  );
}
