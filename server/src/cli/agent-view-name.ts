/** Extension of the protocol by which clients say that they show views of tools. */
export const VIEWS = 'io.modelcontextprotocol/ui';

/** The breakdown as a view beside the conversation. */
export const VIEW = {
  uri: 'ui://oomlint/breakdown',
  name: 'breakdown',
  title: 'Memory of one GPU, part by part',
  mimeType: 'text/html;profile=mcp-app',
} as const;

/** Tool whose answer the view shows. */
export const VIEWED = 'estimate_run';
