import { flagOf, integerOf, textOf } from '../../config/scalar';
import { FIELDS, type FieldPath, type FieldSpec } from '../../run/fields';
import type { Fact } from '../../run/origin';
import { say } from '../../wording/say';
import type { ReadContext } from '../dialect';
import { Draft } from '../draft';
import { type FoundKey, Section } from '../section';
import { whatWaits } from '../waiting-models';
import { VERL_TABLE } from './verl-keys';
import { readVerlMegatron } from './verl-megatron';
import { readVerlFsdp, readVerlModel } from './verl-model';
import { ACTOR, CRITIC, RL, VERL_SOURCE, verlDefault } from './verl-names';

/** What of the critic is no part of its step, or is the policy's. */
const ELSEWHERE = /^(model\.|features\.|hardware\.|method\.(?!kind)|loss\.|rollout\.|framework|version\.)/;

/** The step of the value model, and what of it waits while others use the GPU (`workers/fsdp_workers.py`, `CriticWorker`). */
export function readCritic(section: Section, draft: Draft, core: boolean, context: ReadContext): void {
  const ownStep = readStep(section, draft, core, context);
  for (const left of ownStep.unread)
    if (!draft.hasLeft(left.location.range)) draft.unread.push({ ...left, fields: ['method.valueStep'] });
  const read = differing(draft, ownStep);
  const facts = core ? read.filter(({ field }) => !SPLIT.test(field)) : read;
  const step = Object.fromEntries(facts.map(({ field, value }) => [field, value]));
  const stated = facts.find(({ origin }) => origin.location !== undefined && origin.kind !== 'default');
  const because = placeOf(stated, draft.uri) ?? section.find('critic');
  if (because) section.state('method.valueStep', step, because);
  else
    section.assume(
      'method.valueStep',
      verlDefault(step, say('the value model is trained in a step of its own')),
    );
  const [weights, states] = ['param_offload', 'optimizer_offload'].map((key) =>
    section.find(
      ['critic.model.fsdp_config', 'critic.fsdp', 'critic.megatron'].map((block) => `${block}.${key}`),
    ),
  );
  const [w, s] = [flagOf(weights?.node) === true, flagOf(states?.node) === true];
  const away = w ? weights : s ? states : undefined;
  if (away) section.state('method.valueOffload', whatWaits(w, s), away);
  noteOtherModel(section, draft);
}

/** The workers share a process, which the policy's has split already where the critic's comes (`megatron_workers.py`, `CriticWorker.__init__`). */
const SPLIT = /^parallel\./;

/** What is stated and assumed of the critic, as if it were the run. */
function readStep(section: Section, draft: Draft, core: boolean, context: ReadContext): Draft {
  const { root } = section;
  const document = {
    uri: draft.uri,
    format: 'yaml',
    root: root ?? null,
    problems: [],
    directives: [],
    relaxedJson: false,
  } as const;
  const step = new Draft(document, context);
  const own = new Section(root, step, '', VERL_TABLE)
    .withDefaultsOf(`${VERL_SOURCE}trainer/config/critic/`)
    .withVersions({ verl: context.versions?.verl?.version });
  if (core) readVerlMegatron(own, step, 'critic');
  readVerlModel(own, CRITIC, step);
  readMicroBatches(own, draft, context);
  if (!core) readVerlFsdp(own, named(own));
  return step;
}

/** FSDP's block of the critic moved with 0.8; without a strategy of its own it takes the policy's. */
function named(section: Section) {
  const engine = section.has('critic.fsdp') ? 'critic.fsdp' : CRITIC.engine;
  const strategy = section.has(CRITIC.strategy) ? CRITIC.strategy : RL.strategy;
  return { ...CRITIC, engine, strategy };
}

/** By samples, or by tokens: whether it is by tokens is the policy's to state where the critic does not. */
function readMicroBatches(section: Section, policy: Draft, context: ReadContext): void {
  const dynamic = section.find(['critic.use_dynamic_bsz', `${ACTOR}.use_dynamic_bsz`]);
  if (flagOf(dynamic?.node) === true && dynamic) {
    const limit = section.find('critic.ppo_max_token_len_per_gpu');
    const tokens = section.integerOrDefault('critic.ppo_max_token_len_per_gpu');
    const ulysses = section.integerOrDefault(CRITIC.ulysses);
    section.state('batch.micro', 1, limit ?? dynamic);
    section.state('batch.sequence', tokens * ulysses, limit ?? dynamic);
    return;
  }
  const lengths = ['data.max_prompt_length', 'data.max_response_length'] as const;
  const [prompt, response] = lengths.map((key) => section.integerOrDefault(key));
  section.assume('batch.sequence', verlDefault((prompt ?? 0) + (response ?? 0)));
  section.take('critic.ppo_micro_batch_size_per_gpu');
  const all = section.find('critic.ppo_micro_batch_size');
  const samples = integerOf(all?.node);
  const gpus = policy.valueOf('hardware.gpus') ?? context.known['hardware.gpus'];
  if (all && samples !== undefined && typeof gpus === 'number' && gpus > 0)
    section.state('batch.micro', Math.max(1, Math.floor(samples / gpus)), all);
  const because = section.find(['critic', 'algorithm.adv_estimator']);
  if (all || section.has('critic.ppo_micro_batch_size_per_gpu') || !because) return;
  // `workers/config/critic.py`, `validate`: one of the two sizes has to be there.
  const key = 'critic.ppo_micro_batch_size_per_gpu';
  policy.leave(
    'value',
    because.node,
    key,
    say('`{0}` is not set: without it, or `use_dynamic_bsz`, verl does not start.', key),
    ['method.valueStep'],
  );
}

/** Facts of the step that differ from what is stated or assumed of the policy, each field once. */
function differing(policy: Draft, step: Draft): readonly Fact[] {
  const found = new Map<FieldPath, Fact>();
  for (const stated of step.facts)
    if (!ELSEWHERE.test(stated.field) && !found.has(stated.field)) found.set(stated.field, stated);
  return [...found.values()].filter(({ field, value }) => {
    const spec: FieldSpec = FIELDS[field];
    const there = policy.valueOf(field) ?? ('default' in spec ? spec.default : undefined);
    return JSON.stringify(there) !== JSON.stringify(value);
  });
}

/** Where a fact is stated. */
function placeOf(stated: Fact | undefined, uri: string): FoundKey | undefined {
  const { location, key = 'critic' } = stated?.origin ?? {};
  if (!location) return undefined;
  const range = location.uri === uri ? location.range : { ...location.range, uri: location.uri };
  return { key, node: { kind: 'scalar', range, value: null, text: '', quoted: false } };
}

/** The last part of a path: `~/models/Qwen2-7B` is `Qwen/Qwen2-7B`. */
const lastOf = (found: FoundKey | undefined) =>
  textOf(found?.node)?.replace(/\/+$/, '').split('/').at(-1)?.toLowerCase();

/** A value model that is none of the policy's size is not estimated; nor is one that nothing names, which is a file of verl's authors. */
function noteOtherModel(section: Section, draft: Draft): void {
  const other = section.find('critic.model.path');
  const [policy, value] = [lastOf(section.find('actor_rollout_ref.model.path')), lastOf(other)];
  const because =
    other ?? section.find(['critic', 'algorithm.adv_estimator', 'actor_rollout_ref.model.path']);
  if (policy === undefined || policy === value || !because) return;
  draft.bring('other-value-model', because.node, because.key);
}
