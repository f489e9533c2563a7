/**
 * Address of what a row of a table was written down from: a page, whatever words follow it, or a file of a GitHub repository at a
 * commit, written `owner/name@commit path`.
 */
export function sourceAddress(source: string): string | undefined {
  const [, page] = /(https:\/\/\S+)/.exec(source) ?? [];
  if (page) return page;
  const [, repository, commit, file] = /^([\w.-]+\/[\w.-]+)@([0-9a-f]{7,40}) (\S+)/.exec(source) ?? [];
  return file ? `https://github.com/${repository}/blob/${commit}/${file}` : undefined;
}
