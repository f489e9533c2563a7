import { LogFiguresReader } from '../../measured/log-figures';
import { logLinesOf } from '../../measured/log-line';
import { growthOf } from '../../measured/measurement';
import { OutOfMemoryReader } from '../../measured/out-of-memory';
import { fileName } from '../../text/uri';
import { say } from '../../wording/say';
import { code, escapeMarkdown } from '../markdown';
import type { ExplainedOom, OomCard, OomParams } from '../oom-protocol';
import { diagnose } from './diagnose';
import { type LaunchSearch, launchedConfig, type RunFinder } from './launched';
import { reliefOf } from './relief';
import { whyUnestimated } from './why-unestimated';
import { type ExplainedSection, sectionsOf, titleOf } from './words';

/** Messages of a text that are explained: other ranks say the same. */
const MOST = 6;

/** Explains the out-of-memory messages of a text, as Markdown. */
export async function explainOom(
  { text, folder, config, titlesOnly }: OomParams,
  workspace: RunFinder,
): Promise<ExplainedOom> {
  const reader = new OutOfMemoryReader();
  const figures = new LogFiguresReader();
  for (const line of logLinesOf(text)) {
    reader.add(line);
    if (!titlesOnly) figures.add(line);
  }
  const log = reader.finish();
  if (titlesOnly) {
    const messages = log.found.map((message) => ({
      line: message.line,
      title: titleOf(message),
      markdown: '',
    }));
    return { messages };
  }
  const { series, facts } = figures.finish();
  const search =
    folder === undefined && config === undefined
      ? {}
      : await launchedConfig(log, folder ?? '', config, workspace, facts);
  const { launched } = search;
  const grown = series.filter(({ kind }) => kind !== 'host').map(growthOf);
  const messages: OomCard[] = [];
  for (const message of log.found.slice(0, MOST)) {
    const analysis = launched?.analysis;
    const found = diagnose(message, { ...(analysis ? { analysis } : {}), grewBytes: Math.max(0, ...grown) });
    const relief =
      launched && analysis && message.kind === 'torch'
        ? await reliefOf(found, analysis, launched.workspace)
        : [];
    const sections = sectionsOf(found, analysis, log.allocatorSettings);
    const room = { heading: say('What would make room'), lines: relief.map(({ title }) => title) };
    const all = relief.length > 0 ? [...sections, room] : sections;
    const reliefs = relief.map(({ title, changes, fix }) => ({
      title,
      values: changes,
      ...(fix === undefined ? {} : { fix }),
    }));
    const markdown = markdownOf(all, search);
    messages.push({
      line: message.line,
      title: titleOf(message),
      markdown,
      ...(reliefs.length > 0 ? { reliefs } : {}),
    });
  }
  return { messages, ...(launched ? { config: launched.analysis.uri } : {}) };
}

function markdownOf(sections: readonly ExplainedSection[], { launched, unestimated }: LaunchSearch): string {
  const run = launched
    ? launched.by === 'command'
      ? say('Run: the command in the log, `{0}`', '…').replace('`…`', code(launched.command ?? ''))
      : say('Run: {0}', escapeMarkdown(fileName(launched.analysis.uri)))
    : unestimated
      ? say(
          'Run: {0}. Only the message itself is explained: {1}.',
          escapeMarkdown(
            unestimated.by === 'command' ? (unestimated.command ?? '') : fileName(unestimated.analysis.uri),
          ),
          escapeMarkdown(whyUnestimated(unestimated.analysis)),
        )
      : say('No config of the run was found: only the message itself is explained.');
  const texts = sections.map(
    ({ heading, lines }) =>
      `**${escapeMarkdown(heading)}**\n\n${lines.map((line) => `- ${escapeMarkdown(line)}`).join('\n')}`,
  );
  return [run, ...texts].join('\n\n');
}
