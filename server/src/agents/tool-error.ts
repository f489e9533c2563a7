/** Why a tool has no answer, and what to do instead: an answer to the agent, not a failure of the program. */
export class ToolError extends Error {
  readonly next: string;

  constructor(reason: string, next: string) {
    super(reason);
    this.next = next;
  }
}
