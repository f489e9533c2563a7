import type * as z from 'zod/mini';
import type { Desk } from './desk';

/** What a tool answers: one paragraph, and the same as data. */
interface Answer<Data> {
  readonly text: string;
  readonly data: Data;
}

/** Something that an agent can ask for. Words are English: they are for programs, as those of `--format json`. */
export interface Tool<Input extends z.ZodMiniObject, Output extends z.ZodMiniObject> {
  /** A verb and what it is about. */
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly input: Input;
  readonly output: Output;
  /** It changes files: whoever carries it out asks the person first. */
  readonly writes: boolean;
  run(input: z.output<Input>, desk: Desk): Promise<Answer<z.output<Output>>>;
}

/** A tool with its own types kept inside. */
export type AnyTool = Omit<Tool<z.ZodMiniObject, z.ZodMiniObject>, 'run'> & {
  run(input: unknown, desk: Desk): Promise<Answer<Readonly<Record<string, unknown>>>>;
};

/** Closes a tool over its types: what it is called with is read by its own schema. Rejects with `ZodError` on other input. */
export function toolOf<Input extends z.ZodMiniObject, Output extends z.ZodMiniObject>(
  tool: Tool<Input, Output>,
): AnyTool {
  return {
    ...tool,
    async run(input, desk) {
      const { text, data } = await tool.run(tool.input.parse(input), desk);
      return { text, data: data as Readonly<Record<string, unknown>> };
    },
  };
}
