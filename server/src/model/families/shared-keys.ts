import { say } from '../../wording/say';
import { ConfigError, type ConfigReader } from '../config';
import { attentionOver, registerKeysAndValues } from '../layers/self-attention';
import type { SelfAttentionSpec } from '../layers/self-attention-spec';
import type { Flow } from '../model';
import type { Tensor } from '../tape';
import type { Tracer } from '../tracer';
import { take } from './decoder-model';

/** What a layer sees: a window, or everything. */
export type Sight = 'sliding' | 'full';

/** What tells a layer from others of the model. */
export interface SharingKind {
  readonly sight: Sight;
  /** Keys and values are those of an earlier layer of the same sight, or are left for later ones. */
  readonly sharing?: 'reuse' | 'store';
}

/** Name in the flow of what the layers share. */
const keysOf = (sight: Sight) => `keys.${sight}`;
const valuesOf = (sight: Sight) => `values.${sight}`;

/** The last `num_kv_shared_layers` layers read the keys and values of the last layer before them that sees alike. */
export function sharingKinds(config: ConfigReader, seen: readonly Sight[]): SharingKind[] {
  const shared = config.count(0, 'num_kv_shared_layers');
  if (shared === 0) return seen.map((sight) => ({ sight }));
  const own = seen.slice(0, Math.max(0, seen.length - shared));
  if (new Set(own).size !== new Set(seen).size) {
    throw new ConfigError(say('"{0}" leaves no layer whose keys others could share', 'num_kv_shared_layers'));
  }
  return seen.map((sight, i) => {
    if (i >= own.length) return { sight, sharing: 'reuse' };
    return i === own.lastIndexOf(sight) ? { sight, sharing: 'store' } : { sight };
  });
}

/**
 * Attention of a layer, which reads or leaves keys and values in the flow. `[b, s, h]` in and out. Where the class has projections in layers that
 * share (`hasOwn`), they read keys and values from a cache, and without one use their own.
 */
export function attendSharing(
  t: Tracer,
  x: Tensor,
  spec: SelfAttentionSpec,
  { sight, sharing }: SharingKind,
  flow: Flow,
  hasOwn: boolean,
): Tensor {
  if (hasOwn && t.settings.withoutCache === true) return attentionOver(t, x, spec);
  if (sharing === 'reuse') {
    if (hasOwn) registerKeysAndValues(t, x, spec);
    const k = t.enter(take(flow, keysOf(sight)), keysOf(sight));
    const v = t.enter(take(flow, valuesOf(sight)), valuesOf(sight));
    return attentionOver(t, x, spec, { shared: { k, v } });
  }
  return attentionOver(t, x, spec, {
    keep:
      sharing === 'store'
        ? ({ k, v }) => {
            flow.set(keysOf(sight), k);
            flow.set(valuesOf(sight), v);
          }
        : undefined,
  });
}
