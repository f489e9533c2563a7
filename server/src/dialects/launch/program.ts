import type { Dialect, KeySpec, ReadContext } from '../dialect';
import type { Draft } from '../draft';
import type { ReleasedKeys } from '../framework-keys';
import type { Words } from '../words';
import type { Launch } from './launch';
import type { KnownParser } from './whole-flags';

/** A training program that a launch may start: how it is distinguished, and how its flags are read. */
export interface Program {
  /** Flags of a launch that the script has not, and drops. */
  drops?(launch: Launch): readonly string[];
  /** Family, for people. */
  readonly name: string;
  /** What its flags mean, by name with underscores. */
  readonly keys: readonly KeySpec[];
  /** Those of its flags that a launch may be given, where the script that it starts takes fewer. */
  readonly keysOf?: (launch: Launch) => readonly KeySpec[];
  /** How its flags are written where their rows do not say it. */
  readonly words?: Words;
  /** Family of the configs that its launches name. */
  readonly config?: Dialect;
  /** Any script of a project's own: its code may do more than its flags say. */
  readonly ownScript?: boolean;
  /** Its parser refuses flags that it does not know: a script that takes others is a fork, and what they change nobody can tell. */
  readonly refusesOthers?: true;
  /** What its releases have: a flag of theirs is no fork's. */
  readonly released?: ReleasedKeys;
  /** Flags that its releases have: of some that have no row nobody knows whether they change what a GPU holds. */
  readonly vocabulary?: ReleasedKeys;
  /** What parses the flags of a launch; undefined where a script may have more. */
  parser?(launch: Launch): KnownParser | undefined;
  /** Whether a launch starts a script of the project's own on the framework's flags. */
  startsOwn?(launch: Launch): boolean;
  /** Whether a launch starts a script of a name that is common: where it takes more flags than the known one, it is another. */
  maybeCopied?(launch: Launch): boolean;
  /** A launch of it counts only where a file that it names is a training config. */
  readonly joinsOnly?: boolean;
  /** A trainer that is not modelled: a script is read for it only where it starts nothing else. */
  readonly notModelled?: true;
  /** Its own flags say how many GPUs it takes, whoever launches it. */
  countsGpus?(launch: Launch): boolean;
  /** Variables of the allocator that what it starts does not heed: it sets them anew, or one that goes before them. */
  outdoesAllocator?(launch: Launch, context: ReadContext): readonly string[];
  /** How surely the launch starts this program: 0 is no, 1 is certain. */
  match(launch: Launch): number;
  /** States what the flags say, and links the configs that they name. */
  read(launch: Launch, draft: Draft, context: ReadContext): void;
}
