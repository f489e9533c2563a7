import { flagOf, integerOf, textOf } from '../../config/scalar';
import type { UnmodelledFeature } from '../../terms/unmodelled-features';
import type { FoundKey, Section } from '../section';
import { layoutAt } from './pipeline-layout';

const on = ({ node }: FoundKey) => flagOf(node) === true;
const some = ({ node }: FoundKey) => (integerOf(node) ?? 0) > 0;
const provided = ({ node }: FoundKey) => textOf(node) !== 'mock';
const muon = ({ node }: FoundKey) => /muon/i.test(textOf(node) ?? '');
const given = ({ node }: FoundKey) => !/^(none|false|null)?$/i.test(textOf(node)?.trim() ?? '');

/** Arguments that bring in what the estimate does not hold, and when they do. */
const FEATURES: readonly (readonly [
  key: string,
  feature: UnmodelledFeature,
  does: (found: FoundKey) => boolean,
])[] = [
  ['defer_embedding_wgrad_compute', 'deferred-embedding-gradient', on],
  ['fine_grained_activation_offloading', 'activation-offload', on],
  ['cpu_offloading', 'activation-offload', on],
  ['cpu_offloading_num_layers', 'activation-offload', some],
  ['cuda_graph_impl', 'cuda-graphs', given],
  ['enable_cuda_graph', 'cuda-graphs', on],
  ['external_cuda_graph', 'cuda-graphs', on],
  // What orthogonalizing a matrix allocates for a while (`core/optimizer/muon.py`, later `emerging_optimizers.py`).
  ['optimizer', 'muon-step', muon],
  ['perform_rl_step', 'rollout-buffers', on],
  ['export_kd_teacher_load', 'distillation-teacher', given],
  // `examples/multimodal`: an encoder beside the language model, either of which may be frozen.
  ['language_model_type', 'vision-tower', given],
  ['vision_model_type', 'vision-tower', given],
  ['sound_model_type', 'sound-tower', given],
  ['freeze_LM', 'frozen-modules', on],
  // `examples/mimo`: encoders beside a language model that the provider describes, whatever the flags say of it.
  ['model_provider', 'model-of-the-script', provided],
  ['audio_encoder_model', 'sound-tower', given],
  ['freeze_all_layers', 'frozen-modules', on],
];

/**
 * Layers that predict further tokens where they are no part of the model: of a published one, whose config has no size of theirs that its
 * family plays; of a hybrid without a pattern for them; where a layout has them on another stage than the loss; and where each token draws
 * from which of the depths before its state comes (`mtp_hsm`).
 */
function predictionBeside(args: Section, built: boolean): FoundKey | undefined {
  const found = args.find('mtp_num_layers');
  if (!found || !some(found)) return undefined;
  const mixes = args.flag('mtp_hsm') === true && (integerOf(found.node) ?? 0) > 1;
  const layout = args.find('pipeline_model_parallel_layout');
  const stages = layout ? layoutAt(layout.node) : 'none';
  const onLast =
    stages === 'none' || stages?.slice(0, -1).every(({ predicting }) => predicting === 0) === true;
  return built && onLast && !mixes ? undefined : found;
}

/**
 * What of Megatron-Core the run uses and the estimate does not hold. `predicts`: the model that the arguments build has the layers that
 * predict further tokens, where they ask for some.
 */
export function readUnmodelled(
  args: Section,
  predicts = false,
  ...others: readonly UnmodelledFeature[]
): void {
  const used = FEATURES.flatMap(([key, feature, does]) => {
    const found = args.find(key);
    return found && does(found) ? [{ feature, found }] : [];
  });
  const experts = expertsOfMegatronFsdp(args);
  if (experts) used.push({ feature: 'megatron-fsdp-experts', found: experts });
  const prediction = predictionBeside(args, predicts);
  if (prediction) used.unshift({ feature: 'multi-token-prediction', found: prediction });
  const at = used[0]?.found ?? (others.length > 0 ? args.find(['hidden_size', 'num_layers']) : undefined);
  const features = [...new Set([...used.map(({ feature }) => feature), ...others])];
  if (at) for (const feature of features) args.bring(feature, at);
}

/** Megatron-FSDP's switch, where the model has experts, for which it has buffers of its own (`param_and_grad_buffer.py`). */
function expertsOfMegatronFsdp(args: Section): FoundKey | undefined {
  const experts = args.find('num_experts');
  const fsdp = args.find(['use_megatron_fsdp', 'use_custom_fsdp']);
  return fsdp && on(fsdp) && experts && some(experts) ? fsdp : undefined;
}
