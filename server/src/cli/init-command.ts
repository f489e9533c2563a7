import type { Command } from 'commander';
import { say } from '../wording/say';
import { whole } from './option-values';
import type { Output } from './output';
import { helpful } from './run-options';

/** `oomlint init` and its options. */
export function addInit(program: Command, output: Output, finish: (code: number) => void): void {
  helpful(
    program
      .command('init')
      .description(
        say("write an oomlint.yaml: this machine's GPUs, and a place for what the configs here leave open"),
      )
      .allowExcessArguments(false)
      .option('--gpu <name>', say('GPU or cloud machine: H100, "RTX 4090", p4d.24xlarge, 8xA100-80GB'))
      .option('--gpus <count>', say('GPUs over all nodes'), whole('--gpus', 1)),
  ).action(async ({ gpu, gpus }: { readonly gpu?: string; readonly gpus?: number }) => {
    const [{ init }, { contextOf }] = await Promise.all([import('./init'), import('./open-context')]);
    finish(await init({ gpu, gpus }, await contextOf({ format: 'table' }, output, [])));
  });
}
