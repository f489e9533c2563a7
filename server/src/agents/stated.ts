import * as z from 'zod/mini';
import type { RunOptions } from '../workspace/command-line-facts';

/** A field of a tool's input or answer, with what it is. */
export const described = <T extends z.ZodMiniType>(schema: T, words: string): T =>
  schema.check(z.describe(words)) as T;

export const path = () =>
  described(z.string().check(z.minLength(1)), 'Path inside the folder, with forward slashes.');

/** What an agent may say of a run beside its files; it wins over them. */
export const STATED = {
  gpu: z.optional(
    described(z.string(), 'GPU or cloud machine, such as "H100", "RTX 4090", "p4d.24xlarge", "8xA100-80GB".'),
  ),
  gpus: z.optional(described(z.int().check(z.gte(1)), 'GPUs over all nodes.')),
  nodes: z.optional(described(z.int().check(z.gte(1)), 'Machines.')),
  model: z.optional(
    described(z.string(), 'Model on the Hugging Face Hub, or path of a model folder or config.json.'),
  ),
  set: z.optional(
    described(
      z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])),
      'Any other field of the run, such as {"batch.sequence": 4096}; names come from `unknown` and `assumptions`.',
    ),
  ),
};

const STATEMENTS = z.object(STATED);

/** The same as the command line takes it. */
export function runOptionsOf({ gpu, gpus, nodes, model, set = {} }: z.output<typeof STATEMENTS>): RunOptions {
  return {
    ...(gpu === undefined ? {} : { gpu }),
    ...(gpus === undefined ? {} : { gpus: String(gpus) }),
    ...(nodes === undefined ? {} : { nodes: String(nodes) }),
    ...(model === undefined ? {} : { model }),
    set: Object.entries(set).map(([field, value]) => `${field}=${value}`),
  };
}
