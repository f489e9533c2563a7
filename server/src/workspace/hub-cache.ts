import { resolvePath } from '../text/uri';
import type { Host } from './host';

/** Folder of the Hugging Face cache, as huggingface_hub finds it. */
export function hubCache(environment: Host['environment'], home: string | undefined): string | undefined {
  const base = home ?? 'file:///';
  const at = (path: string) => resolvePath(base, path, home);
  const direct = environment.HF_HUB_CACHE ?? environment.HUGGINGFACE_HUB_CACHE;
  if (direct) {
    return at(direct);
  }
  if (environment.HF_HOME) {
    return at(`${environment.HF_HOME}/hub`);
  }
  if (environment.XDG_CACHE_HOME) {
    return at(`${environment.XDG_CACHE_HOME}/huggingface/hub`);
  }
  return home === undefined ? undefined : at('~/.cache/huggingface/hub');
}
