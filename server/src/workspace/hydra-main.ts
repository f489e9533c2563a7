import { canonicalUri, parentUri, resolvePath } from '../text/uri';
import type { Files } from './files';

/** `@hydra.main(config_path="config", config_name="ppo_trainer_split")` */
const DECORATOR = /^@hydra\.main\(([^)]{0,400})\)/m;
const argument = (text: string, name: string) =>
  new RegExp(`\\b${name}\\s*=\\s*["']([^"'\n]+)["']`).exec(text)?.[1];

/**
 * The config that a script composes where its launch names none: its decorator has the name, and the folder, counted from the script's own.
 * Undefined where it has none, or the file is not here.
 * hydra-core 1.3 `main.py`, `_internal/utils.py`, `compute_search_path_dir`
 */
export async function configOfMain(
  script: string,
  files: Pick<Files, 'exists' | 'readText' | 'home'>,
): Promise<string | undefined> {
  const arguments_ = DECORATOR.exec((await files.readText(script)) ?? '')?.[1];
  const name = arguments_ && argument(arguments_, 'config_name');
  const folder = parentUri(script);
  if (!name || folder === undefined) return undefined;
  const file = /\.ya?ml$/.test(name) ? name : `${name}.yaml`;
  const path = `${argument(arguments_, 'config_path') ?? '.'}/${file}`;
  const found = resolvePath(folder, path, files.home);
  if (found === undefined) return undefined;
  const uri = canonicalUri(found);
  return (await files.exists(uri)) ? uri : undefined;
}
