import { say } from '../wording/say';
import type { ModelConfig } from './model';

/** Several times as deep as any model that was published; a slip of the finger would be walked layer by layer. */
const MOST_LAYERS = 10_000;

/** A config that cannot be turned into a model; the message is for people. */
export class ConfigError extends Error {}

export type JsonObject = Readonly<Record<string, unknown>>;

interface DefaultsFile {
  readonly defaults: Readonly<Record<string, JsonObject>>;
}

/** Values that a transformers configuration class has for fields that the file leaves out. */
export function classDefaults(modelType: string): JsonObject {
  // `require` keeps the table out of the start-up path: the bundler evaluates it at the first call.
  const file = require('../../data/model-defaults.json') as DefaultsFile;
  return file.defaults[CLASS_OF[modelType] ?? modelType] ?? {};
}

/** Model types whose configuration class is that of another. */
const CLASS_OF: Readonly<Record<string, string>> = {
  kimi_k2: 'deepseek_v3',
  'xlm-roberta-xl': 'xlm-roberta',
  code_llama: 'llama',
};

/** Whether a value of `config.json` is an object: neither null nor a list. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The first value of the given names; undefined where there is none, or null. */
function firstOf(source: JsonObject, names: readonly string[]): unknown {
  for (const name of names) {
    const value = source[name];
    if (value !== undefined && value !== null) return value;
  }
  return undefined;
}

/**
 * Typed reading of a config: the first of the given names that the file has, else the first that the configuration
 * class of its `model_type` has, else the given default, else an error that names the field. A default that is given is what the class
 * takes from its keyword arguments or fills in (transformers 5.23, `configuration_llama.py` and its like), nothing of what only other types have,
 * or that of a model's own code, which stands beside it.
 */
export class ConfigReader {
  readonly modelType: string;
  private readonly values: JsonObject;
  private readonly defaults: JsonObject;
  private readonly where: string;

  constructor(values: JsonObject, modelType: string, where = '', classOf = modelType) {
    this.values = values;
    this.modelType = modelType;
    this.defaults = classDefaults(classOf);
    this.where = where;
  }

  /** What the file has, else the class. Null is a value of its own, in place of the class's: Python passes `None` on. */
  private find(names: readonly string[]): unknown {
    const own = firstOf(this.values, names);
    if (own !== undefined || names.some((name) => this.values[name] === null)) return own;
    return firstOf(this.defaults, names);
  }

  private fail(names: readonly string[], expected: string, value: unknown): never {
    const name = `${this.where}${names[0]}`;
    if (value === undefined) {
      throw new ConfigError(say('the config of model_type "{0}" has no "{1}"', this.modelType, name));
    }
    // JSON has no word for the infinite numbers of Python's configs.
    const shown = typeof value === 'number' ? String(value) : JSON.stringify(value)?.slice(0, 40);
    throw new ConfigError(say('"{0}" must be {1}, not {2}', name, expected, shown));
  }

  /** Whether the file itself, or the class, has a value for one of the names. */
  has(...names: string[]): boolean {
    return this.find(names) !== undefined;
  }

  /** What the file itself states of a field, whatever its class would. */
  stated(name: string): unknown {
    return this.values[name];
  }

  /** Whether the file sets the field to null, which for some fields differs from leaving it out. */
  explicitNull(name: string): boolean {
    return this.values[name] === null;
  }

  /** A whole number of at least 1. */
  size(...names: string[]): number {
    const value = this.find(names) ?? firstOf(this.defaults, names);
    if (/(^|_)layers?$/.test(names[0] ?? '') && typeof value === 'number' && value > MOST_LAYERS)
      return this.fail(names, say('at most {0}', String(MOST_LAYERS)), value);
    if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 1 && value <= 1e12) return value;
    return this.fail(names, say('a whole number of at least 1'), value);
  }

  /** A whole number of at least 0, or the default where there is none. */
  count(fallback: number, ...names: string[]): number {
    const value = this.find(names);
    if (value === undefined) return fallback;
    if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 && value <= 1e12) return value;
    return this.fail(names, say('a whole number'), value);
  }

  /** As `size`, or the default where there is none. */
  sizeOr(fallback: number, ...names: string[]): number {
    return this.find(names) === undefined ? fallback : this.size(...names);
  }

  number(fallback: number, ...names: string[]): number {
    const value = this.find(names);
    if (value === undefined) return fallback;
    if (typeof value === 'number' && Number.isFinite(value)) return value;
    return this.fail(names, say('a number'), value);
  }

  flag(fallback: boolean, ...names: string[]): boolean {
    const value = this.find(names);
    if (value === undefined) return fallback;
    if (typeof value === 'boolean') return value;
    return this.fail(names, say('true or false'), value);
  }

  text(fallback: string, ...names: string[]): string {
    const value = this.find(names);
    if (value === undefined) return fallback;
    if (typeof value === 'string') return value;
    return this.fail(names, say('a text'), value);
  }

  /** A list, for example `layer_types`; undefined where there is none. */
  list(...names: string[]): readonly unknown[] | undefined {
    const value = this.find(names);
    if (value === undefined) return undefined;
    if (Array.isArray(value)) return value;
    return this.fail(names, say('a list'), value);
  }

  /** Whether the value is a text, for fields that hold a number or a word such as `auto`. */
  isText(name: string): boolean {
    return typeof this.find([name]) === 'string';
  }

  /** Whether the value is a list, for fields that hold one number or one per layer. */
  isList(name: string): boolean {
    return Array.isArray(this.find([name]));
  }

  /** Texts joined by `|`, as DeBERTa writes `pos_att_type`; undefined where there are none. */
  texts(name: string): readonly string[] | undefined {
    const value = this.find([name]);
    return typeof value === 'string' ? value.split('|') : undefined;
  }

  /** Dropout probability. */
  dropout(...names: string[]): number {
    const value = this.number(0, ...names);
    if (value < 0 || value >= 1) this.fail(names, say('a probability'), value);
    return value;
  }

  /**
   * Share of each head that is rotated: transformers 5 writes it into `rope_parameters`, where each kind of layer may have
   * its own (the first that states one is taken); earlier versions beside the sizes.
   */
  rotaryShare(fallback: number): number {
    const names = ['rope_parameters', 'rope_scaling'];
    const rope = firstOf(this.values, names) ?? firstOf(this.defaults, names);
    const kinds = isObject(rope) ? [rope, ...Object.values(rope).filter(isObject)] : [];
    const nested = kinds.map((kind) => kind.partial_rotary_factor).find((share) => typeof share === 'number');
    return typeof nested === 'number' ? nested : this.number(fallback, 'partial_rotary_factor', 'rotary_pct');
  }

  /** Classes that the config names or counts, else the default. */
  labels(fallback: number): number {
    const names = this.find(['id2label']);
    if (isObject(names) && Object.keys(names).length > 0) return Object.keys(names).length;
    return this.sizeOr(fallback, 'num_labels');
  }

  /** A config nested under one of the names, read with the defaults of its own class. */
  nested(fallbackType: string, ...names: string[]): ConfigReader {
    const value = this.find(names) ?? {};
    if (!isObject(value)) return this.fail(names, say('an object'), value);
    const type = typeof value.model_type === 'string' ? value.model_type : fallbackType;
    return new ConfigReader(value, type, `${this.where}${names[0]}.`);
  }

  /** A field as people find it in the file: with the objects that it stands in. */
  pathOf(name: string): string {
    return `${this.where}${name}`;
  }

  /** The same with values that the class has no field for, as its code fixes them. */
  fixed(values: JsonObject): ConfigReader {
    return new ConfigReader({ ...this.values, ...values }, this.modelType, this.where);
  }

  /** The same values under another model type, with the defaults of that type or of the class named. */
  as(modelType: string, classOf = modelType): ConfigReader {
    if (modelType === this.modelType) return this;
    return new ConfigReader(this.values, modelType, this.where, classOf);
  }

  /** The text model's config: nested under `text_config`, or the fields of this one. */
  textModel(fallbackType: string): ConfigReader {
    if (isObject(this.values.text_config) || isObject(this.values.llm_config)) {
      const inner = (this.values.text_config ?? this.values.llm_config) as JsonObject;
      const type = typeof inner.model_type === 'string' ? inner.model_type : fallbackType;
      const tied = this.tiesWhole(inner);
      const values = tied === undefined ? inner : { ...inner, tie_word_embeddings: tied };
      return new ConfigReader(values, type, `${this.where}text_config.`);
    }
    return new ConfigReader(this.values, fallbackType, this.where);
  }

  /**
   * Whether the head of a model with a nested text model is tied. transformers 4 asked the nested config
   * (`get_text_config`), 5 asks the outer one, whose classes take over a nested `true`, but for those that tie themselves.
   */
  private tiesWhole(inner: JsonObject): boolean | undefined {
    const outer = this.values.tie_word_embeddings;
    const nested = inner.tie_word_embeddings;
    const own = this.defaults.tie_word_embeddings;
    if (typeof outer === 'boolean') return outer || (own !== true && nested === true);
    const version = this.values.transformers_version;
    const fifth = typeof version === 'string' && /^([5-9]|\d\d)\./.test(version);
    return fifth && typeof own === 'boolean' && typeof nested !== 'boolean' ? own : undefined;
  }
}

/** Number of labels that a config itself names or states, which are rows of the head; undefined where it does neither. */
export function statedLabels({ id2label, num_labels: count }: ModelConfig): number | undefined {
  if (isObject(id2label) && Object.keys(id2label).length > 0) return Object.keys(id2label).length;
  return typeof count === 'number' && Number.isSafeInteger(count) && count >= 1 ? count : undefined;
}

/** Checks that a value is a Hugging Face config with a `model_type`. */
export function readModelConfig(value: unknown): ModelConfig | { readonly error: string } {
  if (!isObject(value)) return { error: say('a model config must be a JSON object') };
  const type = value.model_type;
  if (type === undefined) return { error: say('the config has no "model_type"') };
  if (typeof type !== 'string' || type === '') return { error: say('"model_type" must be a text') };
  return { ...value, model_type: type };
}
