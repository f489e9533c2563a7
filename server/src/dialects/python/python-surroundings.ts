import type { ConfigDocument } from '../../config/node';
import { nodeOf } from '../../config/python/node-of-value';
import { flagOf } from '../../config/scalar';
import { findAccelerator } from '../../hardware/catalog';
import type { FieldPath } from '../../run/fields';
import { say } from '../../wording/say';
import type { Draft } from '../draft';
import type { Calls } from './call-block';

/** Packages whose versions decide what is estimated. */
const VERSIONS: Readonly<Record<string, FieldPath>> = {
  torch: 'version.torch',
  transformers: 'version.transformers',
  trl: 'version.trl',
  accelerate: 'version.accelerate',
  bitsandbytes: 'version.bitsandbytes',
  deepspeed: 'version.deepspeed',
  'liger-kernel': 'version.liger',
};

/** Versions that cells install exactly; the last one of a package counts. */
export function readInstalls({ installs = [] }: ConfigDocument, draft: Draft): void {
  for (const { name, specifier, range } of [...installs].reverse()) {
    const field = VERSIONS[name];
    const version = /^==(\d+(?:\.\d+)*)/.exec(specifier)?.[1];
    if (!field || version === undefined || draft.knows(field)) continue;
    draft.state(field, version as never, { range }, 'pip_install');
  }
}

/** The GPU that a notebook asks Colab for. */
export function readAskedGpu({ asksFor }: ConfigDocument, draft: Draft): void {
  if (!asksFor || !findAccelerator(asksFor.name)) return;
  const { name, range } = asksFor;
  const place = { range };
  draft.state('hardware.gpu', name, place, 'gpuType', say('the notebook asks Colab for it'));
  if (!draft.knows('hardware.gpus'))
    draft.state('hardware.gpus', 1, place, 'gpuType', say('Colab has one GPU'));
}

/** Variables of the environment that the text sets before it trains. */
export function readEnvironment({ program, draft }: Calls): void {
  for (const { key, value } of [...program.environment].reverse()) {
    if (value.kind !== 'scalar') continue;
    const text = String(value.value);
    if (/^PYTORCH_(CUDA_)?ALLOC_CONF$/.test(key)) {
      const found = /expandable_segments\s*:\s*(true|false)/i.exec(text)?.[1];
      if (found && !draft.knows('allocator.expandableSegments'))
        draft.state(
          'allocator.expandableSegments',
          flagOf(nodeOf({ ...value, value: found })) === true,
          value,
          key,
        );
    } else if (key === 'CUDA_VISIBLE_DEVICES' && /^\d+(,\d+)*$/.test(text) && !draft.knows('hardware.gpus'))
      draft.state('hardware.gpus', text.split(',').length, value, key);
  }
}
