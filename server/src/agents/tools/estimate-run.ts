import * as z from 'zod/mini';
import { configAt, RUN, sentenceOf, summaryOf } from '../run-summary';
import { path, runOptionsOf, STATED } from '../stated';
import { toolOf } from '../tool';

export const estimateRun = toolOf({
  name: 'estimate_run',
  title: 'Estimate the GPU memory of a training run',
  description:
    'Estimates what one GPU holds at the peak of a training step, without running anything: verdict, peak with its band, parts, host memory, time and cost. Reads the config with the files that belong to it. Where something decisive is stated nowhere, `unknown` holds the exact question for the person: ask it, and call again with the answer as gpu, gpus, nodes, model or set. Nothing is written.',
  input: z.object({ file: path(), ...STATED }),
  output: RUN,
  writes: false,
  async run({ file, ...stated }, desk) {
    const analysis = await configAt(file, desk.workspace(runOptionsOf(stated)), desk);
    return { text: sentenceOf(analysis, desk), data: summaryOf(analysis, desk) };
  },
});
