import { heldScript } from './held-script';
import type { ManifestJob } from './job-manifest';
import { kubernetesJob } from './kubernetes-manifests';
import { Lines } from './lines';
import type { ConfigDocument, ConfigNode } from './node';
import { dstackTask, skyPilotTask } from './task-manifests';
import { readYaml } from './yaml';

/** Keys at the top by which a text may be a manifest: of SkyPilot, of dstack, of Kubernetes. */
const SHAPES = [
  /^run:[ \t]*\S/m,
  /^type:[ \t]*["']?task\b/m,
  /^kind:[ \t]*["']?(?:Pod|Job|CronJob|JobSet|PyTorchJob|MPIJob|TrainJob|RayJob)\b/m,
];

/** Whether a text may be the manifest of a job, by the keys at its top. */
export const mayBeManifest = (text: string): boolean => SHAPES.some((shape) => shape.test(text));

/**
 * The commands of a manifest that hands a job to a cluster (Kubernetes, SkyPilot, dstack), read as the launch script that they are;
 * every value has its place in the manifest. Of several jobs in one file the first counts. Undefined where the text is none, or its
 * commands do not parse.
 */
export function manifestDocument(
  uri: string,
  lines: Lines,
  first: ConfigNode | null,
): ConfigDocument | undefined {
  if (!mayBeManifest(lines.text)) return undefined;
  for (const root of documentsOf(uri, lines, first)) {
    const job = jobOf(root, lines);
    const document = job && heldScript(uri, lines, job.script, () => true);
    if (document) return { ...document, manifest: job.asked };
  }
  return undefined;
}

function jobOf(root: ConfigNode | null, lines: Lines): ManifestJob | undefined {
  if (root?.kind !== 'map') return undefined;
  return skyPilotTask(root, lines) ?? dstackTask(root, lines) ?? kubernetesJob(root, lines);
}

/** The documents of a file, each in its place: for each the others are blank. */
function* documentsOf(uri: string, lines: Lines, first: ConfigNode | null): Generator<ConfigNode | null> {
  const { text } = lines;
  const starts = [...text.matchAll(/^---(?=\s|$)/gm)].map(({ index }) => index + 3);
  if (starts.length === 0) {
    yield first;
    return;
  }
  const blank = (part: string) => part.replace(/[^\r\n]/g, ' ');
  for (const [i, start] of [0, ...starts].entries()) {
    const end = (starts[i] ?? text.length + 3) - 3;
    if (text.slice(start, end).trim() === '') continue;
    const own = blank(text.slice(0, start)) + text.slice(start, end) + blank(text.slice(end));
    yield readYaml(new Lines(own), uri).root;
  }
}
