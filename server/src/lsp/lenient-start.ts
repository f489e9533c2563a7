import type { MessageStrategy } from 'vscode-languageserver';

/** An editor that names no capabilities has none: the library would stop at it. */
export const lenientStart: MessageStrategy = {
  handleMessage(message, next) {
    const { method, params } = message as { method?: unknown; params?: { capabilities?: unknown } };
    if (method === 'initialize' && typeof params === 'object' && params !== null) params.capabilities ??= {};
    return next(message);
  },
};
