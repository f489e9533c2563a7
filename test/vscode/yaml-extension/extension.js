const { Hover, languages } = require('vscode');

// Exports what the YAML extension exports to those that contribute schemas, shows tests who did, and explains the keys of the first
// level by them, as that extension does.
exports.activate = ({ subscriptions }) => {
  const contributors = new Map();
  const provideHover = async (document, position) => {
    const range = document.getWordRangeAtPosition(position, /^[\w.]+(?=:)/);
    for (const { requestSchema, requestSchemaContent } of range ? contributors.values() : []) {
      const address = requestSchema(document.uri.toString());
      if (address === undefined) continue;
      const { properties } = JSON.parse(await requestSchemaContent(address));
      const { description } = properties[document.getText(range)] ?? {};
      if (description !== undefined) return new Hover(description, range);
    }
    return undefined;
  };
  subscriptions.push(languages.registerHoverProvider('yaml', { provideHover }));
  return {
    contributors,
    registerContributor(schema, requestSchema, requestSchemaContent) {
      if (contributors.has(schema)) return false;
      contributors.set(schema, { requestSchema, requestSchemaContent });
      return true;
    },
  };
};
