/**
 * A key path as people write it: that of a flag is its name, `max_length` instead of `commands.[0].arguments.max_length`. Which command of a
 * script it belongs to, its place shows.
 */
export function spelledKey(path: string): string {
  return path.replace(/^commands\.\[\d+\]\.(?:arguments|environment|launcher|wrapper)\./, '');
}
