import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { stringify } from 'yaml';
import { matchAccelerator, suggestAccelerators, tooManyCounted } from '../hardware/catalog';
import { detectGpus } from '../hardware/detect';
import type { FieldPath } from '../run/fields';
import { shortAlias } from '../run/parse-field';
import { suggested } from '../wording/closest';
import { say } from '../wording/say';
import { findConfigs } from '../workspace/config-files';
import { PROJECT_FILE_NAMES } from '../workspace/project-file-names';
import { UsageError } from '../workspace/usage-error';
import { type CliContext, EXIT } from './context';
import { displayPath } from './report';

/** Hardware that runs go to, as far as it is known. */
interface Target {
  readonly gpu?: string;
  readonly gpus?: number;
}

/** What a config leaves open: fields without which its memory is not known. */
interface OpenConfig {
  readonly name: string;
  readonly fields: readonly FieldPath[];
}

const [NAME = ''] = PROJECT_FILE_NAMES;
/** What stands in a line that somebody has to fill in. */
const EXAMPLES: Readonly<Partial<Record<FieldPath, string>>> = {
  'model.id': 'meta-llama/Llama-3.1-8B',
  'batch.sequence': '4096',
  'batch.micro': '1',
  'hardware.gpu': 'H100-SXM5-80GB',
  'hardware.gpus': '8',
};

/** Fields that stand under `targets`; what is stated there is stated for every config. */
const isTarget = (field: FieldPath) => field === 'hardware.gpu' || field === 'hardware.gpus';

/**
 * `oomlint init`: an `oomlint.yaml` in the current folder with the GPUs of the command line, else of this machine's driver, and a
 * commented line for each field that the configs below leave open. One that is there is never touched.
 */
export async function init(stated: Target, { output, folder, workspace }: CliContext): Promise<number> {
  const { gpu } = stated;
  if (gpu !== undefined && !matchAccelerator(gpu))
    throw new UsageError(
      `--gpu: ${tooManyCounted(gpu) ?? say('Unknown GPU "{0}".{1}', gpu, suggested(suggestAccelerators(gpu)))}`,
    );
  const detected = gpu === undefined ? await detectGpus() : undefined;
  const target: Target = { gpu: gpu ?? detected?.gpu, gpus: stated.gpus ?? detected?.count };
  const configs: OpenConfig[] = [];
  for (const file of await findConfigs(folder, () => undefined)) {
    const uri = pathToFileURL(file).href;
    const analysis = (await workspace.isWorthChecking(uri)) ? await workspace.analyze(uri) : undefined;
    if (!analysis) continue;
    const fields = analysis.resolved.unknown.map(({ field }) => field).filter((field) => !isTarget(field));
    configs.push({ name: displayPath(uri, folder), fields: [...new Set(fields)] });
  }
  try {
    await writeFile(path.join(folder, NAME), projectText(target, configs), { flag: 'wx' });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    output.writeError(`oomlint: ${say('{0} is there already and was left as it is.', NAME)}\n`);
    return EXIT.couldNotRun;
  }
  const open = configs.filter(({ fields }) => fields.length > 0).length;
  output.write(
    `${say('{0} was written. {1} {1|training config|training configs} found here, {2} without something that decides the memory.', NAME, configs.length, open)}\n`,
  );
  return EXIT.fine;
}

/** The text of a new project file. What nobody knows is a comment, so that nothing is claimed. */
function projectText(target: Target, configs: readonly OpenConfig[]): string {
  const known = Object.entries(target).filter(([, value]) => value !== undefined);
  const lines = [`# ${say('What training configs below this folder do not say themselves.')}`];
  if (known.length > 0) lines.push(stringify({ targets: Object.fromEntries(known) }).trimEnd());
  else
    lines.push(
      `# ${say('The hardware that runs go to:')}`,
      '# targets:',
      ...(['hardware.gpu', 'hardware.gpus'] as const).map((field) => `#   ${exampleOf(field)}`),
    );
  const open = groups(configs);
  if (open.length > 0) {
    lines.push('', `# ${say('These leave open what decides their memory. Set it, and take the # away:')}`);
    lines.push('# files:');
    for (const { names, fields } of open) {
      lines.push(`#   - match: [${names.map((name) => JSON.stringify(name)).join(', ')}]`);
      lines.push(...fields.map((field) => `#     ${exampleOf(field)}`));
    }
  }
  return `${lines.join('\n')}\n`;
}

function exampleOf(field: FieldPath): string {
  return `${shortAlias(field)}: ${EXAMPLES[field] ?? '...'}`;
}

/** Configs that leave the same open, together. */
function groups(configs: readonly OpenConfig[]) {
  const found = new Map<string, { names: string[]; fields: readonly FieldPath[] }>();
  for (const { name, fields } of configs) {
    if (fields.length === 0) continue;
    const group = found.get(fields.join()) ?? { names: [], fields };
    group.names.push(name);
    found.set(fields.join(), group);
  }
  return [...found.values()];
}
