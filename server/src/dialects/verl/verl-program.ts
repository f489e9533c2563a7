import type { ScalarNode } from '../../config/node';
import { withChanges } from '../../memo/on-demand';
import type { FieldPath } from '../../run/fields';
import { say } from '../../wording/say';
import type { Dialect, Reading } from '../dialect';
import type { Draft } from '../draft';
import type { Launch } from '../launch/launch';
import { hasBelow, hydraConfig, type NamedConfig, overridingProgram } from '../launch/overriding-program';
import type { Program } from '../launch/program';
import { verl, verlStartedBy } from './verl';
import type { Trainer } from './verl-names';

/** verl's own trainers, by the module's last name, with the config that each takes. */
const TRAINERS: Readonly<Record<string, { readonly trainer: Trainer; readonly config: string }>> = {
  main_ppo: { trainer: 'ppo', config: 'ppo_trainer' },
  sft_trainer: { trainer: 'sft', config: 'sft_trainer_engine' },
  sft_trainer_ray: { trainer: 'sft', config: 'sft_trainer_engine' },
  fsdp_sft_trainer: { trainer: 'older-sft', config: 'sft_trainer' },
};
/** Configs whose defaults are known, by name: those of DAPO add to verl's own what costs no memory (`recipe/dapo/config`, 0.3 to 0.6). */
const CONFIGS: Readonly<Record<string, Trainer>> = {
  ppo_trainer: 'ppo',
  ppo_megatron_trainer: 'megatron',
  dapo_trainer: 'ppo',
  dapo_megatron_trainer: 'megatron',
  sft_trainer_engine: 'sft',
  sft_trainer: 'older-sft',
};
const OWN = /(?:^|\/)verl\/trainer\/(\w+)$/;
const DAPO = /(?:^|\/)recipe\/dapo\/(?:src\/)?main_dapo$/;

/** `verl.trainer.main_ppo`, `verl/trainer/main_ppo.py`: the path without its extension. */
const pathOf = ({ script = '' }: Launch) =>
  script.endsWith('.py') ? script.slice(0, -3) : script.replaceAll('.', '/');

const trainerOf = (launch: Launch) => TRAINERS[OWN.exec(pathOf(launch))?.[1] ?? ''];
const isKnown = (launch: Launch) => trainerOf(launch) !== undefined || DAPO.test(pathOf(launch));

/** The config that is named, else the one that the trainer takes; of another script, what its code names. */
function configOf(launch: Launch): NamedConfig | undefined {
  const named = hydraConfig(launch, 'config');
  if (named) return named;
  const node = launch.scriptNode ?? launch.programNodes[0];
  if (!node) return undefined;
  const path = pathOf(launch);
  const folder = path.slice(0, path.lastIndexOf('/') + 1);
  const own = trainerOf(launch)?.config ?? (DAPO.test(path) ? 'dapo_trainer' : undefined);
  if (own !== undefined)
    return { path: `${folder}config/${own}.yaml`, node, key: 'config_name', optional: true };
  return { path: `${path}.py`, node, key: 'config_name', optional: true, byMain: true };
}

/** The name of the config, without folders and extension. */
function configName(launch: Launch): string | undefined {
  const named = hydraConfig(launch, 'config')?.path.split('/').at(-1);
  return (
    named?.replace(/\.ya?ml$/, '') ??
    trainerOf(launch)?.config ??
    (isKnown(launch) ? 'dapo_trainer' : undefined)
  );
}

const knownTrainer = (launch: Launch): Trainer | undefined => CONFIGS[configName(launch) ?? ''];

/** The script that is given the values, of Python or of the shell. */
function scriptNamed(launch: Launch): ScalarNode | undefined {
  const node = launch.scriptNode ?? launch.shellScript ?? launch.programNodes[0];
  return node?.kind === 'scalar' ? node : undefined;
}

function familyOf(launch: Launch): Dialect {
  const trainer = knownTrainer(launch);
  if (trainer) return verlStartedBy(trainer);
  const family = trainerOf(launch) ? verlStartedBy(trainerOf(launch)?.trainer ?? 'ppo') : verl;
  const name = configName(launch) ?? scriptNamed(launch)?.text ?? '';
  return { ...family, read: (document, context) => borrowed(family.read(document, context), name) };
}

/** Defaults where the config is neither verl's own nor here: verl's are taken, and stated as such. */
function borrowed(reading: Reading, config: string): Reading {
  const note = say("taken from verl's own config: that of `{0}` is not here, and may state another", config);
  const facts = reading.facts.map((stated) =>
    stated.origin.kind === 'default' && stated.field !== 'framework'
      ? { ...stated, origin: { ...stated.origin, note } }
      : stated,
  );
  return withChanges(reading, { facts });
}

const overriding = overridingProgram(
  verl,
  (launch) => {
    if (trainerOf(launch)) return 1;
    return hasBelow(launch, 'actor_rollout_ref') ? 0.95 : 0;
  },
  configOf,
  // Ray's workers are as many as the trainer is given, whatever this process sees.
  (launch) => !/sft_trainer/.test(launch.script ?? ''),
  familyOf,
  true,
);

/** `python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo ...`, `verl.trainer.sft_trainer`, and scripts of recipes over them. */
export const verlProgram: Program = {
  ...overriding,
  read(launch, draft, context) {
    overriding.read(launch, draft, context);
    noteOwnConfig(launch, draft);
    noteOwnTrainer(launch, draft);
  },
};

/** What decides about the memory of a run, and may stand in a config that the launch does not show: where nobody states it, nothing is known. */
const LEFT_TO_CONFIG: readonly FieldPath[] = [
  'method.kind',
  'parallel.data',
  'activations.checkpointing',
  'offload.parameters',
  'offload.optimizer',
];

/** A config that is neither verl's own nor here: what it states is not known. */
function noteOwnConfig(launch: Launch, draft: Draft): void {
  const named = hydraConfig(launch, 'config');
  const name = configName(launch);
  if (!named || name === undefined || knownTrainer(launch)) return;
  const file = `${name}.yaml`;
  const message = say('`{0}` is not here: what it states is not known.', file);
  draft.leave('script', named.node, file, message, LEFT_TO_CONFIG);
}

/** Another script may put its models on pools of GPUs of their own, and do more than its config states. */
function noteOwnTrainer(launch: Launch, draft: Draft): void {
  if (isKnown(launch)) return;
  const node = scriptNamed(launch);
  if (!node) return;
  draft.bring('own-trainer', node, `${launch.path}.script`);
  // What another script of the shell starts is left with the words of the launch.
  if (launch.script === undefined) return;
  const { script } = launch;
  draft.leave(
    'script',
    node,
    script,
    say(
      '`{0}` is no trainer of verl: which of its models share a GPU, and what it does beyond its config, is not read.',
      script,
    ),
  );
}
