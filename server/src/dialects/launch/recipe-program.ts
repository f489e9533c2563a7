import { inFile } from '../../config/deep-merge';
import type { ConfigNode, MapNode } from '../../config/node';
import { COMMAND_WORDS, LAUNCHED_WITH, WITH_METADATA } from '../../config/python/command-line';
import { textOf } from '../../config/scalar';
import { findModel } from '../../model/catalog';
import type { Fact } from '../../run/origin';
import { say } from '../../wording/say';
import type { Draft } from '../draft';
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
    const before = draft.facts.length;
    inferGivenModel(launch, draft);
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
    linkScript(launch, draft, draft.facts.slice(before));
  },
};

/** A model of the catalog that stands among the words of a launch: `finetune.py data THUDM/chatglm3-6b lora.yaml`. */
function inferGivenModel({ words, path }: Launch, draft: Draft): void {
  const named = words.filter(
    ({ text, open }) =>
      open === undefined && /^[\w.-]+\/[\w.-]+$/.test(text) && findModel(text) !== undefined,
  );
  const [first] = named;
  if (!first || named.some(({ text }) => text !== first.text)) return;
  draft.infer(
    'model.id',
    first.text,
    say('the script is given it, and no other model'),
    first,
    `${path}.words`,
  );
}

/**
 * The file of Python that a launch starts, with the flags that it is given. `alone`: what the flags state by their names, which counts only
 * where the file is not followed.
 */
export function linkScript(launch: Launch, draft: Draft, alone: readonly Fact[] = []): void {
  const path = scriptFile(launch);
  const node = launch.scriptNode;
  if (path === undefined || !node) return;
  const others = { kind: 'list', items: launch.words, range: launch.range } as const;
  const entry = (key: string, value: ConfigNode) => ({ key, keyRange: launch.range, value });
  const command = {
    ...launch.arguments,
    entries: [
      ...launch.arguments.entries,
      entry(COMMAND_WORDS, others),
      entry(LAUNCHED_WITH, environmentOf(launch, draft)),
      ...(launch.readsMetadata ? [entry(WITH_METADATA, others)] : []),
    ],
  };
  draft.links.push({
    path,
    range: node.range,
    key: `${launch.path}.script`,
    role: 'include',
    optional: true,
    overrides: { tree: NOTHING, choices: inFile(command, draft.uri), facts: alone },
  });
}

/** Launchers that start a process for each GPU, and state in its environment how many there are. */
const STARTS_PROCESSES = new Set(['torchrun', 'accelerate', 'deepspeed']);

/** `WORLD_SIZE` where the launcher sets it and knows how many processes it starts; the launch's own variables. */
function environmentOf(launch: Launch, draft: Draft): MapNode {
  const gpus = draft.facts.find(
    ({ field, origin }) => field === 'hardware.gpus' && origin.kind === 'file',
  )?.value;
  const counts = STARTS_PROCESSES.has(launcherOf(launch) ?? '') && typeof gpus === 'number';
  const { entries } = launch.environment;
  if (!counts) return launch.environment;
  const value = {
    kind: 'scalar' as const,
    value: gpus,
    text: String(gpus),
    quoted: false,
    range: launch.range,
  };
  return {
    ...launch.environment,
    entries: [...entries, { key: 'WORLD_SIZE', keyRange: launch.range, value }],
  };
}
