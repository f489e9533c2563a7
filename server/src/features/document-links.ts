import type { Range } from '../text/place';
import { say } from '../wording/say';
import type { Analysis } from '../workspace/analysis';
import { baseName } from './markdown';

export interface FileReference {
  readonly range: Range;
  readonly target: string;
  readonly tooltip: string;
}

/** What a click on a link does, by what the file is. */
export const ROLE_TOOLTIPS = {
  deepspeed: 'Open the DeepSpeed config {0}',
  accelerate: 'Open the Accelerate config {0}',
  fsdp: 'Open the FSDP config {0}',
  model: 'Open the model {0}',
  include: 'Open the included file {0}',
} as const;

/** Every file that this one names and that exists, clickable. */
export function documentLinks(analysis: Analysis): readonly FileReference[] {
  const links: FileReference[] = [];
  for (const link of analysis.links) {
    if (link.uri) {
      links.push({
        range: link.range,
        target: link.uri,
        tooltip: say(ROLE_TOOLTIPS[link.role], baseName(link.uri)),
      });
    }
  }
  return links;
}
