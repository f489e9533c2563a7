/**
 * Problems that whoever else reads a file reports too, by the names of our rules: one place needs no two. A key that stands twice is broken YAML
 * to the YAML extension.
 */
const OF_YAML: ReadonlySet<unknown> = new Set(['syntax', 'duplicate-key']);

/** Whether a problem of a YAML file gives way to one that others have of the same line. */
export const givesWay = (code: unknown): boolean => OF_YAML.has(code);
