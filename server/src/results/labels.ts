import { formatCount } from '../wording/figures';
import { say } from '../wording/say';
import type { Category, Estimate, FoundBatch, HostMoment, ModelFigures, Moment, Verdict } from './estimate';

/** What people read instead of identifiers. */
export const CATEGORY_LABELS: Readonly<Record<Category, string>> = {
  weights: 'weights',
  'quantized-weights': 'quantized weights',
  adapters: 'adapters',
  'reference-model': 'reference model',
  'other-models': 'other models',
  'master-weights': 'master weights',
  gradients: 'gradients',
  'optimizer-states': 'optimizer states',
  'optimizer-transients': 'optimizer temporaries',
  activations: 'activations',
  checkpoints: 'checkpoints',
  'logits-and-loss': 'logits and loss',
  'gathered-parameters': 'gathered parameters',
  'communication-buffers': 'communication buffers',
  'autocast-cache': 'autocast cache',
  workspaces: 'workspaces',
  'reserved-for-others': 'reserved for others',
  'allocator-overhead': 'allocator overhead',
  'cuda-context': 'CUDA context',
};

export const MOMENT_LABELS: Readonly<Record<Moment, string>> = {
  initialization: 'loading and initialization',
  forward: 'the forward pass',
  loss: 'the loss',
  backward: 'the backward pass',
  'gradient-reduction': 'gradient reduction',
  'optimizer-step': 'the optimizer step',
  'parameter-gather': 'the parameter gather',
  generation: 'generation of completions',
  evaluation: 'evaluation',
  saving: 'saving a checkpoint',
};

/** When a node needs most host memory. */
export const HOST_MOMENT_LABELS: Readonly<Record<HostMoment, string>> = {
  loading: 'while the model is loaded',
  training: 'while it trains',
  evaluation: 'while it evaluates',
  saving: 'while it saves a checkpoint',
};

export const VERDICT_LABELS: Readonly<Record<Verdict, string>> = {
  fits: 'fits',
  tight: 'tight',
  exceeds: 'does not fit',
  unknown: 'unknown',
};

/** As the tables, in the language of the person. */
export const categoryLabel = (category: Category) => say(CATEGORY_LABELS[category]);
export const momentLabel = (moment: Moment) => say(MOMENT_LABELS[moment]);
export const hostMomentLabel = (moment: HostMoment) => say(HOST_MOMENT_LABELS[moment]);
export const verdictLabel = (verdict: Verdict) => say(VERDICT_LABELS[verdict]);

/** The verdict in words: `tight` leaves room at the likely figure; above what there is the run may not fit. */
export function outcomeLabel({
  verdict,
  peak,
  capacityBytes,
  foundBatch,
}: Pick<Estimate, 'verdict' | 'peak' | 'capacityBytes' | 'foundBatch'>) {
  return verdictAt(verdict, peak.processBytes, capacityBytes, foundBatch);
}

/** The micro batch that a framework finds, and where it starts: the figures are of it. */
export const foundBatchLabel = ({ micro, from }: FoundBatch) =>
  say('micro batch {0}, starts at {1}', String(micro), String(from));

/**
 * The same of figures: bytes of the process at the peak, and of the GPU, where they are known, the micro batch that was found, and the tokens
 * of a sample at which a run is too large where shorter ones fit.
 */
export function verdictAt(
  verdict: Verdict,
  processBytes?: number,
  capacityBytes?: number,
  foundBatch?: FoundBatch,
  atTokens?: number,
): string {
  const known = processBytes !== undefined && capacityBytes !== undefined;
  const mayNot = known && mayNotFit(verdict, processBytes, capacityBytes);
  const isOfLength = verdict === 'exceeds' && atTokens !== undefined;
  const outright = isOfLength ? say('does not fit at {0} tokens', atTokens) : verdictLabel(verdict);
  const words = mayNot ? say('may not fit') : outright;
  return foundBatch ? `${words} (${foundBatchLabel(foundBatch)})` : words;
}

/** Tokens of a sample that the verdict is of, where shorter ones fit: only the data shows how long they are. */
export const tokensOfVerdict = (answers: readonly { readonly atTokens?: number }[] = []) =>
  answers.find(({ atTokens }) => atTokens !== undefined)?.atTokens;

/** Whether a run that may fit needs more than there is at the likely figure, which is the most where the data decides. Bytes of one GPU. */
export function mayNotFit(verdict: Verdict, processBytes: number, capacityBytes: number): boolean {
  return verdict === 'tight' && processBytes > capacityBytes;
}

/** `model`, `model and GPU`, `model, GPU and sequence length`; each once. */
export function joinWords(words: readonly string[]): string {
  const unique = [...new Set(words)];
  const last = unique.pop() ?? '';
  return unique.length === 0 ? last : say('{0} and {1}', unique.join(', '), last);
}

/** `meta-llama/Llama-3.1-8B` and `/models/Llama-3.1-8B/config.json` are both `Llama-3.1-8B` in short texts. */
export function shortModelName(id: string): string {
  const segments = id.replace(/[\\/]config\.json$/, '').split(/[\\/]/);
  return segments.filter((segment) => segment !== '').at(-1) ?? id;
}

/** `H100` of `H100-SXM5-80GB`, where the memory stands beside it: form and memory are left out. */
export function shortCardName(name: string): string {
  return name.replace(/-(?:SXM|PCIe|NVL|\d+GB).*$/i, '');
}

/** How much of a model is trained: `all trained`, `41.9M trained`; undefined where nobody knows. */
export function trainedLabel({
  trainableParameters,
  totalParameters,
}: Pick<ModelFigures, 'totalParameters'> & Partial<ModelFigures>): string | undefined {
  if (trainableParameters === undefined) return undefined;
  return trainableParameters === totalParameters
    ? say('all trained')
    : say('{0} trained', formatCount(trainableParameters));
}
