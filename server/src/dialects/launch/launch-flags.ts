import type { Draft } from '../draft';
import type { KeyTable } from '../key-table';
import { Section } from '../section';
import type { Launch } from './launch';

/** Flags of a launch, read under their own names. */
export function flagsOf(launch: Launch, draft: Draft, table?: KeyTable): Section {
  return new Section(launch.arguments, draft, `${launch.path}.arguments`, table);
}

/** What runs: the script or module of a launcher, or the program with its sub-command. */
export function startedBy(launch: Launch): string {
  return launch.script ?? launch.program.slice(0, 2).join(' ');
}
