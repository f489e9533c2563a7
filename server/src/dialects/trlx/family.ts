import type { Family } from '../family';
import { trlxConfig } from './trlx';
import { TRLX_RULES } from './trlx-rule-table';

/** trlX. */
export const trlxFamily: Family = {
  dialects: [trlxConfig],
  rules: { title: 'trlX', table: TRLX_RULES },
};
