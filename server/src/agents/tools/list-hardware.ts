import * as z from 'zod/mini';
import {
  acceleratorNames,
  cloudInstances,
  findAccelerator,
  matchAccelerator,
  suggestAccelerators,
} from '../../hardware/catalog';
import { formatBytes } from '../../wording/figures';
import { described } from '../stated';
import { toolOf } from '../tool';
import { ToolError } from '../tool-error';

const CARD = z.object({
  name: described(z.string(), 'Pass it as `gpu`.'),
  vendor: z.string(),
  usable_bytes: described(z.number(), 'What PyTorch can use of it.'),
  bf16: z.boolean(),
  fp8: z.boolean(),
  machines: described(
    z.array(z.object({ name: z.string(), gpus: z.number(), usd_per_hour: z.nullable(z.number()) })),
    'Cloud machines that have it, with list prices where they are known.',
  ),
});

export const listHardware = toolOf({
  name: 'list_hardware',
  title: 'List GPUs and cloud machines',
  description:
    'GPUs and other accelerators that Oomlint knows, with the memory that a program can use and the cloud machines that have them.',
  input: z.object({
    query: z.optional(described(z.string(), 'Part of a name such as "H100" or "24GB", or a cloud machine.')),
    at_least_bytes: z.optional(described(z.number(), 'Only cards on which a program can use so much.')),
  }),
  output: z.object({ cards: z.array(CARD) }),
  writes: false,
  async run({ query, at_least_bytes: least = 0 }) {
    const plain = (text: string) => text.toLowerCase().replace(/[^a-z0-9]/g, '');
    const wanted = query === undefined ? '' : plain(query);
    const named = query === undefined ? undefined : matchAccelerator(query)?.accelerator.name;
    const cards = acceleratorNames()
      .flatMap((name) => findAccelerator(name) ?? [])
      .filter(
        ({ name, aliases }) =>
          name === named || [name, ...aliases].some((own) => plain(own).includes(wanted)),
      )
      .filter(({ usableBytes }) => usableBytes >= least)
      .map((card) => ({
        name: card.name,
        vendor: card.vendor,
        usable_bytes: card.usableBytes,
        bf16: card.supports.bf16,
        fp8: card.supports.fp8,
        machines: cloudInstances()
          .filter(({ gpu }) => gpu === card.name)
          .map(({ instance, gpus, usdPerHour = null }) => ({
            name: instance,
            gpus,
            usd_per_hour: usdPerHour,
          })),
      }));
    if (cards.length === 0)
      throw new ToolError(
        `No card is called "${query ?? ''}" with that much memory.`,
        `Near: ${suggestAccelerators(query ?? '').join(', ') || 'none; leave out the query'}.`,
      );
    const lines = cards.map(({ name, usable_bytes: bytes }) => `${name}: ${formatBytes(bytes)}`);
    return { text: lines.join('\n'), data: { cards } };
  },
});
