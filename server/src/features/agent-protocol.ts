/** What client and server say to each other about tools of agents. Plain data and names. */

/** Request, client to server: `ToolParams` -> `ToolAnswer`. Calls a tool of `agents/tools.ts`, or states what it would write. */
export const TOOL_REQUEST = 'oomlint/tool';
export interface ToolParams {
  readonly name: string;
  /** As the schema of the tool has it. */
  readonly input: object;
  /** Nothing is called: the change that the tool would carry out is described, for the person who is asked about it. */
  readonly describe?: true;
}
/** English, for programs. */
export interface ToolAnswer {
  readonly isError: boolean;
  readonly text: string;
  readonly data?: Readonly<Record<string, unknown>>;
}
