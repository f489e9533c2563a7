import { sourceAddress } from '../explanation/source-address';
import { headedCount } from '../memory/headed-count';
import { notesOf } from '../model/model';
import { formatCount, formatInteger } from '../wording/figures';
import { say } from '../wording/say';
import type { Analysis } from '../workspace/analysis';
import { code, escapeMarkdown, httpsUrl } from './markdown';

/** The model that a config names: its shape and its parameter counts, or why Oomlint cannot tell. */
export function modelHover(analysis: Analysis, written: string): string | undefined {
  const model = analysis.model;
  if (!model) {
    return unknownModel(analysis, written);
  }
  const heads =
    model.keyValueHeads === model.attentionHeads
      ? say('{0} {0|head|heads}', model.attentionHeads)
      : say('{0} {0|head|heads}, {1} key-value {1|head|heads}', model.attentionHeads, model.keyValueHeads);
  const shape = [
    say('{0} {0|layer|layers}', model.layers),
    say('hidden size {0}', model.hiddenSize),
    heads,
    say('vocabulary {0}', model.vocabulary),
  ];
  if (model.maxPositions) {
    shape.push(say('up to {0} positions', model.maxPositions));
  }
  const lines = [
    `- **${say('Parameters')}** ${parameters(analysis)}`,
    `- **${say('Architecture')}** ${shape.join(' · ')}`,
    model.publishedDtype ? `- **${say('Published as')}** ${code(model.publishedDtype)}` : undefined,
    ...notesOf(model, analysis.resolved.values).map((note) => `- ${escapeMarkdown(note)}`),
  ].filter((line) => line !== undefined);
  const links = model.sources
    .map((source) => httpsUrl(sourceAddress(source)))
    .filter((url) => url !== undefined)
    .map((url, i, all) => `[${all.length > 1 ? say('Source {0}', i + 1) : say('Source')}](${url})`);
  const title = `**${escapeMarkdown(model.id)}** · ${escapeMarkdown(model.modelType)}`;
  const origin = {
    catalog: say('Oomlint catalog'),
    'config.json': 'config.json',
    inline: say('the run file'),
  }[model.origin];
  return [
    title,
    lines.join('\n'),
    `${say('Read from {0}', origin)}${links.length > 0 ? ` · ${links.join(' · ')}` : ''}`,
  ].join('\n\n');
}

function parameters(analysis: Analysis): string {
  const figures = analysis.estimate?.model;
  const counted = analysis.model && headedCount(analysis.model, analysis.resolved.values);
  const total = figures?.totalParameters ?? counted?.total ?? 0;
  const active = figures?.activeParameters ?? counted?.active ?? total;
  const phrases = [`${formatCount(total)} (${formatInteger(total)})`];
  if (active !== total) {
    phrases.push(say('{0} active per token', formatCount(active)));
  }
  if (figures && figures.trainableParameters !== total) {
    phrases.push(say('{0} trainable', formatCount(figures.trainableParameters)));
  } else if (figures) {
    phrases.push(say('all trainable'));
  }
  return phrases.join(' · ');
}

function unknownModel(analysis: Analysis, written: string): string | undefined {
  const reason = analysis.resolved.unknown.find((unknown) => unknown.field.startsWith('model.'))?.reason;
  return reason && [`**${escapeMarkdown(written)}**`, escapeMarkdown(reason)].join('\n\n');
}
