import { automodelRuns } from './automodel';
import { axolotlRuns } from './axolotl';
import { bloomRuns } from './bloom';
import type { DocumentedRun } from './documented';
import { frameworkIssueRuns } from './frameworks-issues';
import { issueRuns } from './issues';
import { msSwiftRuns } from './ms-swift';
import { verlRuns } from './verl';

/** Runs whose outcome is published, by who published it. */
export function documentedRuns(): Readonly<Record<string, readonly DocumentedRun[]>> {
  return {
    'BLOOM, Megatron-DeepSpeed': bloomRuns(),
    'ms-swift': msSwiftRuns(),
    verl: verlRuns(),
    Axolotl: axolotlRuns(),
    'NeMo Automodel': automodelRuns(),
    issues: [...issueRuns(), ...frameworkIssueRuns()],
  };
}
