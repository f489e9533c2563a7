import type { MachinesAsked } from '../../config/job-manifest';
import { nodeAt } from '../../config/lookup';
import { say } from '../../wording/say';
import type { Draft } from '../draft';
import type { Launch } from './launch';

const GIB = 2 ** 30;

/** GPU, how many, US dollars an hour, host memory in GiB. */
type Flavor = readonly [gpu: string, gpus: number, usd: number, host: number];

/**
 * Machines of Hugging Face Jobs by their flavors (`JobHardware` of huggingface_hub 2.4.0), and their list prices
 * (https://github.com/huggingface/hub-docs/blob/0b8c07f8210e1214ea5ce2fc4fbc2050d0b42e89/docs/hub/jobs-pricing.md). What stands there as GB of host
 * memory are GiB: the 1534 of eight L40S are those of a machine of 1536 GiB.
 */
const FLAVORS: Readonly<Record<string, Flavor>> = {
  't4-small': ['T4', 1, 0.4, 15],
  't4-medium': ['T4', 1, 0.6, 30],
  l4x1: ['L4', 1, 0.8, 30],
  l4x4: ['L4', 4, 3.8, 186],
  l40sx1: ['L40S', 1, 1.8, 62],
  l40sx4: ['L40S', 4, 8.3, 382],
  l40sx8: ['L40S', 8, 23.5, 1534],
  'a10g-small': ['A10G', 1, 1, 15],
  'a10g-large': ['A10G', 1, 1.5, 46],
  'a10g-largex2': ['A10G', 2, 3, 92],
  'a10g-largex4': ['A10G', 4, 5, 184],
  'a100-large': ['a100-80gb', 1, 2.5, 142],
  a100x4: ['a100-80gb', 4, 10, 568],
  a100x8: ['a100-80gb', 8, 20, 1136],
  h200: ['H200', 1, 5, 256],
  h200x2: ['H200', 2, 10, 512],
  h200x4: ['H200', 4, 20, 1024],
  h200x8: ['H200', 8, 40, 2048],
  'rtx-pro-6000': ['RTX PRO 6000 Blackwell', 1, 2.75, 256],
  'rtx-pro-6000x2': ['RTX PRO 6000 Blackwell', 2, 5.5, 512],
  'rtx-pro-6000x4': ['RTX PRO 6000 Blackwell', 4, 11, 1024],
  'rtx-pro-6000x8': ['RTX PRO 6000 Blackwell', 8, 22, 2048],
};

/** GPUs by the flavors that have them. */
export const GPUS_OF_FLAVORS: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries(FLAVORS).map(([name, [gpu]]) => [name, gpu]),
);

/** What `hf jobs run --flavor a10g-large` asks for; undefined for other commands, and for flavors that nobody knows or that have no GPU. */
export function askedOfFlavor({ submitter, wrapper, path }: Launch): MachinesAsked | undefined {
  const isJob = submitter.some(
    (word, i) =>
      /(?:^|\/)hfjobs$/.test(word) ||
      (word === 'jobs' && /(?:^|\/)(?:hf|huggingface-cli)$/.test(submitter[i - 1] ?? '')),
  );
  const given = isJob ? nodeAt(wrapper, ['flavor']) : undefined;
  // The image stands behind it.
  const node = given?.kind === 'list' ? given.items[0] : given;
  const text = node?.kind === 'scalar' ? node.text : '';
  const [, gpus] = FLAVORS[text] ?? [];
  if (!node || gpus === undefined) return undefined;
  const card = { key: `${path}.wrapper.flavor`, text, range: node.range };
  return { system: 'HuggingFace', card, gpus: { ...card, text: String(gpus) } };
}

/** What else is known of the machine by its flavor. */
export function readFlavor({ card }: MachinesAsked, draft: Draft): void {
  const [, gpus, usd, host] = (card && FLAVORS[card.text]) ?? [];
  if (!card || gpus === undefined || usd === undefined || host === undefined) return;
  draft.infer('hardware.hostMemory', host * GIB, say('a machine of {0}', card.text), card, card.key);
  draft.infer('hardware.price', usd / gpus, say('list price of {0}', card.text), card, card.key);
}
