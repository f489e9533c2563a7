import { parentUri, relativePath } from '../../text/uri';
import type { Analysis } from '../../workspace/analysis';
import type { World } from '../world';

/** Where a config may be made that a run does not have yet: by the name under which its files would find it. */
export interface NewConfigs {
  /** Of the folder that paths of the run start from. */
  readonly root: string;
  /** Folder of the new file below it, `configs/`; empty where it is the same. */
  readonly below: string;
  /** Names that are taken there. */
  readonly taken: ReadonlySet<string>;
}

/** A file that is written beside the changes of others, and what it is called in them. */
export interface MadeConfig {
  readonly uri: string;
  readonly text: string;
  readonly path: string;
}

/** Every name that a new config may have. */
const DEEPSPEED_NAMES = ['ds_zero1', 'ds_zero2', 'ds_zero3'].flatMap((name) => [
  `${name}.json`,
  `${name}_offload.json`,
]);
const ACCELERATE_NAMES = ['accelerate_fsdp', 'accelerate_fsdp2'].flatMap((name) => [
  `${name}.yaml`,
  `${name}_offload.yaml`,
]);

/** Where a config would lie: beside the file at hand, named from the folder that is open: tools are started in the root of a repository. */
export async function newConfigsOf(analysis: Analysis, world: World): Promise<NewConfigs | undefined> {
  const folder = parentUri(analysis.uri);
  if (folder === undefined) return undefined;
  const root = world.folders.find((one) => relativePath(one, analysis.uri)) ?? folder;
  const path = relativePath(root, `${folder}/x`);
  if (path === undefined) return undefined;
  const below = path.slice(0, -1);
  const names = [...DEEPSPEED_NAMES, ...ACCELERATE_NAMES];
  const exist = await Promise.all(names.map((name) => world.exists(`${root}/${below}${name}`)));
  return { root, below, taken: new Set(names.filter((_, index) => exist[index])) };
}

/** A new file under a name; undefined where it is taken. */
export function madeConfig(
  { root, below, taken }: NewConfigs,
  name: string,
  text: string,
): MadeConfig | undefined {
  const path = `${below}${name}`;
  return taken.has(name) ? undefined : { path, uri: `${root}/${path}`, text };
}
