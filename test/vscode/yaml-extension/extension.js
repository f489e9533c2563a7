const { Diagnostic, Hover, languages, Range, workspace } = require('vscode');

// Exports what the YAML extension exports to those that contribute schemas, shows tests who did, and explains the keys of the first
// level by them, as that extension does. It reports a mapping in a mapping on one line, as its parser does, some time after a key.
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
  const problems = languages.createDiagnosticCollection('YAML');
  const validate = (document) => {
    const { uri, languageId } = document;
    if (languageId !== 'yaml') return;
    const found = document
      .getText()
      .split('\n')
      .flatMap((line, at) => {
        const nested = /^[\w.]+: [\w.]+: /.exec(line);
        if (!nested) return [];
        const range = new Range(at, 0, at, line.length);
        const problem = new Diagnostic(range, 'Nested mappings are not allowed in compact mappings', 0);
        return [Object.assign(problem, { source: 'YAML' })];
      });
    setTimeout(() => problems.set(uri, found), 400);
  };
  subscriptions.push(
    problems,
    workspace.onDidOpenTextDocument(validate),
    workspace.onDidChangeTextDocument(({ document }) => validate(document)),
  );
  return {
    contributors,
    registerContributor(schema, requestSchema, requestSchemaContent) {
      if (contributors.has(schema)) return false;
      contributors.set(schema, { requestSchema, requestSchemaContent });
      return true;
    },
  };
};
