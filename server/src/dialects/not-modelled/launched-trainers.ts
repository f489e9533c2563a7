import { entryOf } from '../../config/lookup';
import type { Launch } from '../launch/launch';
import type { Program } from '../launch/program';
import { type OtherTrainer, SD_SCRIPTS, SIMPLE_TUNER } from './other-trainers';
import { startsWords } from './starts-words';

/** A trainer that is not modelled, and the launches that start it. */
interface LaunchedTrainer {
  readonly trainer: OtherTrainer;
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
  /\b(?:sdxl|flux|sd3|lumina|anima)_train|\btrain_textual_inversion_XTI\b|\bnetwork_(?:module|dim)\b|\b(?:train_network|train_db|fine_tune|train_textual_inversion|train_control_?net)\.py\b|\bsimpletuner\/train\.py\b|\bdata_backend_config\b/;
