import { breakdownOf, openedOf } from '../../features/breakdown';
import { say, spoken } from '../../wording/say';
import type { Analysis } from '../../workspace/analysis';

/**
 * What the panel's page gets in place of an editor's messages, for one config: what shows its breakdown, and the answers where a
 * person opens a figure, of the peak and of any other moment. `name` is the config for people, `home` the URI of the folder that they know, with a slash.
 */
export function pageContent(analysis: Analysis, name: string, home: string) {
  // Nothing is tried without the engine.
  const breakdown = { ...breakdownOf(analysis), knobs: undefined };
  const { name: language, bundle } = spoken();
  const opened = openedOf(analysis);
  const content = {
    show: { type: 'show', language, bundle, content: { kind: 'breakdown', file: name, breakdown } },
    peak: opened
      ? { type: 'opened', opened }
      : { type: 'opened', error: say('There is no estimate to open yet.') },
    other: {
      type: 'opened',
      error: say('In a report the figures of the peak can be opened, not those of other moments.'),
    },
  };
  // Whoever is sent the page learns nothing of the machine that it was made on.
  return JSON.parse(JSON.stringify(content).replaceAll(home, 'file:///')) as typeof content;
}

export type PageContent = ReturnType<typeof pageContent>;
