import type { RulePart } from '../rules/rule';
import type { Dialect } from './dialect';
import type { Program } from './launch/program';

/** What a folder gives: the configs of a framework, and the programs whose launches are read. */
export interface Family {
  readonly dialects?: readonly Dialect[];
  readonly programs?: readonly Program[];
  /** What stands in every script that starts one of the programs: scripts without any such word are not parsed. */
  readonly launches?: RegExp;
  /** Rules that no family before it has. */
  readonly rules?: RulePart;
}
