import type { RunValues } from '../../../server/src/run/fields';
import type { Analysis } from '../../../server/src/workspace/analysis';
import { Workspace } from '../../../server/src/workspace/analyze';
import { MemoryHost } from '../../../server/src/workspace/memory-host';
import { type CorpusFile, corpusFiles } from '../../corpus/corpus-files';

/** What files of the corpus often leave out. Settings are weaker than files and directives: edits count. */
const SUPPLIED: RunValues = {
  'hardware.gpus': 8,
  'batch.sequence': 4096,
  'batch.micro': 4,
  'model.id': 'meta-llama/Llama-3.1-8B',
};

/** Cards from large to small: the first that a run exceeds is the one that its owner might have hoped for. */
const CARDS = [
  'H200-SXM-141GB',
  'A100-SXM4-80GB',
  'RTX A6000',
  'A100-SXM4-40GB',
  'RTX 4090',
  'V100-SXM2-16GB',
  'T4',
];

export interface CorpusRun {
  readonly file: CorpusFile;
  readonly workspace: Workspace;
  readonly host: MemoryHost;
  readonly analysis: Analysis;
  readonly gpu: string;
}

let all: Record<string, string> | undefined;

/** The run of a file on the largest card that it does not fit; undefined where it fits all, or is not complete. */
export async function tooLargeRun(file: CorpusFile): Promise<CorpusRun | undefined> {
  all ??= Object.fromEntries(corpusFiles().map(({ uri, text }) => [uri, text]));
  const owner = `file:///${file.repository}/`;
  const own = Object.fromEntries(Object.entries(all).filter(([uri]) => uri.startsWith(owner)));
  const host = new MemoryHost({ ...own, [file.uri]: file.text }, { folders: [`file:///${file.repository}`] });
  for (const gpu of CARDS) {
    const workspace = new Workspace(host, { settings: () => ({ ...SUPPLIED, 'hardware.gpu': gpu }) });
    const analysis = await workspace.analyze(file.uri);
    if (!analysis?.estimate) return undefined;
    if (
      analysis.estimate.verdict === 'exceeds' &&
      analysis.problems.some(({ code }) => code === 'does-not-fit')
    )
      return { file, workspace, host, analysis, gpu };
  }
  return undefined;
}
