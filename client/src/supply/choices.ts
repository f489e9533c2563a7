import { CancellationTokenSource, l10n, type Memento, type QuickPickItem, QuickPickItemKind } from 'vscode';
import { accelerators, popular } from '../../../server/src/shared/fields';
import type { Catalog, KnownConfig } from '../../../server/src/shared/protocol';
import { formatCount, say } from '../../../server/src/shared/words';
import type { LanguageServer } from '../language-server';
import { type Named, namedIn } from './named-in-configs';

/** An answer that is offered. What it stands for is its label. */
export type Choice = QuickPickItem;

/** As many as are looked through at a glance. */
const RECENT = 5;

/** So long a list waits for the configs of the workspace; large folders take longer, and are there the next time. */
const CONFIGS_MS = 400;

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

type Listed = 'hardware.gpu' | 'model.id';

/** What can be answered to a question: what the workspace has, what was answered lately, what many use, what the catalogs know. */
export class Choices {
  readonly #server: LanguageServer;
  readonly #memory: Memento;
  /** As found last. */
  #configs: readonly KnownConfig[] = [];
  #looking: Promise<void> | undefined;

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
    const [catalog] = await Promise.all([this.#server.catalog().catch(() => undefined), this.#look()]);
    return this.#grouped(field, catalog);
  }

  /** Settles when the configs of the workspace are known, or take too long. */
  async #look(): Promise<void> {
    const { token } = new CancellationTokenSource();
    this.#looking ??= this.#server
      .configs(token)
      .then(
        ({ configs }) => {
          this.#configs = configs;
        },
        () => undefined,
      )
      .finally(() => {
        this.#looking = undefined;
      });
    await Promise.race([this.#looking, new Promise((resolve) => setTimeout(resolve, CONFIGS_MS))]);
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

  /** Each answer once, in the first group that has it. */
  #grouped(field: Listed, catalog: Catalog | undefined): readonly Choice[] {
    const isCard = field === 'hardware.gpu';
    const known = isCard ? gpus() : models(catalog);
    const choiceOf = (name: string) => known.find(({ label }) => label === name) ?? { label: name };
    const here = isCard ? detected(catalog) : cached(catalog, known);
    const groups = [
      [
        l10n.t('In this workspace'),
        namedIn(this.#configs, isCard ? 'gpu' : 'model').map(inConfigs(choiceOf)),
      ],
      [l10n.t('On this machine'), here],
      [l10n.t('Recent'), this.#recent(field).map(choiceOf)],
      [l10n.t('Popular'), popular[isCard ? 'gpus' : 'models'].map(({ name }) => choiceOf(name))],
      [l10n.t('Catalog'), known],
    ] as const;
    const shown = new Set<string>();
    return groups.flatMap(([title, choices]) => {
      const own = choices.filter(({ label }) => !shown.has(label));
      for (const { label } of own) shown.add(label);
      return group(title, own);
    });
  }
}

/** In how many configs a name stands comes before what else is known of it. */
const inConfigs =
  (choiceOf: (name: string) => Choice) =>
  ({ name, configs }: Named): Choice => {
    const choice = choiceOf(name);
    const times = say('{0} {0|config|configs}', configs);
    return { ...choice, description: [times, choice.description].filter((words) => words).join(' · ') };
  };

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
