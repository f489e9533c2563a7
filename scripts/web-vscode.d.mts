/** Serves VS Code for the Web with the extension of a folder, on a virtual file system that holds the files of another. */
export function serveWebVsCode(
  extension: string,
  workspace: string,
): Promise<{ readonly address: string; stop(): Promise<void> }>;
