import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { onDemand } from '../../server/src/memo/on-demand';

/** A real config of a public repository. */
export interface CorpusFile {
  /** Label of the corpus, given by rule: a file may sit in the wrong family. */
  readonly family: string;
  readonly name: string;
  readonly repository: string;
  /** Path in its repository. */
  readonly path: string;
  /** Where it lies in the world that the report makes: links between files of one repository lead somewhere. */
  readonly uri: string;
  readonly text: string;
}

/** Real configs, where they are at hand; they are not part of this repository. */
const CORPUS = path.join('..', 'shared', 'corpus');

export const corpusIsThere = existsSync(path.join(CORPUS, 'MANIFEST.tsv'));

/** Every config file of the corpus, read once; launch scripts are listed in its manifest only. */
export const corpusFiles: () => readonly CorpusFile[] = onDemand(() => {
  if (!corpusIsThere) return [];
  const [, ...rows] = readFileSync(path.join(CORPUS, 'MANIFEST.tsv'), 'utf8').split('\n');
  return rows.flatMap((row) => {
    const [family, name, repository, inside] = row.split('\t');
    const file = path.join(CORPUS, family ?? '', name ?? '');
    if (!family || !name || !repository || !inside || !existsSync(file)) return [];
    const uri = `file:///${repository}/${inside}`;
    return { family, name, repository, path: inside, uri, text: readFileSync(file, 'utf8') };
  });
});

/** Files of every family, spread over the corpus, up to so many of each. */
export function sampled(perFamily: number): CorpusFile[] {
  const families = new Map<string, CorpusFile[]>();
  for (const file of corpusFiles()) families.set(file.family, [...(families.get(file.family) ?? []), file]);
  return [...families.values()].flatMap((files) => {
    const step = Math.max(1, Math.floor(files.length / perFamily));
    return files.filter((_, index) => index % step === 0).slice(0, perFamily);
  });
}

/** Launch scripts laid out in a folder: the corpus lists them only. */
export function launchScripts(folder: string): CorpusFile[] {
  return readdirSync(folder).map((name) => {
    const [owner = '', repository = '', ...inside] = name.split('__');
    const text = readFileSync(path.join(folder, name), 'utf8');
    const place = inside.join('/');
    return {
      family: 'launch_sh',
      name,
      repository: `${owner}/${repository}`,
      path: place,
      uri: `file:///${owner}/${repository}/${place}`,
      text,
    };
  });
}

/** Which families of ours a label of the corpus may be read as. */
export const DIALECTS_OF: Readonly<Record<string, readonly string[]>> = {
  deepspeed: ['deepspeed'],
  accelerate: ['accelerate'],
  hf_trainingargs: ['hf-training-arguments', 'ms-swift'],
  trl: ['trl', 'hf-training-arguments', 'open-instruct'],
  axolotl: ['axolotl'],
  llamafactory: ['llama-factory', 'llama-factory-v1'],
  swift: ['ms-swift'],
  torchtune: ['torchtune'],
  torchtitan: ['torchtitan'],
  litgpt: ['litgpt'],
  'gpt-neox': ['gpt-neox'],
  megatron_yaml: ['megatron'],
  nemo: ['nemo', 'nemo-rl', 'nemo-automodel', 'megatron-bridge'],
  'llm-foundry': ['llm-foundry'],
  nanotron: ['nanotron'],
  trlx: ['trlx'],
  launch_sh: ['launch-script'],
};
