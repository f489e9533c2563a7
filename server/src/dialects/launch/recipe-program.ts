import { textOf } from '../../config/scalar';
import { Section } from '../section';
import { launcherOf } from './launcher';
import type { Program } from './program';

const RECIPE = /\.(ya?ml|json|toml)$/i;
const FLAGS = ['config', 'config_file', 'recipe', 'cfg', 'config_path'];
/** Launchers whose own words are no recipes. */
const STARTS_SCRIPTS = new Set(['torchrun', 'accelerate', 'deepspeed', 'python', 'composer']);

/**
 * A script that nobody knows, started with a file that may be a recipe: what it trains is what the recipe states. It counts only where
 * the file is one.
 */
export const recipeProgram: Program = {
  name: 'a script with a recipe',
  keys: [],
  ownScript: true,
  joinsOnly: true,
  match(launch) {
    if (launch.script === undefined || !STARTS_SCRIPTS.has(launcherOf(launch))) return 0;
    const flagged = launch.arguments.entries.some(
      ({ key, value }) => FLAGS.includes(key) && RECIPE.test(textOf(value) ?? ''),
    );
    return flagged || launch.words.some(({ text }) => RECIPE.test(text)) ? 0.2 : 0;
  },
  read(launch, draft) {
    const section = new Section(launch.arguments, draft, `${launch.path}.arguments`);
    draft.assumesNothing();
    const flagged = FLAGS.flatMap((flag) => {
      const found = section.find(flag);
      const path = textOf(found?.node);
      return found && path !== undefined && RECIPE.test(path)
        ? [{ path, node: found.node, key: found.key }]
        : [];
    });
    const words = launch.words.flatMap((node) =>
      RECIPE.test(node.text) ? [{ path: node.text, node, key: `${launch.path}.arguments` }] : [],
    );
    for (const { path, node, key } of [...flagged, ...words])
      draft.links.push({ path, range: node.range, key, role: 'include', optional: true });
  },
};
