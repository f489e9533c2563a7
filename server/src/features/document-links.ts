import type { Range } from '../run/origin';
import type { Analysis } from '../workspace/analysis';
import { baseName } from './markdown';

export interface FileReference {
  readonly range: Range;
  readonly target: string;
  readonly tooltip: string;
}

const ROLE_LABELS = {
  deepspeed: 'DeepSpeed config',
  accelerate: 'Accelerate config',
  fsdp: 'FSDP config',
  model: 'model',
  include: 'included file',
} as const;

/** Every file that this one names and that exists, clickable. */
export function documentLinks(analysis: Analysis): readonly FileReference[] {
  const links: FileReference[] = [];
  for (const link of analysis.links) {
    if (link.uri) {
      links.push({
        range: link.range,
        target: link.uri,
        tooltip: `Open the ${ROLE_LABELS[link.role]} ${baseName(link.uri)}`,
      });
    }
  }
  return links;
}
