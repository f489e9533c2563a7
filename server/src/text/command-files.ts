/** Texts for people that show how something is started. */
const MARKDOWN = /\.(?:md|markdown)$/i;
/** Names that GNU make looks for, and those of files that makefiles include (GNU make manual, "What Name to Give Your Makefile"). */
const MAKEFILE = /(?:^|\/)(?:GNUmakefile|[Mm]akefile|[^/]*\.mk)$/;

const pathOf = (uri: string): string => uri.split(/[?#]/, 1)[0] ?? '';

/** Whether a file is a text that shows commands in fenced blocks. */
export const showsCommands = (uri: string): boolean => MARKDOWN.test(pathOf(uri));

export const isMakefile = (uri: string): boolean => MAKEFILE.test(pathOf(uri));

/** Whether commands stand in a file among other text. */
export const holdsCommands = (uri: string): boolean => showsCommands(uri) || isMakefile(uri);
