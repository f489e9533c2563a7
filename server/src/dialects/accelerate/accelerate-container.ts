import { nodeAt } from '../../config/lookup';
import type { ConfigDocument } from '../../config/node';
import { textOf } from '../../config/scalar';
import type { Requirement } from '../../environment/requirement';
import { runKindOf } from './accelerate-kind';

/** What a SageMaker job is started with where the config leaves it out (`utils/constants.py`, `SAGEMAKER_*_VERSION`, 0.12 to 1.15). */
const CONTAINER = [
  { key: 'pytorch_version', name: 'torch', byDefault: '1.10.2' },
  { key: 'transformers_version', name: 'transformers', byDefault: '4.17.0' },
] as const;

/** Releases in the container that SageMaker runs a job in (`utils/launch.py`, `prepare_sagemager_args_inputs`). Of an image of one's own nothing is known. */
export function containerReleases({ root }: ConfigDocument): readonly Requirement[] {
  if (root?.kind !== 'map' || !runKindOf(root).sagemaker) return [];
  if (textOf(nodeAt(root, 'image_uri')) !== undefined) return [];
  const environment = nodeAt(root, 'compute_environment');
  return CONTAINER.flatMap(({ key, name, byDefault }) => {
    const node = nodeAt(root, key);
    const exact = node ? textOf(node) : byDefault;
    const range = (node ?? environment)?.range;
    return exact === undefined || !/^\d+\.\d+(?:\.\d+)*$/.test(exact) || !range
      ? []
      : [{ name, specifier: `==${exact}`, exact, range, image: true as const }];
  });
}
