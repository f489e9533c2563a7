import { l10n, type Memento, type QuickPickItem, QuickPickItemKind } from 'vscode';
import { accelerators } from '../../../server/src/shared/fields';
import type { Catalog } from '../../../server/src/shared/protocol';
import { formatCount, say } from '../../../server/src/shared/words';
import type { LanguageServer } from '../language-server';

/** An answer that is offered. What it stands for is its label. */
export type Choice = QuickPickItem;

/** As many as are looked through at a glance. */
const RECENT = 5;

/** Common answers, so that most people pick instead of typing. Anything else can be typed. */
const NUMBERS: Readonly<
  Record<string, { readonly values: readonly number[]; readonly unit: (value: number) => string }>
> = {
  'batch.sequence': {
    values: [512, 1024, 2048, 4096, 8192, 16384, 32768],
    unit: (value) => say('{0|token|tokens}', value),
  },
  'batch.micro': { values: [1, 2, 4, 8, 16, 32], unit: (value) => say('{0|sample|samples} per GPU', value) },
  'hardware.gpus': {
    values: [1, 2, 4, 8, 16, 32, 64],
    unit: (value) => say('{0|GPU|GPUs} over all nodes', value),
  },
  'hardware.nodes': { values: [1, 2, 4, 8, 16], unit: (value) => say('{0|node|nodes}', value) },
};

/** What can be answered to a question: what was answered lately, what this machine has, what the catalogs know. */
export class Choices {
  readonly #server: LanguageServer;
  readonly #memory: Memento;

  constructor(server: LanguageServer, memory: Memento) {
    this.#server = server;
    this.#memory = memory;
  }

  /** What can be offered at once; undefined where a box to type in serves better. */
  atOnce(field: string): readonly Choice[] | undefined {
    const numbers = NUMBERS[field];
    if (numbers) {
      return numbers.values.map((value) => ({ label: String(value), description: numbers.unit(value) }));
    }
    if (field !== 'hardware.gpu' && field !== 'model.id') {
      return undefined;
    }
    return this.#grouped(field, undefined);
  }

  /** The same with what the server knows; as at once where it does not answer. */
  async all(field: string): Promise<readonly Choice[] | undefined> {
    if (field !== 'hardware.gpu' && field !== 'model.id') {
      return this.atOnce(field);
    }
    return this.#grouped(field, await this.#server.catalog().catch(() => undefined));
  }

  /** Keeps an answer for the next time. */
  async remember(field: string, value: string): Promise<void> {
    if (field in NUMBERS) {
      return;
    }
    const others = this.#recent(field).filter((other) => other !== value);
    await this.#memory.update(keyOf(field), [value, ...others].slice(0, RECENT));
  }

  #recent(field: string): readonly string[] {
    return this.#memory.get<readonly string[]>(keyOf(field), []);
  }

  #grouped(field: 'hardware.gpu' | 'model.id', catalog: Catalog | undefined): readonly Choice[] {
    const known = field === 'hardware.gpu' ? gpus() : models(catalog);
    const here = field === 'hardware.gpu' ? detected(catalog) : cached(catalog, known);
    const recent = this.#recent(field).map(
      (name) => known.find(({ label }) => label === name) ?? { label: name },
    );
    const shown = new Set(here.map(({ label }) => label));
    const earlier = recent.filter(({ label }) => !shown.has(label));
    for (const { label } of earlier) shown.add(label);
    return [
      ...group(l10n.t('On this machine'), here),
      ...group(l10n.t('Recent'), earlier),
      ...group(
        l10n.t('Catalog'),
        known.filter(({ label }) => !shown.has(label)),
      ),
    ];
  }
}

const keyOf = (field: string) => `oomlint.recent.${field}`;

function group(label: string, choices: readonly Choice[]): Choice[] {
  return choices.length === 0 ? [] : [{ label, kind: QuickPickItemKind.Separator }, ...choices];
}

/** Fastest first: what most people train on stands on top. Aliases are there to be searched. */
function gpus(): Choice[] {
  return accelerators
    .map(({ name, aliases, vendor, architecture, marketedGb, denseFlops }) => ({
      label: name,
      description: [`${marketedGb} GB`, `${vendor} ${architecture}`, ...aliases].join(' · '),
      flops: denseFlops.bf16 ?? denseFlops.fp16 ?? 0,
    }))
    .sort((a, b) => b.flops - a.flops)
    .map(({ label, description }) => ({ label, description }));
}

function models(catalog: Catalog | undefined): Choice[] {
  return (catalog?.models ?? []).map(({ id, aliases, modelType, parameters }) => ({
    label: id,
    description: [formatCount(parameters), modelType, ...aliases].join(' · '),
  }));
}

function detected(catalog: Catalog | undefined): Choice[] {
  if (!catalog?.detected) {
    return [];
  }
  const { gpu, count, totalBytes } = catalog.detected;
  const memory = `${Math.round(totalBytes / 2 ** 30)} ${say('GiB')}`;
  return [{ label: gpu, description: `${count} × ${memory}, nvidia-smi` }];
}

function cached(catalog: Catalog | undefined, known: readonly Choice[]): Choice[] {
  return (catalog?.cached ?? []).map(
    (name) =>
      known.find(({ label }) => label === name) ?? {
        label: name,
        description: l10n.t('in the Hugging Face cache'),
      },
  );
}
