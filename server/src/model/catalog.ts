import { rememberedOf } from '../memo/remembered';
import { say, spoken } from '../wording/say';
import { ConfigError, type JsonObject, readModelConfig } from './config';
import { defaultTargets } from './families/lora-targets';
import { buildArchitecture } from './families/registry';
import type { Model, ModelConfig } from './model';
import { countParameters, oneTokenTapes, statePackagesOf } from './parameter-count';

/** One row of `data/models.json`. What no surface shows is for checks of the table alone: builds leave it out. */
interface CatalogEntry {
  readonly id: string;
  readonly aliases: readonly string[];
  readonly model_type: string;
  readonly dtype: 'fp32' | 'bf16' | 'fp16' | 'fp8';
  readonly config: JsonObject;
  readonly params: {
    readonly total: number;
    /** For checks, as what follows: not in what is packed. */
    readonly active?: number;
    /** Published integer, where it differs. */
    readonly published?: number;
    readonly source?: string;
    /** Why it differs. */
    readonly difference?: string;
  };
  readonly sources: readonly string[];
  /** Fields in which an alias differs. */
  readonly variants?: Readonly<Record<string, JsonObject>>;
  /** False where no second source confirms the config. */
  readonly verified?: boolean;
  /** For checks. */
  readonly note?: string;
}

interface Named {
  /** Spelling of the catalog. */
  readonly name: string;
  readonly entry: CatalogEntry;
}

interface Index {
  readonly entries: readonly CatalogEntry[];
  readonly byName: ReadonlyMap<string, Named>;
  /** Names without their organisation; undefined where two differ. */
  readonly byShortName: ReadonlyMap<string, Named | undefined>;
  readonly names: readonly string[];
}

let index: Index | undefined;

function shortName(name: string): string {
  return name.slice(name.lastIndexOf('/') + 1);
}

/** Reads the data at the first call, so that a start without a lookup does not pay for it. */
function catalog(): Index {
  if (index) return index;
  const file = require('../../data/models.json') as { readonly models: readonly CatalogEntry[] };
  const byName = new Map<string, Named>();
  const byShortName = new Map<string, Named | undefined>();
  // Ids come before aliases: a model's own name never means another.
  const named: Named[] = [
    ...file.models.map((entry) => ({ name: entry.id, entry })),
    ...file.models.flatMap((entry) => entry.aliases.map((name) => ({ name, entry }))),
  ];
  const models = new Set(named.map(({ name }) => shortName(name.toLowerCase())));
  for (const item of named) {
    const key = item.name.toLowerCase();
    if (byName.has(key)) continue;
    byName.set(key, item);
    const short = shortName(key);
    if (isPart(key, models)) continue;
    const other = byShortName.get(short);
    if (!byShortName.has(short)) byShortName.set(short, item);
    // A copy in another form does not take the short name from the model that it is of.
    else if (other && !sameModel(other, item) && other.name !== item.entry.id)
      byShortName.set(short, undefined);
  }
  const names = [...byName.values()].map(({ name }) => name).filter((name) => !isPart(name, models));
  index = { entries: file.models, byName, byShortName, names };
  return index;
}

/** Whether a name is that of a folder of a model, such as `Spark-TTS-0.5B/LLM`: any other model's folder may have it. */
function isPart(name: string, models: ReadonlySet<string>): boolean {
  return models.has(name.slice(0, name.lastIndexOf('/')).toLowerCase());
}

function sameModel(a: Named, b: Named): boolean {
  const variant = (n: Named) => JSON.stringify(n.entry.variants?.[n.name] ?? {});
  return a.entry === b.entry && variant(a) === variant(b);
}

/** Models remembered: with each goes all that was worked out about it, some megabytes, and a folder of notebooks has hundreds. */
const MOST_MODELS = 24;
/** By language, as notes are stated when a model is built. */
const models = rememberedOf<object, Model>(MOST_MODELS);

/** A model of the catalog by id or alias, in any case, with or without the organisation where that is unambiguous. */
export function findModel(id: string): Model | undefined {
  const key = id
    .trim()
    .toLowerCase()
    .replace(/(?<!\/)\/+$/, '');
  const { byName, byShortName } = catalog();
  const named = byName.get(key) ?? (key.includes('/') ? undefined : byShortName.get(key));
  if (!named) return undefined;
  return models.of(spoken(), key, () => modelOf(named, id.trim()));
}

function modelOf({ name, entry }: Named, id: string): Model {
  const config: ModelConfig = { model_type: entry.model_type, ...entry.config, ...entry.variants?.[name] };
  const notes: string[] = [];
  if (entry.verified === false) {
    notes.push(say('the config of {0} was transcribed and not confirmed by a second source', entry.id));
  }
  if (name !== entry.id) notes.push(say('{0} is taken to have the architecture of {1}', name, entry.id));
  const built = assemble(config, id, 'catalog', notes, entry.sources);
  return { ...built, publishedDtype: entry.dtype };
}

function assemble(
  config: ModelConfig,
  id: string,
  origin: Model['origin'],
  notes: readonly string[],
  sources: readonly string[],
): Model {
  const architecture = buildArchitecture(config);
  const { stages, counted } = architecture;
  const tapes = oneTokenTapes(stages);
  const statePackages = statePackagesOf(tapes);
  return {
    id,
    config,
    modelType: config.model_type,
    origin,
    ...architecture.figures,
    parameters: counted ? countParameters(counted) : countParameters(stages, tapes),
    stages,
    counted,
    ...(architecture.playsImages === false ? { playsImages: false as const } : {}),
    ...(architecture.playsSound === false ? { playsSound: false as const } : {}),
    ...(architecture.unplayed ? { unplayed: architecture.unplayed } : {}),
    ...(architecture.seesTiles ? { seesTiles: true as const } : {}),
    ...(architecture.countedHeads ? { countedHeads: architecture.countedHeads } : {}),
    ...(architecture.recomputes === false ? { recomputes: false as const } : {}),
    ...(architecture.scoresTokens ? { scoresTokens: true as const } : {}),
    ...(statePackages.length > 0 ? { statePackages } : {}),
    loraDefaultTargets: defaultTargets('lora', config.model_type),
    notes: [...notes, ...(architecture.notes ?? [])],
    ...(architecture.imageNotes ? { imageNotes: architecture.imageNotes } : {}),
    sources,
  };
}

const DTYPES: Readonly<Record<string, Model['publishedDtype']>> = {
  float32: 'fp32',
  bfloat16: 'bf16',
  float16: 'fp16',
  float8_e4m3fn: 'fp8',
};

/** A model from the contents of a `config.json`. */
export function modelFromConfig(
  config: unknown,
  id: string,
  origin: 'config.json' | 'inline',
): Model | { readonly error: string } {
  const read = readModelConfig(config);
  if ('error' in read && typeof read.error === 'string') return { error: read.error };
  try {
    const values = read as ModelConfig;
    const model = assemble(values, id, origin, [], []);
    const dtype = values.dtype ?? values.torch_dtype;
    const publishedDtype = typeof dtype === 'string' ? DTYPES[dtype.replace('torch.', '')] : undefined;
    return publishedDtype ? { ...model, publishedDtype } : model;
  } catch (error) {
    if (error instanceof ConfigError) return { error: error.message };
    throw error;
  }
}

/** Every id and alias, as the catalog spells them. */
export function modelNames(): readonly string[] {
  return catalog().names;
}

/** The rows of the catalog, for checks. */
export function catalogEntries(): readonly CatalogEntry[] {
  return catalog().entries;
}
