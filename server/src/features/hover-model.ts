import { formatCount, formatInteger } from '../wording/figures';
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
      ? `${formatInteger(model.attentionHeads)} heads`
      : `${formatInteger(model.attentionHeads)} heads, ${formatInteger(model.keyValueHeads)} key-value heads`;
  const shape = [
    `${formatInteger(model.layers)} layers`,
    `hidden size ${formatInteger(model.hiddenSize)}`,
    heads,
    `vocabulary ${formatInteger(model.vocabulary)}`,
  ];
  if (model.maxPositions) {
    shape.push(`up to ${formatInteger(model.maxPositions)} positions`);
  }
  const lines = [
    `- **Parameters** ${parameters(analysis)}`,
    `- **Architecture** ${shape.join(' · ')}`,
    model.publishedDtype ? `- **Published as** ${code(model.publishedDtype)}` : undefined,
    ...model.notes.map((note) => `- ${escapeMarkdown(note)}`),
  ].filter((line) => line !== undefined);
  const links = model.sources
    .map((source) => httpsUrl(source))
    .filter((url) => url !== undefined)
    .map((url, i, all) => `[${all.length > 1 ? `Source ${i + 1}` : 'Source'}](${url})`);
  const title = `**${escapeMarkdown(model.id)}** · ${escapeMarkdown(model.modelType)}`;
  const origin = { catalog: 'Oomlint catalog', 'config.json': 'its config.json', inline: 'the run file' }[
    model.origin
  ];
  return [
    title,
    lines.join('\n'),
    `Read from ${origin}${links.length > 0 ? ` · ${links.join(' · ')}` : ''}`,
  ].join('\n\n');
}

function parameters(analysis: Analysis): string {
  const figures = analysis.estimate?.model;
  const total = figures?.totalParameters ?? analysis.model?.parameters.total ?? 0;
  const active = figures?.activeParameters ?? analysis.model?.parameters.active ?? total;
  const phrases = [`${formatCount(total)} (${formatInteger(total)})`];
  if (active !== total) {
    phrases.push(`${formatCount(active)} active per token`);
  }
  if (figures && figures.trainableParameters !== total) {
    phrases.push(`${formatCount(figures.trainableParameters)} trainable`);
  } else if (figures) {
    phrases.push('all trainable');
  }
  return phrases.join(' · ');
}

function unknownModel(analysis: Analysis, written: string): string | undefined {
  const reason = analysis.resolved.unknown.find((unknown) => unknown.field.startsWith('model.'))?.reason;
  return reason && [`**${escapeMarkdown(written)}**`, escapeMarkdown(reason)].join('\n\n');
}
