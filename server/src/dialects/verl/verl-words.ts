import { type Wish, type Words, word } from '../words';

/** RL keeps the policy in a block of its own, fine-tuning has it at the top. */
const engineOf = ({ text }: Wish): string =>
  text('actor_rollout_ref') === undefined && text('actor_rollout_ref.model.path') === undefined
    ? 'engine'
    : 'actor_rollout_ref.actor.fsdp_config';

/** FSDP 2's policy keeps both away while the model trains; FSDP 1 brings them back for that. */
const away = (value: string, wish: Wish) =>
  wish.run['parallel.data'] === 'fsdp2' && value !== 'nvme'
    ? [word(`${engineOf(wish)}.offload_policy`, value === 'cpu')]
    : undefined;

/** verl. */
export const verlWords: Words = { 'offload.parameters': away, 'offload.optimizer': away };
