import path from 'node:path';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

/** What a tool answered. */
export interface Answered {
  readonly text: string;
  readonly isError: boolean;
  /** Checked by the client against the tool's output schema. */
  readonly data: Readonly<Record<string, unknown>>;
}

/** The official client beside a server that it started, as a program of agents has it. */
export class McpAgent {
  readonly client: Client;
  readonly #transport: StdioClientTransport;

  private constructor(client: Client, transport: StdioClientTransport) {
    this.client = client;
    this.#transport = transport;
  }

  /** `ask` answers questions to the person; without it the client has no way to ask. */
  static async start(
    folder: string,
    {
      command = [process.execPath, path.resolve('server/dist/cli.js')],
      options = [],
      ask,
      views = false,
    }: {
      readonly command?: readonly string[];
      readonly options?: readonly string[];
      readonly ask?: (message: string) => boolean;
      /** It shows views of tools beside the conversation. */
      readonly views?: boolean;
    } = {},
  ): Promise<McpAgent> {
    const [program = '', ...rest] = command;
    const transport = new StdioClientTransport({
      command: program,
      args: [...rest, 'mcp', folder, ...options],
      cwd: folder,
      stderr: 'pipe',
    });
    const client = new Client(
      { name: 'test', version: '1' },
      {
        capabilities: {
          ...(ask ? { elicitation: { form: {} } } : {}),
          ...(views
            ? { extensions: { 'io.modelcontextprotocol/ui': { mimeTypes: ['text/html;profile=mcp-app'] } } }
            : {}),
        },
      },
    );
    if (ask)
      client.setRequestHandler('elicitation/create', (request) => ({
        action: 'accept',
        content: { write: ask(request.params.message) },
      }));
    await client.connect(transport);
    return new McpAgent(client, transport);
  }

  get pid(): number | null {
    return this.#transport.pid;
  }

  async call(name: string, input: Readonly<Record<string, unknown>> = {}): Promise<Answered> {
    const { content, isError, structuredContent } = await this.client.callTool({
      name,
      arguments: { ...input },
    });
    const text = content.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('\n');
    return { text, isError: isError === true, data: (structuredContent ?? {}) as Answered['data'] };
  }

  close(): Promise<void> {
    return this.client.close();
  }
}
