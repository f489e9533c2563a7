/** Unpacks a packaged extension as an editor would install it. Answers the extension's folder. */
export function unpackVsix(vsix: string, folder: string): Promise<string>;
