import * as z from 'zod/mini';
import { explainOom as explained } from '../../features/oom/explained';
import { parentUri } from '../../text/uri';
import { nameOf, placeOf } from '../desk';
import { described, path, runOptionsOf, STATED } from '../stated';
import { toolOf } from '../tool';
import { ToolError } from '../tool-error';

export const explainOutOfMemoryText = toolOf({
  name: 'explain_oom',
  title: 'Explain an out-of-memory message',
  description:
    'Explains out-of-memory messages of CUDA, NCCL or the system: which tensor it was, at which moment, why there was no room, and what would make room. Give the text of the message or a log file, and the config of the run where it is known.',
  input: z.object({
    text: z.optional(described(z.string(), 'The message, best with the traceback around it.')),
    log: z.optional(described(path(), 'A log file inside the folder, instead of a text.')),
    file: z.optional(described(path(), 'Config of the run that failed.')),
    ...STATED,
  }),
  output: z.object({
    run: described(z.nullable(z.string()), 'Config that the messages were held to.'),
    messages: z.array(
      z.object({ line: z.number(), title: z.string(), explanation: described(z.string(), 'Markdown.') }),
    ),
  }),
  writes: false,
  async run({ text, log, file, ...given }, desk) {
    const workspace = desk.workspace(runOptionsOf(given));
    const place = log === undefined ? undefined : await placeOf(log, desk);
    const words = text ?? (place === undefined ? undefined : await workspace.text(place));
    if (words === undefined)
      throw log === undefined
        ? new ToolError('There is nothing to explain.', 'Pass the message as `text`, or a `log`.')
        : new ToolError(
            `${log} cannot be read, or is larger than 4 MB.`,
            'Pass the part with the message as `text`.',
          );
    const config = file === undefined ? undefined : await placeOf(file, desk);
    const folder = place === undefined ? desk.folders[0] : parentUri(place);
    const found = await explained(
      {
        text: words,
        ...(folder === undefined ? {} : { folder }),
        ...(config === undefined ? {} : { config }),
      },
      workspace,
    );
    const messages = found.messages.map(({ line, title, markdown }) => ({
      line: line + 1,
      title,
      explanation: markdown,
    }));
    const run = found.config === undefined ? null : nameOf(found.config, desk);
    const paragraphs = messages.map(({ title, explanation }) => `${title}\n\n${explanation}`);
    return {
      text: messages.length > 0 ? paragraphs.join('\n\n') : 'No message there says that memory ran out.',
      data: { run, messages },
    };
  },
});
