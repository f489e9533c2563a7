import path from 'node:path';
import { text as readText } from 'node:stream/consumers';
import { pathToFileURL } from 'node:url';
import { detectGpus } from '../hardware/detect';
import { say, speak } from '../wording/say';
import { Workspace } from '../workspace/analyze';
import { commandLineFacts } from '../workspace/command-line-facts';
import { DiskAtHand } from '../workspace/disk-at-hand';
import { OverlaidHost } from '../workspace/overlaid-host';
import { UsageError } from '../workspace/usage-error';
import type { Target } from './check-file';
import type { CliContext, CommonOptions } from './context';
import type { Output } from './output';
import { projectsOf } from './projects';

/**
 * What a command works with. `named`: the files and folders that it is given. `gpus`: GPUs of the command line that each run is
 * taken to, one after the other.
 */
export async function contextOf(
  options: CommonOptions,
  output: Output,
  named: readonly string[],
  gpus: readonly (string | undefined)[] = [options.gpu],
): Promise<CliContext> {
  // Programs read the same words in every terminal.
  if (options.format === 'json') speak('en', undefined);
  const folder = process.cwd();
  const { folders, apart } = await projectsOf(folder, named);
  const disk = new DiskAtHand(folders, apart, options.watch !== true);
  const host = options.stdin ? new OverlaidHost(disk, await givenText(options, folder)) : disk;
  const detect = options.detect ? () => detectGpus() : undefined;
  const targets = (gpus.length > 0 ? gpus : [undefined]).map((gpu) => ({
    asked: gpu,
    workspace: new Workspace(host, { commandLine: commandLineFacts({ ...options, gpu }), detect }),
  }));
  const [{ workspace }] = targets as [Target, ...Target[]];
  return { workspace, targets, output, folder, options };
}

/** Standard input, as the text of the file that it is taken to be. */
async function givenText({ stdinFilename }: CommonOptions, folder: string) {
  if (stdinFilename === undefined)
    throw new UsageError(`--stdin: ${say('{0} is missing.', '--stdin-filename')}`);
  const uri = pathToFileURL(path.resolve(folder, stdinFilename)).href;
  return new Map([[uri, await readText(process.stdin)]]);
}
