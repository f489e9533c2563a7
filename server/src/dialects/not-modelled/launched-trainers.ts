import { entryOf } from '../../config/lookup';
import type { Launch } from '../launch/launch';
import type { Program } from '../launch/program';
import {
  arePaddles,
  BRIDGE_RECIPE,
  MEGATRON_MIMO,
  MUSUBI_TUNER,
  OLMO_CORE_FINETUNE,
  type OtherTrainer,
  PADDLE_NLP,
  SD_SCRIPTS,
  SIMPLE_TUNER,
  SKYRL,
  SLIME,
  TINKER,
  TITAN_REGISTRY,
  XTUNER_V1,
} from './other-trainers';
import { startsWords } from './starts-words';

/** A trainer that is not modelled, and the launches that start it. */
interface LaunchedTrainer {
  readonly trainer: Pick<OtherTrainer, 'name' | 'trains'>;
  readonly starts: (launch: Launch) => boolean;
}

/** Scripts in the top folder of kohya-ss/sd-scripts whose names no other trainer has. */
const OWN_NAMES =
  /^((sdxl|flux|sd3|lumina|anima)_train(_network|_control_net|_textual_inversion|_control_net_lllite(_old)?)?|train_textual_inversion_XTI)\.py$/;
/** Those whose names others have, too: recognised by flags of `library/train_util.py`. */
const SHARED_NAMES = /^(train_(network|db|textual_inversion|controlnet|control_net)|fine_tune)\.py$/;
const OWN_FLAGS = [
  'network_module',
  'network_dim',
  'caption_extension',
  'max_bucket_reso',
  'enable_bucket',
  'clip_skip',
  'cache_latents',
];

/** Scripts of kohya-ss/musubi-tuner, each for an image or video model. */
const MUSUBI_NAMES =
  /^(wan|hv|hv_1_5|fpack|flux_2|flux_kontext|qwen_image|kandinsky5|zimage|krea2|ideogram4|hidream_o1)_train(_network)?\.py$/;

const nameOf = ({ script }: Launch) => script?.split(/[\\/]/).at(-1) ?? '';
const hasAny = ({ arguments: flags }: Launch, names: readonly string[]) =>
  names.some((name) => entryOf(flags, name) !== undefined);

const LAUNCHED: readonly LaunchedTrainer[] = [
  {
    trainer: SD_SCRIPTS,
    starts: (launch) =>
      OWN_NAMES.test(nameOf(launch)) || (SHARED_NAMES.test(nameOf(launch)) && hasAny(launch, OWN_FLAGS)),
  },
  {
    // `INSTALL.md` and `OPTIONS.md` of bghira/SimpleTuner: `accelerate launch simpletuner/train.py --data_backend_config=...`.
    trainer: SIMPLE_TUNER,
    starts: (launch) =>
      /(^|\/)simpletuner\/train\.py$/i.test(launch.script ?? '') ||
      (nameOf(launch) === 'train.py' && hasAny(launch, ['data_backend_config'])),
  },
  {
    // Its launcher starts programs of other kinds, too: those that are given arguments of its trainer.
    trainer: PADDLE_NLP,
    starts: (launch) =>
      hasAny(launch, ['per_device_train_batch_size', 'recompute']) &&
      (/^paddle\./.test(launch.script ?? '') || arePaddles((key) => hasAny(launch, [key]))),
  },
  { trainer: MUSUBI_TUNER, starts: (launch) => MUSUBI_NAMES.test(nameOf(launch)) },
  {
    // The second trainer of InternLM/xtuner, on FSDP: `torchrun xtuner/v1/train/cli/sft.py --config x.py`, or by its module.
    trainer: XTUNER_V1,
    starts: ({ script = '' }) =>
      /(?:^|\/)xtuner\/v1\/train\/cli\/\w+\.py$|^xtuner\.v1\.train\.cli\.\w+$/.test(script),
  },
  // `open_instruct/olmo_core_finetune.py` of allenai/open-instruct: its flags are those of its own trainer, the loop is OLMo-core's.
  { trainer: OLMO_CORE_FINETUNE, starts: (launch) => nameOf(launch) === 'olmo_core_finetune.py' },
  // `megatron_mimo_training_llava.py` and its like of NVIDIA-NeMo/Megatron-Bridge, which `run_hetero_llava.sh` starts.
  { trainer: MEGATRON_MIMO, starts: (launch) => /^megatron_mimo_training_\w+\.py$/.test(nameOf(launch)) },
  {
    // `slime/utils/arguments.py` of THUDM/slime: Megatron's flags beside those of rollouts, whose lengths and GPUs the others count from.
    trainer: SLIME,
    starts: (launch) =>
      hasAny(launch, ['actor_num_gpus_per_node']) && hasAny(launch, ['rollout_batch_size', 'hf_checkpoint']),
  },
  {
    // `skyrl/train` of NovaSky-AI/SkyRL, and scripts of projects on its settings.
    trainer: SKYRL,
    starts: (launch) =>
      /^skyrl[._]train\.(?:entrypoints\.)?main_/.test(launch.script ?? '') ||
      hasAny(launch, ['trainer.policy.model.path']),
  },
  // Recipes of thinking-machines-lab/tinker-cookbook: a service behind an interface trains.
  { trainer: TINKER, starts: ({ script = '' }) => /^tinker_cookbook\./.test(script) },
  {
    // `torchtitan/config/manager.py` of pytorch/torchtitan after v0.2: a function of its registry states what flags do not.
    trainer: TITAN_REGISTRY,
    starts: (launch) =>
      /^torchtitan\.|(?:^|\/)train\.py$/.test(launch.script ?? '') &&
      ['module', 'config'].every((flag) => hasAny(launch, [flag])),
  },
  {
    // `scripts/training/run_recipe.py` of NVIDIA-NeMo/Megatron-Bridge: what it is given goes over a recipe, which is Python.
    trainer: BRIDGE_RECIPE,
    starts: (launch) => nameOf(launch) === 'run_recipe.py' && hasAny(launch, ['recipe', 'model']),
  },
];

/** Launches of trainers that are not modelled: reported once, at the program, and never estimated. */
export const programsNotModelled: readonly Program[] = LAUNCHED.map(({ trainer, starts }) => ({
  name: trainer.name,
  keys: [],
  notModelled: true,
  match: (launch) => (starts(launch) ? 1 : 0),
  read(launch, draft) {
    const known = { name: trainer.name, trains: trainer.trains() };
    draft.notModelled = known;
    draft.report(
      'trainer-not-modelled',
      'information',
      startsWords(known),
      launch.programNodes[0]?.range ?? launch.range,
    );
  },
}));

/** What stands in scripts that start one of them. */
export const LAUNCHES_NOT_MODELLED =
  /\b(?:sdxl|flux|sd3|lumina|anima)_train|\btrain_textual_inversion_XTI\b|\bnetwork_(?:module|dim)\b|\b(?:train_network|train_db|fine_tune|train_textual_inversion|train_control_?net)\.py\b|\bsimpletuner\/train\.py\b|\b(?:tensor|pipeline|sharding)_parallel_(?:degree|config)\b|\bdata_backend_config\b|\b(?:wan|hv|hv_1_5|fpack|flux_2|flux_kontext|qwen_image|kandinsky5|zimage|krea2|ideogram4|hidream_o1)_train|\bxtuner[./]v1[./]train[./]|\bolmo_core_finetune\.py\b|\bmegatron_mimo_training_|\bactor[-_]num[-_]gpus[-_]per[-_]node\b|\bskyrl[._]train\.|\btrainer\.policy\.model\.path=|\btinker_cookbook\.|\brun_recipe\.py\b/;
