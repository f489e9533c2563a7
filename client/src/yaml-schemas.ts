import { Disposable, extensions, type LogOutputChannel, l10n, Uri, workspace } from 'vscode';
import type { FamilyParams } from '../../server/src/shared/protocol';
import type { LanguageServer } from './language-server';

const YAML_EXTENSION = 'redhat.vscode-yaml';
/** Scheme of our schemas: the YAML extension asks the contributor of that name for their content. */
const SCHEME = 'oomlint';

/** What the schema of an `oomlint.yaml` is called. */
const PROJECT_FILE = 'project-file';

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
export function contributeSchemas(extension: Uri, server: LanguageServer, log: LogOutputChannel): Disposable {
  const families = new Map<string, string>();
  const folder = Uri.joinPath(extension, 'server', 'schemas');
  /** Families that have a schema; those that a workspace teaches have none. */
  let known: ReadonlySet<string> = new Set();
  let registered = false;

  const content = async (address: string): Promise<string> => {
    const name = /^oomlint:\/\/schemas\/([\w-]+)$/.exec(address)?.[1];
    if (name === undefined) return '{}';
    const file = Uri.joinPath(folder, `${name}.schema.json`);
    const schema: unknown = JSON.parse(new TextDecoder().decode(await workspace.fs.readFile(file)));
    return JSON.stringify(lenient(await inLanguageOf(server, schema, log)));
  };
  const register = async (): Promise<void> => {
    const yaml = registered ? undefined : extensions.getExtension<Partial<YamlExtension>>(YAML_EXTENSION);
    if (!yaml) return;
    registered = true;
    try {
      const files = await workspace.fs.readDirectory(folder);
      known = new Set(files.map(([name]) => name.replace(/\.schema\.json$/, '')));
      const api = await yaml.activate();
      const schemaOf = (resource: string) => {
        // The manifest has the English schema of a project file: here it is in the language of the person.
        const family = isProjectFile(Uri.parse(resource)) ? PROJECT_FILE : families.get(resource);
        return family === undefined || !known.has(family) ? undefined : `${SCHEME}://schemas/${family}`;
      };
      const done = api.registerContributor?.(SCHEME, schemaOf, content) === true;
      await server.schemasServed(done);
    } catch (error) {
      log.warn(`The YAML extension does not take schemas: ${error}`);
    }
  };
  if (workspace.textDocuments.some(({ uri }) => isProjectFile(uri))) void register();
  return Disposable.from(
    server.onFamily(({ uri, family }: FamilyParams) => {
      if (family === undefined) families.delete(uri);
      else families.set(uri, family);
      if (family !== undefined && /\.ya?ml$/i.test(uri)) void register();
    }),
    // Its schema is in the manifest: the server knows that somebody shows it.
    workspace.onDidOpenTextDocument(({ uri }) => {
      if (isProjectFile(uri)) void register();
    }),
    extensions.onDidChange(() => {
      if (families.size > 0) void register();
    }),
    workspace.onDidCloseTextDocument(({ uri }) => {
      families.delete(uri.toString());
    }),
  );
}

const isProjectFile = ({ path }: Uri) => /(?:^|\/)oomlint\.ya?ml$/.test(path);

/** A schema that explains in the language of the person, where that is not the English of the file. */
async function inLanguageOf(
  server: LanguageServer,
  schema: unknown,
  log: LogOutputChannel,
): Promise<unknown> {
  if (l10n.bundle === undefined) return schema;
  const english = new Set<string>();
  withExplanations(schema, (text) => {
    english.add(text);
    return text;
  });
  const texts = [...english];
  try {
    const answers = await server.texts(texts);
    const translated = new Map(texts.map((text, at) => [text, answers[at] ?? text]));
    return withExplanations(schema, (text) => translated.get(text) ?? text);
  } catch (error) {
    log.warn(`A schema stays English: ${error}`);
    return schema;
  }
}

/** The same schema with other explanations. A property may be called `description`, too: what it holds is a schema, no text. */
function withExplanations(schema: unknown, explanation: (text: string) => string): unknown {
  if (Array.isArray(schema)) return schema.map((one) => withExplanations(one, explanation));
  if (typeof schema !== 'object' || schema === null) return schema;
  return Object.fromEntries(
    Object.entries(schema).map(([name, inner]) => [
      name,
      /^(?:markdownD|d)escription$/.test(name) && typeof inner === 'string'
        ? explanation(inner)
        : withExplanations(inner, explanation),
    ]),
  );
}

/**
 * A schema that completes and explains as before and complains about nothing: what is wrong with a value is reported by the
 * server, once, which knows what each tool coerces and fills in when it runs.
 */
export function lenient(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(lenient);
  if (typeof schema !== 'object' || schema === null) return schema;
  const {
    type,
    enum: values,
    anyOf,
    required: _required,
    properties,
    $defs,
    ...rest
  } = schema as Record<string, unknown>;
  const inner = {
    ...rest,
    ...(properties === undefined ? {} : { properties: each(properties) }),
    ...($defs === undefined ? {} : { $defs: each($defs) }),
  };
  // References to blocks are text, too: what is no object has no properties to be checked.
  if (type === 'object' || type === 'array') return inner;
  const accepted = Array.isArray(anyOf)
    ? anyOf.map(lenient)
    : values !== undefined || type !== undefined
      ? [{ ...(type === undefined ? {} : { type }), ...(values === undefined ? {} : { enum: values }) }]
      : [];
  return accepted.length === 0 ? inner : { ...inner, anyOf: [...accepted, {}] };
}

function each(properties: unknown): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(properties as Record<string, unknown>).map(([name, schema]) => [name, lenient(schema)]),
  );
}
