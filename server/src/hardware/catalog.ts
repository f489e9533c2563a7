import cloud from '../../data/cloud.json';
import gpus from '../../data/gpus.json';
import { remembered } from '../memo/remembered';
import { closest } from '../wording/closest';
import { formatBytes } from '../wording/figures';
import { say } from '../wording/say';
import type { Accelerator } from './accelerator';

/** A machine type that can be rented, with what it holds. */
export interface CloudInstance {
  readonly provider: string;
  readonly instance: string;
  /** Catalog name of its accelerator. */
  readonly gpu: string;
  /** Accelerators in one machine. */
  readonly gpus: number;
  /** Network adapters of one machine, Gbit/s, where they are known. */
  readonly networkGbits?: number;
  /** On-demand list price of the machine in US dollars, where a dated source was read. */
  readonly usdPerHour?: number;
  readonly priceRegion?: string;
  readonly priceDate?: string;
  readonly source: string;
}

/** What a hardware name stands for. */
interface AcceleratorMatch {
  readonly accelerator: Accelerator;
  /** Accelerators per machine, where the name states it (`p4d.24xlarge`, `8x H100`). */
  readonly gpus?: number;
  readonly instance?: CloudInstance;
  /** For people: which of several cards was taken. */
  readonly note?: string;
}

const ACCELERATORS: readonly Accelerator[] = gpus.accelerators;
const INSTANCES: readonly CloudInstance[] = cloud.instances;

/** Words that say nothing about which card it is. */
const FILLER =
  /\b(nvidia|geforce|tesla|quadro|amd|radeon|instinct|google|intel|apple|huawei|aws|graphics|generation|blackwell|workstation|server|edition)\b/g;

/** Spelling without case, vendor, punctuation; `80g`, `80GiB` and `80 GB` are one. */
function plain(name: string): string {
  return name
    .toLowerCase()
    .replace(FILLER, ' ')
    .replace(/(\d)\s*(?:gib|gb|g)\b/g, '$1gb')
    .replace(/[^a-z0-9]/g, '');
}

interface Shape {
  readonly family: string;
  readonly memoryGb?: number;
  readonly form?: string;
}

/** Family, memory and board form of a name: `NVIDIA A100-SXM4-80GB` is an `a100`, 80 GB, `sxm`. */
function shape(name: string): Shape {
  const text = name.toLowerCase().replace(FILLER, ' ');
  const memory = /(?:^|[^a-z0-9.])(\d{1,3})\s*(?:gib|gb|g)\b/.exec(text);
  const form = /\b(sxm|pcie|nvl)\d?\b/.exec(text);
  const family = text
    .replace(memory?.[0] ?? '', ' ')
    .replace(/\b(sxm|pcie|nvl)\d?\b/g, ' ')
    .replace(/\bhbm\d?e?\b/g, ' ')
    .replace(/\brtx/g, ' ')
    .replace(/[^a-z0-9]/g, '');
  return { family, memoryGb: memory ? Number(memory[1]) : undefined, form: form?.[1] };
}

const byPlainName = new Map<string, Accelerator>();
for (const accelerator of ACCELERATORS) {
  byPlainName.set(plain(accelerator.name), accelerator);
}
for (const accelerator of ACCELERATORS) {
  for (const alias of [...accelerator.aliases, ...(accelerator.ambiguousNames ?? [])]) {
    if (!byPlainName.has(plain(alias))) {
      byPlainName.set(plain(alias), accelerator);
    }
  }
}
const instanceByName = new Map(INSTANCES.map((entry) => [entry.instance.toLowerCase(), entry]));
/** A machine type by its provider's name for it. */
export function cloudInstance(name: string | undefined): CloudInstance | undefined {
  return name === undefined ? undefined : instanceByName.get(name.toLowerCase());
}

const shapes = ACCELERATORS.map((accelerator) => ({ accelerator, shape: shape(accelerator.name) }));

/** A search asks for one card a few times per run that it tries. */
const cards = remembered<ReturnType<typeof cardCalled>>(256);

function findCard(name: string): AcceleratorMatch | undefined {
  const found = cards.of(name, () => cardCalled(name));
  if (!found) return undefined;
  const { accelerator, doubtful } = found;
  return { accelerator, note: doubtful ? say('"{0}" taken as {1}', name, accelerator.name) : undefined };
}

/** Cards of the same kind and form with another size of memory, by name: one of each size. */
export function otherSizes(name: string): string[] {
  const own = shapes.find(({ accelerator }) => accelerator.name === name);
  if (!own) return [];
  const sizes = new Map<number, string>();
  for (const { accelerator, shape: other } of shapes)
    if (other.family === own.shape.family && other.form === own.shape.form)
      sizes.set(accelerator.marketedGb, accelerator.name);
  sizes.delete(own.accelerator.marketedGb);
  return [...sizes.values()];
}

/** The card of a name, and whether it may be another one's as well. */
function cardCalled(
  name: string,
): { readonly accelerator: Accelerator; readonly doubtful: boolean } | undefined {
  const named = byPlainName.get(plain(name));
  // A laptop card shares the name of the desktop card and little else; a MIG slice is not a whole card.
  if (!named && /\b(laptop|mobile|max-?q|mig)\b/i.test(name)) {
    return undefined;
  }
  const wanted = shape(name);
  if (wanted.family === '') {
    return undefined;
  }
  const fitting = shapes.filter(
    ({ shape: candidate, accelerator }) =>
      candidate.family === wanted.family &&
      (wanted.form === undefined || candidate.form === undefined || candidate.form === wanted.form) &&
      (wanted.memoryGb === undefined || Math.abs(accelerator.marketedGb - wanted.memoryGb) <= 1),
  );
  // Boards with NVLink are what most training runs on.
  const preferred = fitting.find(({ shape: candidate }) => candidate.form === 'sxm') ?? fitting[0];
  const accelerator = named ?? preferred?.accelerator;
  if (!accelerator) {
    return undefined;
  }
  const sizes = new Set(fitting.map((row) => row.accelerator.marketedGb));
  const whole = name.toLowerCase().includes(accelerator.name.toLowerCase());
  const ambiguous = !whole && accelerator.ambiguousNames?.some((other) => plain(other) === plain(name));
  return { accelerator, doubtful: sizes.size > 1 || ambiguous === true };
}

/**
 * What a hardware name stands for: a card in any usual spelling (`h100-80gb`, `NVIDIA A100-SXM4-80GB`, `4090`), a cloud
 * machine (`p4d.24xlarge`), or a number of cards (`8x H100`, `A100:4`). Undefined where no such card is known.
 */
export function matchAccelerator(name: string): AcceleratorMatch | undefined {
  const text = name.trim();
  if (text === '' || text.length > 100) {
    return undefined;
  }
  const instance = instanceByName.get(text.toLowerCase());
  if (instance) {
    const accelerator = byPlainName.get(plain(instance.gpu));
    return accelerator && { accelerator, gpus: instance.gpus, instance };
  }
  const card = findCard(text);
  if (card) {
    return card;
  }
  const counted =
    /^(?<count>\d{1,5})\s*[x×*]\s*(?<card>.+)$/i.exec(text) ??
    /^(?<card>.+?)(?:\s+[x×*]|:)\s*(?<count>\d{1,5})$/i.exec(text);
  const inner = counted?.groups?.card === undefined ? undefined : findCard(counted.groups.card);
  const count = Number(counted?.groups?.count);
  return inner && count >= 1 && count <= MOST_COUNTED ? { ...inner, gpus: count } : undefined;
}

/**
 * The most of a card that its name may count: the 32,000 of the largest training run that is published with its cards (Llama 4 Behemoth,
 * https://ai.meta.com/blog/llama-4-multimodal-intelligence/), as a power of two. More is a slip of the keyboard.
 */
const MOST_COUNTED = 32_768;

/** What is wrong with a name that counts more of a known card than any run has had; undefined of any other. */
export function tooManyCounted(text: string): string | undefined {
  const counted =
    /^(?<count>\d{1,20})\s*[x×*]\s*(?<card>\S.{0,99})$/i.exec(text.trim()) ??
    /^(?<card>\S{1,99})(?:\s{1,9}[x×*]|:)\s*(?<count>\d{1,20})$/i.exec(text.trim());
  const { count, card } = counted?.groups ?? {};
  if (Number(count) <= MOST_COUNTED || card === undefined || !findCard(card)) return undefined;
  return say(
    '"{0}" counts more than {1} GPUs: name the GPU alone, and how many there are beside it.',
    text,
    MOST_COUNTED,
  );
}

/** The card that a name stands for; see `matchAccelerator`. */
export function findAccelerator(name: string): Accelerator | undefined {
  return matchAccelerator(name)?.accelerator;
}

/** Catalog names, in catalog order: for completion and error messages. */
export function acceleratorNames(): string[] {
  return ACCELERATORS.map(({ name }) => name);
}

/** Cloud machine names, for completion. */
export function cloudInstances(): readonly CloudInstance[] {
  return INSTANCES;
}

/** Names that may have been meant by an unknown one, nearest first. */
export function suggestAccelerators(name: string): string[] {
  const candidates = [...acceleratorNames(), ...INSTANCES.map(({ instance }) => instance)];
  const { family } = shape(name);
  const kin = shapes
    .filter(({ shape: candidate }) => family.length >= 3 && candidate.family.startsWith(family.slice(0, 4)))
    .map(({ accelerator }) => accelerator.name);
  return [...new Set([...kin, ...closest(name, candidates)])].slice(0, 3);
}

const MIB = 2 ** 20;

/**
 * Bytes that PyTorch sees of so many that nvidia-smi shows, where no reading is at hand: the driver keeps about 1 % of a card
 * above 48 GB and 2 % of a smaller one. Readings of 13 cards in `data/gpus.json` are 97.1 to 99.6 % of the total.
 */
export function usableOf(totalBytes: number): number {
  const share = totalBytes > 48 * 2 ** 30 ? 0.99 : 0.98;
  return Math.floor((share * totalBytes) / MIB) * MIB;
}

/** A card of which only the memory is known, for runs that state `hardware.gpuMemory` without a name. Bytes. */
export function anonymousAccelerator(usableBytes: number): Accelerator {
  return {
    name: say('GPU with {0}', formatBytes(usableBytes)),
    aliases: [],
    vendor: '',
    architecture: '',
    marketedGb: Math.round(usableBytes / 2 ** 30),
    totalBytes: Math.round(usableBytes),
    usableBytes: Math.round(usableBytes),
    usableIsDerived: false,
    denseFlops: {},
    supports: { bf16: true, fp8: false, flash2: true, flash3: false },
    sources: [],
  };
}
