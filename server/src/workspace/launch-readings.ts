import { makeRecipes } from '../config/make-recipes';
import type { ConfigDocument } from '../config/node';
import { isJupyter, notebookCommands } from '../config/notebook-commands';
import { isDatabricks } from '../config/python/databricks-source';
import { textOf } from '../config/scalar';
import { headCommands, shownCommands } from '../config/shown-commands';
import { launchesOf } from '../dialects/launch/launch';
import { launchScript, mayRunScript, trainingCommands } from '../dialects/launch-script';
import { oncePer } from '../memo/remembered';
import { isMakefile, showsCommands } from '../text/command-files';
import { runRoot } from '../text/run-root';
import type { ConfigReading } from './config-reading';
import { readKnowing } from './read-knowing';

/** Tokens of vocabularies as they are published (`special_tokens_map.json`): `<|im_end|>`, `</s>`, `[PAD]`. */
const TOKEN = String.raw`<\|[^<>|]*\|>|<\/?s>|<(?:pad|unk|bos|eos|mask|sep|cls|start_of_turn|end_of_turn)>|\[(?:PAD|UNK|CLS|SEP|MASK|BOS|EOS|INST|\/INST)\]`;
/** A list or a dictionary, as JSON and YAML write them: with a comma, a quote, a colon or numbers alone. */
const DATA = String.raw`[[{](?=[^\]}]*[,"':]|[\d\s.]*[\]}]$).*[\]}]`;
/** Words that stand for others, which whoever reads the text fills in. */
const LEFT_OUT = new RegExp(
  String.raw`^(?!(?:${TOKEN}|${DATA})$)(?:\.{3}|…|\[.*\]|\{.*\}|<.*>)$|\[_+\]|(?!${TOKEN})<[\p{L}_][\p{L}\p{N}_ -]*>`,
  'u',
);

/** The commands of a file in which they stand among other text, that start a training or a script which may. */
export function heldScripts(uri: string, text: string): readonly ConfigDocument[] {
  const scripts = isMakefile(uri)
    ? makeRecipes
    : showsCommands(uri)
      ? shownCommands
      : isJupyter(uri) || isDatabricks(text)
        ? notebookCommands
        : headCommands;
  return scripts(uri, text, (script) => launchScript.markers.test(script) || mayRunScript(script));
}

/** The runs that commands among other text start, each as a reading of its own. */
export const runsOfHeld = oncePer((document: ConfigDocument): readonly ConfigReading[] =>
  trainingCommands(document)
    .filter((command) => !isPattern(document, command))
    .map((command) =>
      ofCommand({ uri: document.uri, document, dialect: launchScript, directiveFacts: [] }, command),
    ),
);

/** The runs that a file starts, each as a reading of its own: a shell script may start several. */
export function eachRun(config: ConfigReading): readonly ConfigReading[] {
  const { dialect, document } = config;
  const commands = dialect === launchScript ? trainingCommands(document) : [];
  return commands.length < 2 ? [config] : commands.map((command) => ofCommand(config, command));
}

/** Where a run starts: the file, and in one that starts several the line. */
export function rootOf({ uri, document, reading }: ConfigReading): string {
  const line = document.command === undefined ? undefined : reading.wholeAt?.start.line;
  return runRoot(uri, line === undefined ? undefined : line + 1);
}

/** Whether a command is written with words left out: it is no run. */
function isPattern({ root }: ConfigDocument, command: number): boolean {
  const launch = launchesOf(root)[command];
  const values = [launch?.launcher, launch?.arguments].flatMap(
    (flags) => flags?.entries.map(({ value }) => value) ?? [],
  );
  return [...(launch?.words ?? []), ...values].some(
    // What a program puts in is no word of the reader's.
    (node) => !(node.kind === 'scalar' && node.open) && LEFT_OUT.test(textOf(node) ?? ''),
  );
}

function ofCommand(config: Omit<ConfigReading, 'reading'>, command: number): ConfigReading {
  const document = { ...config.document, command };
  const whole = config.whole && {
    whole: { ...config.whole, document: { ...config.whole.document, command } },
  };
  return { ...config, ...whole, document, reading: readKnowing(launchScript, document, { known: {} }) };
}
