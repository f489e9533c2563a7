import { inFile } from '../../config/deep-merge';
import type { MapNode } from '../../config/node';
import { COMMAND_WORDS } from '../../config/python/command-line';
import { textOf } from '../../config/scalar';
import { Section } from '../section';
import type { Launch } from './launch';
import { launcherOf } from './launcher';
import type { Program } from './program';

const RECIPE = /\.(ya?ml|json|toml)$/i;
const FLAGS = ['config', 'config_file', 'recipe', 'cfg', 'config_path'];
/** Flags by which scripts are given a DeepSpeed config. */
const DEEPSPEED = /^(?:deepspeed|ds)(?:_config)?(?:_(?:file|path))?$/;
/** Launchers whose own words are no recipes. */
const STARTS_SCRIPTS = new Set(['torchrun', 'accelerate', 'deepspeed', 'python', 'composer']);

/** A file of Python is all that is known of the launch. */
export const SCRIPT_SCORE = 0.1;

const ZERO = { line: 0, character: 0 };
const NOTHING: MapNode = { kind: 'map', entries: [], range: { start: ZERO, end: ZERO } };

/** The file of Python that a launch starts: `train.py`, and that of `-m pkg.train`. */
function scriptFile({ script = '', launcher }: Launch): string | undefined {
  if (/\.py$/.test(script)) return script;
  const isModule = launcher.entries.some(({ key }) => key === 'm' || key === 'module');
  return isModule && /^[\w.]+$/.test(script) ? `${script.replaceAll('.', '/')}.py` : undefined;
}

/**
 * A script that nobody knows: what it trains is what its code states with the flags that it is given, or what a recipe states that it
 * is started with. It counts only where one of the files does.
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
    if (flagged || launch.words.some(({ text }) => RECIPE.test(text))) return 0.2;
    return scriptFile(launch) === undefined ? 0 : SCRIPT_SCORE;
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
    // Scripts that take a recipe and flags over it hand this one to the Trainer or to `deepspeed.initialize`.
    for (const { key, value } of launch.arguments.entries)
      if (DEEPSPEED.test(key) && /\.json$/i.test(textOf(value) ?? '')) section.link(key, 'deepspeed');
    const path = scriptFile(launch);
    const node = launch.scriptNode;
    if (path === undefined || !node) return;
    const others = { kind: 'list', items: launch.words, range: launch.range } as const;
    const command = {
      ...launch.arguments,
      entries: [...launch.arguments.entries, { key: COMMAND_WORDS, keyRange: launch.range, value: others }],
    };
    draft.links.push({
      path,
      range: node.range,
      key: `${launch.path}.script`,
      role: 'include',
      optional: true,
      overrides: { tree: NOTHING, choices: inFile(command, draft.uri), facts: [] },
    });
  },
};
