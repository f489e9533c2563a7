import { joinWords } from '../../results/labels';
import { fieldLabel } from '../../run/field-labels';
import { say } from '../../wording/say';
import type { Analysis } from '../../workspace/analysis';

/** Why a config that was found has no estimate, as half a sentence. */
export function whyUnestimated({ resolved, broken = [], problems }: Analysis): string {
  if (broken.length > 0) return say('the syntax of its files is broken');
  const missing = [...new Set(resolved.unknown.map(({ field }) => fieldLabel(field)))];
  if (missing.length > 0) return say('an estimate needs {0}', joinWords(missing));
  return problems.some(({ code }) => code === 'trainer-not-modelled')
    ? say('its trainer is not modelled')
    : say('it has errors that keep it from being estimated');
}
