import type { ConfigNode } from '../config/node';
import type { Draft, ProblemDetail } from './draft';

/** Why a framework stops on a file. */
export interface Refusal extends ProblemDetail {
  readonly code: string;
  readonly message: string;
  readonly source: string;
}

/** Reports what the framework refuses, at the value that is to blame. */
export function forbid(broken: boolean, at: ConfigNode | undefined, draft: Draft, refusal: Refusal): void {
  if (!broken || !at) return;
  const { code, message, ...detail } = refusal;
  draft.report(code, 'error', message, at.range, detail);
}
