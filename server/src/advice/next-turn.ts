/** Lets what waits have its turn: messages of the editor, timers. */
export const nextTurn: () => Promise<void> =
  typeof setImmediate === 'function'
    ? () => new Promise<void>((resolve) => setImmediate(resolve))
    : byMessage;

/** Browsers have no `setImmediate`, and make timers within timers wait for milliseconds. */
function byMessage(): Promise<void> {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(undefined);
  });
}
