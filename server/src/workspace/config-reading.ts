import type { ConfigDocument, MapNode } from '../config/node';
import type { Dialect, Reading } from '../dialects/dialect';
import type { Fact } from '../run/origin';

/** A config file as its dialect reads it, nothing joined yet. */
export interface ConfigReading {
  readonly uri: string;
  readonly document: ConfigDocument;
  readonly dialect: Dialect;
  readonly reading: Reading;
  /** What is read in the place of the document, where it starts from other configs. */
  readonly whole?: Whole;
  /** What the launch of the run gives over it. */
  readonly laidOver?: LaidOver;
  /** Facts of directive comments in it. */
  readonly directiveFacts: readonly Fact[];
}

/** A config merged with those that it starts from. */
export interface Whole {
  /** The merged tree, from the block on that holds the family's keys; places of other files carry their address. */
  readonly document: ConfigDocument;
  readonly block: readonly string[];
  readonly parts: readonly ConfigPart[];
}

/** Values that a launch gives over those of a config, as the blocks that they mean. */
export interface LaidOver {
  /** The script. */
  readonly uri: string;
  readonly tree: MapNode;
}

/** A config that is part of another. */
export interface ConfigPart {
  readonly uri: string;
  readonly text: string;
  readonly document: ConfigDocument;
  /** The block that it is put into; empty at the top. */
  readonly package: readonly string[];
}
