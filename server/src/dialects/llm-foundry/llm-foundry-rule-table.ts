import { refused } from '../../rules/rule';
import { fileIn, LLM_FOUNDRY } from '../../sources/repositories';

// Where the frameworks have it, at the release that is described.
const llmFoundry = (path: string) => fileIn(LLM_FOUNDRY, `llmfoundry/utils/${path}`);

/** Rules of LLM Foundry. */
export const LLM_FOUNDRY_RULES = {
  'init-device': refused(
    '`init_device` is none that LLM Foundry knows.',
    'Write `meta`, `cpu` or `mixed`.',
    llmFoundry('config_utils.py'),
  ),
  'mixed-without-fsdp': refused(
    '`init_device: mixed` needs `fsdp_config`.',
    'State it.',
    llmFoundry('config_utils.py'),
  ),
};

declare module '../../rules/rule-id' {
  interface RuleNames extends Record<keyof typeof LLM_FOUNDRY_RULES, true> {}
}
