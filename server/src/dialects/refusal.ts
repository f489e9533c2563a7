import { isLeftOpen } from '../config/filled-later';
import type { ConfigNode } from '../config/node';
import type { RuleId } from '../rules/rule-id';
import type { Draft, RefusalDetail } from './draft';

/** Why a framework stops on a file. */
interface Refusal extends RefusalDetail {
  readonly code: RuleId;
  readonly message: string;
}

/** Reports what the framework refuses, at the value that is to blame: one that stands there, whichever branches are taken. */
export function forbid(broken: boolean, at: ConfigNode | undefined, draft: Draft, refusal: Refusal): void {
  if (!broken || !at || (at.kind === 'scalar' && (at.guessed || isLeftOpen(at)))) return;
  const { code, message, ...detail } = refusal;
  draft.refuse(code, message, at.range, detail);
}
