/** The panel's page as it is built, to be put into a document. */
export interface PanelFiles {
  readonly script: string;
  readonly style: string;
}

/** A script cannot hold the end of its element. */
export const inlinedScript = (script: string): string =>
  script.replace(/<\/(script)/gi, '<\\/$1').replaceAll('<!--', '<\\!--');

/** Nor a style. */
export const inlinedStyle = (style: string): string => style.replace(/<\/style/gi, '<\\/style');

/** A built file without the address of its map, which leads nowhere from a document. */
export const withoutMap = (built: string): string => built.replace(/\n\/[/*]# sourceMappingURL=.*\s*$/, '');
