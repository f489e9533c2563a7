import { parseConfig } from '../../../server/src/config/parse';
import type { KeySpec } from '../../../server/src/dialects/dialect';
import type { Model } from '../../../server/src/model/model';
import type { Estimate } from '../../../server/src/results/estimate';
import type { ResolvedRun } from '../../../server/src/run/resolved-run';
import type { Position } from '../../../server/src/text/place';
import type { Problem } from '../../../server/src/text/problem';
import type { Analysis, ResolvedLink } from '../../../server/src/workspace/analysis';

const GIB = 2 ** 30;

/** An estimate with round figures, so that tests can be read. */
export const ESTIMATE: Estimate = {
  verdict: 'fits',
  bands: { allocated: { below: 0.04, above: 0.04 }, reserved: { below: 0.12, above: 0.12 } },
  peak: {
    allocatedBytes: 58 * GIB,
    reservedBytes: 60 * GIB,
    processBytes: 61.3 * GIB,
    lowerBytes: 59 * GIB,
    upperBytes: 64 * GIB,
    moment: 'backward',
    label: 'layer 31 backward',
    rank: 0,
  },
  parts: [
    { category: 'weights', bytes: 15 * GIB },
    { category: 'optimizer-states', bytes: 30 * GIB },
    { category: 'communication-buffers', bytes: 1.9 * GIB },
    { category: 'activations', bytes: 14.4 * GIB },
    { category: 'gathered-parameters', bytes: 0 },
  ],
  timeline: [],
  capacityBytes: 79.2 * GIB,
  host: { bytesPerNode: 0, parts: [], moment: 'training', verdict: 'unknown' },
  model: {
    totalParameters: 8_030_261_248,
    trainableParameters: 8_030_261_248,
    activeParameters: 8_030_261_248,
  },
  compute: {
    flopsPerStep: 412e12,
    modelFlopsPerStep: 400e12,
    hfuFlopsPerStep: 400e12,
    forwardFlopsPerStep: 130e12,
    profiledFlopsPerStep: 400e12,
    recomputedFlopsPerStep: 0,
    referenceFlopsPerStep: 0,
    tokensPerStep: 8192,
    pflopDaysPerStep: 0,
  },
  notes: [],
};

export const MODEL: Model = {
  id: 'meta-llama/Llama-3.1-8B',
  config: { model_type: 'llama' },
  modelType: 'llama',
  origin: 'catalog',
  publishedDtype: 'bf16',
  hiddenSize: 4096,
  layers: 32,
  attentionHeads: 32,
  keyValueHeads: 8,
  vocabulary: 128_256,
  maxPositions: 131_072,
  parameters: { total: 8_030_261_248, active: 8_030_261_248, embedding: 525_336_576 },
  stages: [],
  loraDefaultTargets: [],
  notes: [],
  sources: ['https://huggingface.co/meta-llama/Llama-3.1-8B'],
};

interface Sample {
  readonly uri?: string;
  readonly keys?: readonly KeySpec[];
  readonly resolved?: Partial<ResolvedRun>;
  readonly estimate?: Estimate;
  readonly model?: Model;
  readonly links?: readonly ResolvedLink[];
  readonly problems?: readonly Problem[];
}

/** An analysis of a text, with whatever else a test is about laid beside it. */
export function sample(text: string, given: Sample = {}): Analysis {
  const uri = given.uri ?? 'file:///project/config.yaml';
  return {
    uri,
    document: parseConfig(uri, text),
    dialect: {
      id: 'sample',
      name: 'Sample',
      keys: given.keys ?? [],
      markers: /(?:)/,
      detect: () => 1,
      read: () => ({ facts: [], links: [], problems: [], autos: [] }),
    },
    reading: { facts: [], links: [], problems: [], autos: [] },
    links: given.links ?? [],
    files: [uri],
    resolved: { values: {}, origins: {}, overruled: [], unknown: [], ...given.resolved },
    model: given.model,
    estimate: given.estimate,
    problems: given.problems ?? [],
  };
}

/** Takes the mark `|` out of a text and gives where it stood. */
export function marked(text: string): { text: string; position: Position } {
  const at = text.indexOf('|');
  const lines = text.slice(0, at).split('\n');
  return {
    text: text.slice(0, at) + text.slice(at + 1),
    position: { line: lines.length - 1, character: lines.at(-1)?.length ?? 0 },
  };
}
