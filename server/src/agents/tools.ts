import * as z from 'zod/mini';
import { $ZodError, prettifyError } from 'zod/v4/core';
import { UsageError } from '../workspace/usage-error';
import type { Desk } from './desk';
import type { AnyTool } from './tool';
import { ToolError } from './tool-error';
import { applyChange, describedOffer } from './tools/apply-change';
import { compareTwoRuns } from './tools/compare-runs';
import { estimateRun } from './tools/estimate-run';
import { explainFigure } from './tools/explain-figure';
import { explainOutOfMemoryText } from './tools/explain-oom';
import { findRunsTool } from './tools/find-runs';
import { listHardware } from './tools/list-hardware';
import { makeRunFit } from './tools/make-run-fit';

/** What agents can ask for, in the order in which it is asked for. */
export const TOOLS: readonly AnyTool[] = [
  findRunsTool,
  estimateRun,
  makeRunFit,
  applyChange,
  explainFigure,
  compareTwoRuns,
  explainOutOfMemoryText,
  listHardware,
];

/** What a tool answered: a paragraph and data, or why it has no answer and what to do instead. */
type ToolResult =
  | { readonly isError: false; readonly text: string; readonly data: Readonly<Record<string, unknown>> }
  | { readonly isError: true; readonly text: string };

/** Calls a tool by its name. What an agent can put right is an answer; anything else rejects. */
export async function callTool(name: string, input: unknown, desk: Desk): Promise<ToolResult> {
  const tool = TOOLS.find((one) => one.name === name);
  if (!tool) return { isError: true, text: `There is no tool "${name}".` };
  try {
    return { isError: false, ...(await tool.run(input, desk)) };
  } catch (error) {
    if (error instanceof ToolError) return { isError: true, text: `${error.message} ${error.next}` };
    if (error instanceof UsageError) return { isError: true, text: error.message };
    if (error instanceof $ZodError) return { isError: true, text: prettifyError(error) };
    throw error;
  }
}

/** What a call of the tool that writes would write, for the person who is asked about it. */
export function describedChange(input: unknown, desk: Desk): ToolResult {
  const id = z.object({ id: z.string() }).safeParse(input).data?.id ?? '';
  try {
    const { title, diff } = describedOffer(id, desk);
    return { isError: false, text: diff, data: { title } };
  } catch (error) {
    if (error instanceof ToolError) return { isError: true, text: `${error.message} ${error.next}` };
    throw error;
  }
}
