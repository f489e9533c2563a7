import { say } from '../../wording/say';
import type { Draft } from '../draft';
import {
  megatron,
  OPTIMIZER_SETTINGS,
  readAttention,
  readModules,
  readOptimizerArguments,
  readParallelism,
  readRecomputation,
  readStates,
} from '../megatron/parallel-arguments';
import { SpelledSection, type Spelling } from '../megatron/spelled-section';
import { readUnmodelled } from '../megatron/unmodelled-arguments';
import type { Section } from '../section';
import { readPadding } from './verl-model';
import { ACTOR, verlDefault } from './verl-names';

const SPELLING: Spelling = Object.fromEntries(
  [
    'recompute_granularity',
    'recompute_method',
    'recompute_num_layers',
    'recompute_modules',
    'attention_backend',
  ].map((name) => [name, [`override_transformer_config.${name}`]]),
);

/** What goes to Megatron's optimizer over verl's own arguments (`utils/megatron/optimizer.py`, `init_megatron_optim_config`). */
const OVERRIDDEN: Spelling = Object.fromEntries(
  OPTIMIZER_SETTINGS.map((name) => [name, [`override_optimizer_config.${name}`, name]]),
);

/** Megatron-Core: low-precision weights, fp32 main gradients, distributed optimizer (`trainer/config/engine/megatron.yaml`). */
export function readVerlMegatron(section: Section, draft: Draft, of: string = ACTOR): void {
  const engine = section.find(`${of}.strategy`);
  const block = section.find(`${of}.megatron`);
  const args = new SpelledSection(block?.node, draft, SPELLING, `${of}.megatron`);
  const because = engine ?? block;
  const replicas = say('replicas, whose states are sharded');
  if (because) section.state('parallel.data', 'ddp', because, replicas);
  else section.assume('parallel.data', verlDefault('ddp' as const, replicas));
  // Rows are packed whatever the model's block states (`workers/actor/megatron_actor.py`; before 0.7 always).
  readPadding(section, [`${of}.megatron.use_remove_padding`]);
  section.assume('model.code', megatron('megatron' as const, '', say('verl runs Megatron-Core')));
  for (const field of ['precision.weights', 'precision.compute'] as const)
    section.assume(field, verlDefault('bf16' as const));
  section.assume('precision.scheme', verlDefault('megatron' as const, say('fp32 masters')));
  section.take(`${of}.megatron.sequence_parallel`, `${of}.megatron.use_distributed_optimizer`);
  readParallelism(args);
  readRecomputation(args);
  readAttention(args);
  readModules(args, { transformerEngine: true, grouped: true });
  readUnmodelled(args);
  const optimizer = section.find(`${of}.optim`)?.node;
  const states = new SpelledSection(optimizer, draft, OVERRIDDEN, `${of}.optim`);
  readOptimizerArguments(states);
  readStates(states);
  section.assume(
    'loss.implementation',
    verlDefault('vocab-parallel' as const, say('log-probabilities over the ranks that split the vocabulary')),
  );
}
