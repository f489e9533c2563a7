/** How context-parallel ranks exchange keys and values. */
export const CONTEXT_METHODS = ['ring', 'all-gather', 'all-to-all'] as const;
export type ContextMethod = (typeof CONTEXT_METHODS)[number];
