import { Disposable, extensions, type LogOutputChannel, workspace } from 'vscode';
import type { FamilyParams } from '../../server/src/shared/protocol';
import type { LanguageServer } from './language-server';
import { schemaByName } from './schema-by-name';

const YAML_EXTENSION = 'redhat.vscode-yaml';
/** Scheme of our schemas: the YAML extension asks the contributor of that name for their content. */
const SCHEME = 'oomlint';

/** What the YAML extension exports, as far as we use it. https://github.com/redhat-developer/vscode-yaml/wiki/Extension-API */
interface YamlExtension {
  registerContributor(
    schema: string,
    requestSchema: (resource: string) => string | undefined,
    requestSchemaContent: (uri: string) => Promise<string> | string,
    label?: string,
  ): boolean;
}

/**
 * Gives the YAML extension the schema of each open config by the family that the server found in its content, so that keys are
 * completed and explained there; the server is asked to leave those keys out. Nothing where the extension is not installed.
 */
export function contributeSchemas(server: LanguageServer, log: LogOutputChannel): Disposable {
  const families = new Map<string, string>();
  let registered = false;

  const schemaOf = (resource: string) => {
    const name = families.get(resource) ?? schemaByName(resource);
    return name === undefined ? undefined : `${SCHEME}://schemas/${name}`;
  };
  const content = async (address: string): Promise<string> => {
    const name = /^oomlint:\/\/schemas\/([\w-]+)$/.exec(address)?.[1];
    return JSON.stringify((name === undefined ? undefined : await server.schema(name)) ?? {});
  };
  const register = async (): Promise<void> => {
    const yaml = registered ? undefined : extensions.getExtension<Partial<YamlExtension>>(YAML_EXTENSION);
    if (!yaml) return;
    registered = true;
    try {
      const api = await yaml.activate();
      const done = api.registerContributor?.(SCHEME, schemaOf, content) === true;
      await server.schemasServed(done);
    } catch (error) {
      log.warn(`The YAML extension does not take schemas: ${error}`);
    }
  };
  const isNamed = () => workspace.textDocuments.some(({ uri }) => schemaByName(uri.path) !== undefined);
  if (isNamed()) void register();
  return Disposable.from(
    server.onFamily(({ uri, family }: FamilyParams) => {
      if (family === undefined) families.delete(uri);
      else families.set(uri, family);
      if (family !== undefined && /\.ya?ml$/i.test(uri)) void register();
    }),
    workspace.onDidOpenTextDocument(({ uri }) => {
      if (schemaByName(uri.path) !== undefined) void register();
    }),
    extensions.onDidChange(() => {
      if (families.size > 0 || isNamed()) void register();
    }),
    workspace.onDidCloseTextDocument(({ uri }) => {
      families.delete(uri.toString());
    }),
  );
}
