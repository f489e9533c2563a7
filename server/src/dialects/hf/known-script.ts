import type { ReadContext } from '../dialect';
import type { Draft } from '../draft';
import type { DefaultValue, Section } from '../section';
import type { TrainerDefaults } from './training-arguments';

/** Adapters of a script: what switches them on, and what it takes where nothing is stated. */
export interface ScriptAdapter {
  /** Flags that switch them on; `always` where the script knows nothing else. */
  readonly switches: readonly string[] | 'always';
  readonly rank: number;
  readonly alpha: number;
  readonly dropout: number;
  readonly targets: readonly string[];
}

/** A well-known training script around the Trainer: its own arguments and their defaults. */
export interface KnownScript {
  readonly name: string;
  /** Where its arguments are declared. */
  readonly source: string;
  /** Whether a launch of `script` with these flags is it. */
  matches(script: string, has: (flag: string) => boolean): boolean;
  /** Whether the script is found by a name that many others have. */
  isCommon?(script: string): boolean;
  /** The class that it loads the model by, where that is one for texts. */
  readonly loads?: 'AutoModelForCausalLM';
  /** Defaults of `TrainingArguments` that it changes. */
  readonly trainer?: Partial<TrainerDefaults>;
  /** `optim` of its own `TrainingArguments`, where that is another than the Trainer's. */
  readonly optim?: string;
  readonly adapter?: ScriptAdapter;
  /** Tokens of a sample where nothing is stated, under the key that would say it. */
  readonly length?: {
    readonly key: string;
    readonly tokens: number;
    readonly target?: number;
    readonly note?: string;
  };
  /** Flags that its own examples give and that it has not: what it parses with drops them. */
  readonly drops?: readonly string[];
  /** What else its arguments mean, before they are read as the Trainer's. */
  read?(section: Section, draft: Draft, context: ReadContext, own: <V>(value: V) => DefaultValue<V>): void;
}
