import { mayBeManifest } from '../../config/manifest-document';
import type { ConfigNode } from '../../config/node';
import { parseConfig } from '../../config/parse';

interface ScriptText {
  readonly root: ConfigNode | null;
  /** The commands stand in the manifest of a job, whose own syntax is around them. */
  readonly isManifest: boolean;
}

/** The commands of a text that starts runs, each value at its place: of a script, or of a manifest that holds one. */
export function scriptText(text: string): ScriptText {
  // A search writes many times: a script is not read as YAML first.
  const held = mayBeManifest(text) ? parseConfig('file:///x.yaml', text) : undefined;
  return held?.manifest
    ? { root: held.root, isManifest: true }
    : { root: parseConfig('file:///x.sh', text).root, isManifest: false };
}
