import { openedOf } from '../features/breakdown';
import type { Opened } from '../features/protocol';
import type { DetailNode } from '../results/detail-node';
import { figureCalled, formatValue } from '../results/detail-words';
import { say } from '../wording/say';
import { UsageError } from '../workspace/usage-error';
import { type CliContext, EXIT } from './context';
import type { Output } from './output';
import { notEstimated, readFile } from './read-run';
import { displayPath, SCHEMA_VERSION } from './report';

export interface ExplainOptions {
  /** Only this figure: a part, or any other name that the whole output shows. */
  readonly part?: string;
  /** Levels below each figure; all where absent. */
  readonly depth?: number;
}

/** `oomlint explain`: the figures of one config down to their tensors, with formulas and sources. */
export async function explain(
  file: string,
  { part, depth = Number.POSITIVE_INFINITY }: ExplainOptions,
  context: CliContext,
): Promise<number> {
  const { output, folder, options } = context;
  const analysis = await readFile(file, context);
  if (!analysis) return EXIT.couldNotRun;
  const opened = openedOf(analysis);
  if (!opened) {
    const reason = say('{0}; there is nothing to explain yet.', notEstimated(file, analysis));
    output.writeError(`oomlint: ${reason}\n`);
    return EXIT.couldNotRun;
  }
  const figures = chosen(opened, part);
  if (options.format === 'json') {
    const report = { file: displayPath(analysis.uri, folder), figures };
    output.write(`${JSON.stringify({ schemaVersion: SCHEMA_VERSION, ...report }, null, 2)}\n`);
  } else {
    output.write(`${output.paint('bold', displayPath(analysis.uri, folder))}  ${analysis.dialect.name}\n`);
    for (const figure of figures) output.write(`\n${lines(figure, 0, depth, output).join('\n')}\n`);
  }
  const errors = analysis.problems.some(({ severity }) => severity === 'error');
  return errors ? EXIT.foundErrors : EXIT.fine;
}

/** The memory of the peak and every other figure, or the one that is asked for. Throws `UsageError` on an unknown name. */
function chosen({ memory, figures }: Opened, part: string | undefined): readonly DetailNode[] {
  const peak: DetailNode = {
    ...memory,
    id: 'peak memory',
    name: say('peak memory'),
    why: say('highest at: {0}', memory.name),
  };
  const all = [peak, ...figures];
  if (part === undefined) return all;
  const found = figureCalled(part, all);
  if (found) return [found];
  const names = [...all, ...(memory.children ?? [])].map(({ name }) => name);
  throw new UsageError(
    `--part: ${say('no figure is called "{0}". There are: {1}.', part, [...new Set(names)].join(', '))}`,
  );
}

/** One figure and what it is made of, two spaces deeper each time. */
function lines(node: DetailNode, level: number, depth: number, output: Output): string[] {
  const { paint } = output;
  const indent = '  '.repeat(level);
  const value = formatValue(node.value, node.unit).padStart(11);
  const name = `${indent}${node.name}`;
  const { tensor } = node;
  const shape = tensor?.shape ? ` [${tensor.shape.join(', ')}]${tensor.dtype ? ` ${tensor.dtype}` : ''}` : '';
  const facts = [node.why, node.formula, node.source && `${node.source.label} ${node.source.url}`];
  const rows = [`${value}  ${level === 0 ? paint('bold', name) : name}${paint('dim', shape)}`];
  for (const fact of facts) if (fact) rows.push(`${' '.repeat(15)}${indent}${paint('dim', fact)}`);
  if (depth > 0)
    for (const child of node.children ?? []) rows.push(...lines(child, level + 1, depth - 1, output));
  return rows;
}
