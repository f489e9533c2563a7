import * as z from 'zod/mini';
import { openedOf } from '../../features/breakdown';
import type { DetailNode } from '../../results/detail-node';
import { figureCalled, formatValue } from '../../results/detail-words';
import { MISSING_FACT, questionsOf } from '../questions';
import { configAt, sentenceOf } from '../run-summary';
import { described, path, runOptionsOf, STATED } from '../stated';
import { toolOf } from '../tool';
import { ToolError } from '../tool-error';

/** Parts of a figure that are reported; a layer has hundreds of tensors. */
const MOST_PARTS = 30;

const FIGURE = z.object({
  name: z.string(),
  value: z.number(),
  unit: z.string(),
  words: described(z.string(), 'The value as people read it.'),
  why: z.optional(z.string()),
  formula: described(z.optional(z.string()), 'With the numbers of this run.'),
  source: described(z.optional(z.string()), 'What the formula follows.'),
});

export const explainFigure = toolOf({
  name: 'explain_figure',
  title: 'Explain a figure of an estimate',
  description:
    'Opens one figure of an estimate: its formula with the numbers of this run, the source that the formula follows, and what it is made of, down to single tensors. Without `figure` it names those that can be opened.',
  input: z.object({
    file: path(),
    figure: z.optional(
      described(
        z.string(),
        'Such as "activations", "weights", "optimizer states", "FLOPs per step", or the name of a part.',
      ),
    ),
    ...STATED,
  }),
  output: z.object({
    unknown: z.array(MISSING_FACT),
    figure: z.nullable(FIGURE),
    parts: described(
      z.array(FIGURE),
      'What it is made of, or all figures where none was asked for; the largest first.',
    ),
  }),
  writes: false,
  async run({ file, figure, ...stated }, desk) {
    const analysis = await configAt(file, desk.workspace(runOptionsOf(stated)), desk);
    const opened = openedOf(analysis);
    if (!opened)
      return {
        text: sentenceOf(analysis, desk),
        data: { unknown: questionsOf(analysis), figure: null, parts: [] },
      };
    const peak: DetailNode = { ...opened.memory, id: 'peak memory', name: 'peak memory' };
    const all = [peak, ...opened.figures];
    if (figure === undefined) {
      const parts = [...all, ...(opened.memory.children ?? [])].map(figureOf);
      return { text: parts.map(lineOf).join('\n'), data: { unknown: [], figure: null, parts } };
    }
    const found = figureCalled(figure, all);
    if (!found)
      throw new ToolError(
        `No figure is called "${figure}".`,
        `There are: ${[...all, ...(opened.memory.children ?? [])].map(({ name }) => name).join(', ')}.`,
      );
    const parts = (found.children ?? []).slice(0, MOST_PARTS).map(figureOf);
    const own = figureOf(found);
    const text = [lineOf(own), ...parts.map((part) => `- ${lineOf(part)}`)].join('\n');
    return { text, data: { unknown: [], figure: own, parts } };
  },
});

function figureOf({ name, value, unit, why, formula, source }: DetailNode): z.output<typeof FIGURE> {
  return {
    name,
    value,
    unit,
    words: formatValue(value, unit),
    ...(why === undefined ? {} : { why }),
    ...(formula === undefined ? {} : { formula }),
    ...(source === undefined ? {} : { source: `${source.label} ${source.url}` }),
  };
}

function lineOf({ name, words, formula, why, source }: z.output<typeof FIGURE>): string {
  return [`${name}: ${words}`, formula && `= ${formula}`, why && `(${why})`, source]
    .filter(Boolean)
    .join(' ');
}
