import { jsonSchemaOf } from '../../server/src/agents/json-schema-of';
import { TOOLS } from '../../server/src/agents/tools';

/** The tools of agents as `contributes.languageModelTools` of the manifest has them. */
export function contributedTools() {
  return TOOLS.map(({ name, description, input }) => ({
    name: `oomlint_${name}`,
    toolReferenceName: `oomlint-${name.replaceAll('_', '-')}`,
    displayName: `%tools.${name}.title%`,
    userDescription: `%tools.${name}.description%`,
    modelDescription: description,
    canBeReferencedInPrompt: true,
    icon: '$(graph)',
    inputSchema: { type: 'object', ...jsonSchemaOf(input) },
  }));
}
