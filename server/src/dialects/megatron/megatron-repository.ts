import type { Repository } from '../../sources/repositories';

export const MEGATRON_DEEPSPEED: Repository = {
  name: 'bigscience-workshop/Megatron-DeepSpeed',
  at: '8387ae17c4704f6579f88a84500b535d19d7fbbf',
};
