import path from 'node:path';
import {
  acceptedContent,
  type CallToolResult,
  type InputRequiredResult,
  inputRequired,
  ProtocolError,
  ProtocolErrorCode,
  Server,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { version } from '../../package.json';
import type { Desk } from '../agents/desk';
import { say } from '../wording/say';
import { VIEW, VIEWED, VIEWS } from './agent-view-name';
import { AnsweringStdio } from './answering-stdio';
import { EXIT } from './exit-codes';
import { kindOf } from './kind-of-path';
import type { Output } from './output';

const INSTRUCTIONS =
  'Oomlint tells before a training run starts whether it fits the GPU. Begin with find_runs. Where an answer holds `unknown`, ask the person those questions in their words and call again with the answers: never guess a model, a GPU or a batch size. A verdict `unknown` or `tight` is no permission to start. Changes come from make_run_fit, are chosen by the person, and are written by apply_change.';

export interface McpOptions {
  readonly readOnly?: boolean;
  /** Folders beside that of the server that its configs may name files in. */
  readonly alsoRead?: readonly string[];
}

/** Serves agents until standard input ends, and what it asked is answered. */
export async function serveMcp(
  folder: string,
  { readOnly = false, alsoRead = [] }: McpOptions,
  output: Output,
): Promise<number> {
  for (const place of [folder, ...alsoRead])
    if ((await kindOf(path.resolve(place))) !== 'folder') {
      output.writeError(`oomlint: ${say('{0} is no folder.', place)}\n`);
      return EXIT.couldNotRun;
    }
  let loading: Engine | undefined;
  const engine = () => {
    loading ??= loaded(path.resolve(folder), alsoRead);
    return loading;
  };
  const transport = new AnsweringStdio(process.stdin, process.stdout);
  serveStdio(() => serverOf(engine, readOnly), {
    transport,
    onerror: (error) => output.writeError(`oomlint: ${error.message}\n`),
  });
  await transport.closed;
  return EXIT.fine;
}

type Engine = Promise<typeof import('../agents/tools') & { readonly desk: Desk }>;

async function loaded(root: string, also: readonly string[]): Engine {
  const [tools, { diskDesk }] = await Promise.all([import('../agents/tools'), import('./disk-desk')]);
  return { ...tools, desk: await diskDesk(root, also) };
}

function serverOf(engine: () => Engine, readOnly: boolean): Server {
  const server = new Server(
    { name: 'oomlint', title: 'Oomlint', version },
    { capabilities: { tools: {}, resources: {} }, instructions: INSTRUCTIONS },
  );
  // Once the client has its first answer: it asks for tools next.
  server.oninitialized = () => void engine();
  const offered = async () => (await engine()).TOOLS.filter(({ writes }) => !(writes && readOnly));
  const showsViews = () => server.getClientCapabilities()?.extensions?.[VIEWS] !== undefined;
  server.setRequestHandler('resources/list', () => ({ resources: [VIEW] }));
  server.setRequestHandler('resources/read', async ({ params: { uri } }) => {
    if (uri !== VIEW.uri)
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, `There is no resource "${uri}".`);
    const { viewText } = await import('./agent-view');
    return { contents: [{ uri, mimeType: VIEW.mimeType, text: await viewText() }] };
  });
  server.setRequestHandler('tools/list', async () => {
    const { jsonSchemaOf } = await import('../agents/json-schema-of');
    return {
      tools: (await offered()).map(({ name, title, description, input, output: answer, writes }) => ({
        name,
        title,
        description,
        inputSchema: { ...jsonSchemaOf(input), type: 'object' as const },
        outputSchema: { ...jsonSchemaOf(answer), type: 'object' as const },
        annotations: {
          title,
          readOnlyHint: !writes,
          destructiveHint: writes,
          idempotentHint: true,
          openWorldHint: false,
        },
        ...(name === VIEWED && showsViews() ? { _meta: { ui: { resourceUri: VIEW.uri } } } : {}),
      })),
    };
  });
  server.setRequestHandler('tools/call', async ({ params: { name, arguments: input = {} } }, context) => {
    const { callTool, desk } = await engine();
    const tool = (await offered()).find((one) => one.name === name);
    if (!tool) return { isError: true, content: [{ type: 'text', text: `There is no tool "${name}".` }] };
    const question = tool.writes
      ? await confirmation(server, context, String(input.id ?? ''), desk)
      : undefined;
    if (question) return question;
    const result = await callTool(name, input, desk);
    const content: CallToolResult['content'] = [{ type: 'text', text: result.text }];
    if (result.isError) return { content, isError: true };
    const shown = name === VIEWED && showsViews();
    return {
      content,
      structuredContent: result.data,
      ...(shown ? { _meta: await (await import('./agent-view')).viewContent(input, desk) } : {}),
    };
  });
  return server;
}

/** What has to happen before something is written: the person is asked where the client can; else it asks by itself. */
async function confirmation(
  server: Server,
  { mcpReq }: ServerContext,
  id: string,
  desk: Desk,
): Promise<CallToolResult | InputRequiredResult | undefined> {
  if (!server.getClientCapabilities()?.elicitation || !desk.offered.has(id)) return undefined;
  const { describedOffer } = await import('../agents/tools/apply-change');
  const { title, diff } = describedOffer(id, desk);
  const answered = mcpReq.inputResponses?.confirm;
  if (answered === undefined)
    return inputRequired({
      inputRequests: {
        confirm: inputRequired.elicit({
          message: `${title}\n\n${diff}`,
          requestedSchema: {
            type: 'object',
            properties: { write: { type: 'boolean', title: 'Write this change', default: true } },
            required: ['write'],
          },
        }),
      },
    });
  if (acceptedContent<{ write: boolean }>(mcpReq.inputResponses, 'confirm')?.write === true) return undefined;
  return { isError: true, content: [{ type: 'text', text: 'The person did not want it to be written.' }] };
}
