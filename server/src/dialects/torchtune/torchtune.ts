import { interpolated } from '../../config/interpolation';
import { nodeAt } from '../../config/lookup';
import type { ConfigDocument, ConfigNode, MapNode } from '../../config/node';
import { flagOf, integerOf, plainOf, textOf } from '../../config/scalar';
import { findModel } from '../../model/catalog';
import type { FieldValue } from '../../run/fields';
import { fileIn, TORCHTUNE } from '../../sources/repositories';
import { isAtLeast } from '../../terms/version';
import { say } from '../../wording/say';
import type { Dialect, ReadContext, Reading } from '../dialect';
import { Draft } from '../draft';
import { stateUnknownModels } from '../frozen-models';
import { weightsDtypeOf } from '../hf/weights-dtype';
import { rejectMisfits } from '../key-check';
import { assumeLength } from '../length-cap';
import { classOptimizer, TORCH_OPTIMIZERS } from '../optimizer-names';
import { type FoundKey, Section } from '../section';
import { stateOptimizer } from '../stated-optimizer';
import { TORCHTUNE_KEYS, TORCHTUNE_TABLE } from './torchtune-keys';
import { torchtuneModel } from './torchtune-models';
import { checkTorchtune } from './torchtune-rules';
import { torchtuneWords } from './torchtune-words';

const SOURCE = fileIn(TORCHTUNE, 'recipes/');

/** Recipe configs of torchtune. */
export const torchtune: Dialect = {
  id: 'torchtune',
  name: 'torchtune',
  optimizers: Object.keys(TORCH_OPTIMIZERS).map((name) => `torch.optim.${name}`),
  words: torchtuneWords,
  keys: TORCHTUNE_KEYS,
  markers: /_component_\s*:\s*["']?torchtune\./,
  detect(root: ConfigNode): number {
    if (onlyRuns(root)) return 0;
    const trained = nodeAt(root, 'batch_size') !== undefined || nodeAt(root, 'optimizer') !== undefined;
    const built = ['model', 'policy', 'tokenizer', 'checkpointer'].some((key) =>
      /^torchtune\./.test(textOf(nodeAt(root, [key, '_component_'])) ?? ''),
    );
    return built && trained ? 1 : built ? 0.6 : 0;
  },
  read(document: ConfigDocument, context: ReadContext): Reading {
    const draft = new Draft(document, context);
    const root = interpolated(document.root);
    if (root?.kind !== 'map') return draft.reading();
    readTorchtune(root, document.uri, draft, context);
    rejectMisfits(root, TORCHTUNE_TABLE, draft);
    draft.rules(() => checkTorchtune(root, new Section(root, draft, '', TORCHTUNE_TABLE), draft));
    return draft.reading();
  },
};

/** Configs of `eleuther_eval`, `generate` and `quantize` have models of the same kind, and nothing that learns. */
function onlyRuns(root: ConfigNode): boolean {
  const has = (key: string) => nodeAt(root, [key]) !== undefined;
  if (['optimizer', 'loss', 'epochs', 'gradient_accumulation_steps'].some(has)) return false;
  return ['tasks', 'prompt', 'max_new_tokens', 'quantizer'].some(has);
}

/** States what a recipe's config states. Which recipe runs it is not in it: the file's name tells, as torchtune names them. */
export function readTorchtune(root: MapNode, uri: string, draft: Draft, context: ReadContext): void {
  const section = new Section(root, draft, '', TORCHTUNE_TABLE).withDefaultsOf(
    `${SOURCE}full_finetune_distributed.py`,
  );
  draft.assume('framework', 'torchtune', say('the file is a {0} config', 'torchtune'));
  draft.assume('model.code', 'torchtune', say("torchtune's own modules run the model"), SOURCE);
  readModel(section, draft);
  section.take('batch_size', 'gradient_accumulation_steps');
  if (!section.take('tokenizer.max_seq_len', 'dataset.max_seq_len'))
    assumeLength(draft, 'tokenizer.max_seq_len', nodeAt(root, 'tokenizer.max_seq_len'), SOURCE);
  section.take('dataset.packed');
  readPrecision(section);
  readOptimizer(section);
  readActivations(section);
  readLoss(section, draft);
  readSharding(section, uri, draft, context);
  section.stateMeaning('kernels.compile', 'compile', ({ node }) =>
    node.kind === 'map' ? flagOf(nodeAt(node, 'model')) : flagOf(node),
  );
  const validation = section.find('dataset_val');
  if (validation) section.state('evaluation.enabled', true, validation);
  section.take('batch_size_val');
  readSteps(section);
  // Packed batches are masked by FlexAttention wherever torch has it (`modules/attention_utils.py`).
  const packed = section.flag('dataset.packed') === true;
  if (packed && isAtLeast(context.known['version.torch'], '2.5') !== false)
    draft.assume(
      'attention.implementation',
      'flex',
      say('packed samples are masked by FlexAttention'),
      SOURCE,
    );
}

function readModel(section: Section, draft: Draft): void {
  const block = section.find(['model', 'policy.model']);
  const component = section.find(['model._component_', 'policy.model._component_', 'policy._component_']);
  const model = section.section('model');
  const built = component && torchtuneModel(textOf(component.node) ?? '');
  if (component && built) {
    section.state('model.id', built.id, component);
    if (!built.adapters) {
      section.state('method.kind', 'full', component);
      return;
    }
    section.state('method.kind', 'lora', component);
    readAdapter(model, draft);
    const base = model.find('quantize_base');
    if (built.quantized) section.state('quantization.kind', 'nf4', component);
    else if (base && flagOf(base.node) === true) section.state('quantization.kind', 'nf4', base);
    if (built.quantized || flagOf(base?.node) === true)
      draft.assume(
        'quantization.prepared',
        false,
        say('norms and embeddings stay in the type of the run'),
        SOURCE,
      );
    return;
  }
  if (block?.node.kind === 'map' && component) readSpelledOut(block.node, section, component.key);
}

/** General builders (`torchtune.models.llama2.llama2`) take every size of a Llama as an argument. */
function readSpelledOut(node: MapNode, section: Section, key: string): void {
  const size = (name: string) => integerOf(nodeAt(node, name));
  const [hidden, layers, heads, vocabulary] = [
    size('embed_dim'),
    size('num_layers'),
    size('num_heads'),
    size('vocab_size'),
  ];
  const component = section.find(key);
  if (
    !component ||
    hidden === undefined ||
    layers === undefined ||
    heads === undefined ||
    vocabulary === undefined
  )
    return;
  // Without a size the MLP is two thirds of four times as wide, rounded up to 256 (`common_utils.py`, `scale_hidden_dim_for_mlp`).
  const inner = size('intermediate_dim') ?? 256 * Math.ceil(Math.floor((2 * 4 * hidden) / 3) / 256);
  section.state(
    'model.config',
    {
      model_type: 'llama',
      hidden_size: hidden,
      num_hidden_layers: layers,
      num_attention_heads: heads,
      num_key_value_heads: size('num_kv_heads') ?? heads,
      intermediate_size: inner,
      vocab_size: vocabulary,
      max_position_embeddings: size('max_seq_len') ?? 4096,
      tie_word_embeddings: false,
    },
    component,
  );
}

const PROJECTIONS: Readonly<Record<string, string>> = {
  q_proj: 'q_proj',
  k_proj: 'k_proj',
  v_proj: 'v_proj',
  output_proj: 'o_proj',
};

function readAdapter(block: Section, draft: Draft): void {
  const builders = fileIn(TORCHTUNE, 'torchtune/models/llama3_1/_model_builders.py');
  const model = block.withDefaultsOf(builders, say('default of the builder'));
  model.take('lora_rank', 'lora_alpha', 'lora_dropout', 'use_dora');
  const attention = (model.texts('lora_attn_modules') ?? []).flatMap((name) => PROJECTIONS[name] ?? []);
  const mlp = model.flag('apply_lora_to_mlp') === true ? ['gate_proj', 'up_proj', 'down_proj'] : [];
  const head = model.flag('apply_lora_to_output') === true ? ['lm_head'] : [];
  const stated = model.find(['lora_attn_modules', 'apply_lora_to_mlp']);
  if (stated) model.state('lora.targets', [...attention, ...mlp, ...head], stated);
  draft.infer('lora.dtype', 'bf16', say('adapters are made in the type of the run'));
}

/** One type for weights, gradients and states (`dtype`). */
function readPrecision(section: Section): void {
  section.take('enable_fp8_training');
  const found = section.find('dtype');
  const dtype = weightsDtypeOf(textOf(found?.node));
  if (!found || !dtype) return;
  const note = say('weights, gradients and optimizer states all have this type');
  section.state('precision.weights', dtype, found, note);
  section.state('precision.compute', dtype, found, note);
  section.state('precision.scheme', 'native', found, note);
  section.state('lora.dtype', dtype, found, say('adapters are made in the type of the run'));
}

function readOptimizer(section: Section): void {
  const block = section.find('optimizer');
  const component = section.find('optimizer._component_');
  const name = textOf(component?.node);
  if (!component || name === undefined || block?.node.kind !== 'map') return;
  const options = plainOf(block.node) as Readonly<Record<string, unknown>>;
  stateOptimizer(section, classOptimizer(name, options), component);
  section.take('optimizer_in_bwd');
}

function readActivations(section: Section): void {
  const mode = section.find('ac_mode');
  const word = textOf(mode?.node)?.toLowerCase();
  const every = section.find('ac_option');
  const count = integerOf(every?.node);
  if (mode && word === 'selective') {
    section.state('activations.checkpointing', count === undefined ? 'selective' : 'full', mode);
    if (every && count !== undefined && count > 0) section.state('activations.checkpointEvery', count, every);
  }
  if (mode && word !== 'full') section.leave(mode, ['activations.checkpointing']);
  section.take('enable_activation_checkpointing');
  section.assume('activations.reentrant', {
    value: false,
    note: say('torchtune checkpoints without reentry'),
    source: `${SOURCE}full_finetune_distributed.py`,
  });
  section.take('enable_activation_offloading');
}

/** Losses by their class; the chunked one works on fp32 copies of chunks, the linear one on chunks of the head. */
function readLoss(section: Section, draft: Draft): void {
  const found = section.find('loss._component_');
  const name = textOf(found?.node)?.split('.').at(-1) ?? '';
  if (!found) return;
  const losses: readonly (readonly [RegExp, FieldValue<'loss.implementation'>])[] = [
    [/^LinearCrossEntropyLoss$/, 'linear-chunked'],
    [/^CEWithChunkedOutputLoss$|^Chunked/, 'chunked'],
    [/^CrossEntropyLoss$/, 'native'],
  ];
  const loss = losses.find(([pattern]) => pattern.test(name));
  if (loss) section.state('loss.implementation', loss[1], found);
  if (/^DPOLoss$|^RSOLoss$/.test(name)) section.state('method.objective', 'dpo', found);
  if (/^SimPOLoss$/.test(name)) section.state('method.objective', 'simpo', found);
  if (/^GRPO/.test(name)) section.state('method.objective', 'grpo', found);
  if (/^PPO/.test(name)) section.state('method.objective', 'ppo', found);
  section.leave(found, ['loss.implementation']);
  if (section.has('teacher_model')) {
    const teacher = section.find('teacher_model._component_');
    if (teacher) readTeacher(section, teacher);
  }
  const reference = section.find('ref_checkpointer');
  if (reference) section.state('method.referenceModel', true, reference);
  else
    draft.assume(
      'method.referenceModel',
      false,
      say('adapters off, the base model is the reference'),
      SOURCE,
    );
}

/** The teacher, in the type of the run, and what is taken of its logits (`modules/loss/kd_losses.py`). */
function readTeacher(section: Section, teacher: FoundKey): void {
  const built = torchtuneModel(textOf(teacher.node) ?? '');
  const known = built && findModel(built.id);
  if (known) {
    section.state('method.frozenParameters', known.parameters.total, teacher);
    section.state('method.teacher', known.id, teacher);
  } else stateUnknownModels(section, 1, teacher);
  section.state('method.objective', 'distillation', teacher);
  const loss = section.find('kd_loss._component_');
  const word = /(Forward|Reverse|Symmetric)KL/.exec(textOf(loss?.node) ?? '')?.[1];
  const divergence = word === 'Symmetric' ? 'mixture' : word === 'Reverse' ? 'reverse' : 'forward';
  section.state('loss.divergence', divergence, word && loss ? loss : teacher);
}

/** Distributed recipes shard by FSDP 2 over all GPUs; single-device ones do not. */
function readSharding(section: Section, uri: string, draft: Draft, context: ReadContext): void {
  const name = uri.split('/').at(-1) ?? '';
  const single = /single_device/.test(name);
  if (single) {
    draft.infer('hardware.gpus', 1, say('a single-device recipe, by its name'));
    draft.infer('parallel.data', 'none', say('a single-device recipe, by its name'));
    return;
  }
  const one = context.known['hardware.gpus'] === 1;
  draft.assume(
    'parallel.data',
    one ? 'none' : 'fsdp2',
    say('distributed recipes shard by FSDP 2'),
    `${SOURCE}full_finetune_distributed.py`,
  );
  section.take('data_parallel_replicate_dim', 'tensor_parallel_dim', 'context_parallel_dim');
  section.take('fsdp_reshard_after_forward');
  const offload = section.find('fsdp_cpu_offload');
  if (offload && flagOf(offload.node) !== undefined) {
    const place = flagOf(offload.node) ? 'cpu' : 'none';
    section.state('offload.parameters', place, offload);
    section.state('offload.optimizer', place, offload);
  }
  const apart = section.find(['custom_sharded_layers', 'memory_efficient_fsdp_wrap']);
  if (apart && flagOf(apart.node) !== false) section.state('fsdp.separateEnds', true, apart);
}

function readSteps(section: Section): void {
  const found = section.find('max_steps_per_epoch');
  const perEpoch = integerOf(found?.node);
  const epochs = section.integer('epochs') ?? 1;
  if (found && perEpoch !== undefined)
    section.state('schedule.steps', perEpoch * epochs, found, say('over {0} epochs', String(epochs)));
}
