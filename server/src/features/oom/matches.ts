import type { NamedRequest, RequestsOfRun } from '../../explanation/named-requests';
import { isSmall, mayBe, tensorBytesOf } from '../../measured/allocation';
import type { Quantity } from '../../measured/quantity';
import type { TorchEra } from '../../measured/torch-message';
import type { Clues } from './clues';

/** A tensor of the run that the failed request may have been for. */
export interface Match {
  readonly request: NamedRequest;
  /** Parts of the model that have it. */
  readonly places: readonly string[];
  /** How far the traceback speaks for it: 0 is nothing, below it the traceback speaks against it. */
  readonly support: number;
}

/** What a failed request was for. */
export interface Matched {
  /** Best first; of equal support in the order of a step. */
  readonly matches: readonly Match[];
  /** So many tensors are that small that the request names none. */
  readonly tooSmall: boolean;
  /** Of what has the nearest size, where nothing has that size: below and above. */
  readonly nearest: readonly NamedRequest[];
}

/** Named tensors of the size that a message states, distinguished by the traceback. */
export function matchesOf(
  { requests }: RequestsOfRun,
  requested: Quantity,
  era: TorchEra | undefined,
  clues: Clues,
): Matched {
  if (era !== undefined && isSmall(requested)) return { matches: [], tooSmall: true, nearest: [] };
  const found = new Map<string, Match>();
  for (const request of requests) {
    if (!mayBe(request.bytes, requested, era)) continue;
    const key = `${request.name} ${request.kind} ${request.moment}`;
    const known = found.get(key);
    const support = supportOf(request, clues);
    if (!known) found.set(key, { request, places: [request.place], support });
    else if (!known.places.includes(request.place))
      found.set(key, {
        ...known,
        places: [...known.places, request.place],
        support: Math.max(known.support, support),
      });
  }
  const matches = [...found.values()].sort((a, b) => b.support - a.support);
  return { matches, tooSmall: false, nearest: matches.length > 0 ? [] : nearestOf(requests, requested, era) };
}

/** The next smaller and the next larger tensor. */
function nearestOf(
  requests: readonly NamedRequest[],
  requested: Quantity,
  era: TorchEra | undefined,
): NamedRequest[] {
  const [least, most] = tensorBytesOf(requested, era);
  let below: NamedRequest | undefined;
  let above: NamedRequest | undefined;
  for (const request of requests) {
    if (request.bytes < least && request.bytes > (below?.bytes ?? 0)) below = request;
    if (request.bytes > most && request.bytes < (above?.bytes ?? Number.POSITIVE_INFINITY)) above = request;
  }
  return [below, above].flatMap((one) => one ?? []);
}

const plain = (text: string) => text.toLowerCase().replace(/[^a-z0-9]/g, '');

/** Words of code that stand for operators of other names on the tape. */
const SAME: readonly (readonly [RegExp, RegExp])[] = [
  [/logits|lm_head|float\(|loss|cross_entropy|log_softmax/, /head|logits|loss/],
  [
    /attn|attention|softmax|matmul|baddbmm|q_proj|k_proj|v_proj|o_proj|qkv|rotary/,
    /attn|attention|softmax|scores/,
  ],
  [/mlp|gate_proj|up_proj|down_proj|act_fn|silu|swiglu|gelu/, /mlp|ffn|feed/],
  [/norm/, /norm/],
  [/embed|wte|wpe/, /embed|wte|wpe/],
  [/expert|router/, /expert|router|moe/],
];

/** How far a traceback speaks for a tensor. */
export function supportOf(request: NamedRequest, { moment, words, recomputes }: Clues): number {
  let support = 0;
  if (moment !== undefined) support += fits(request, moment, recomputes) ? 2 : -2;
  const code = plain(request.code);
  // `self_attn.rotary` is inside attention, and is not what a line about attention makes.
  const own = request.code.slice(request.code.lastIndexOf('.') + 1);
  const isHead = request.overVocabulary === true;
  words.forEach((word, depth) => {
    const weight = 1 / (1 + depth);
    if (code !== '' && code.includes(plain(word))) {
      support += (plain(own).includes(plain(word)) ? 2 : 1) * weight;
      return;
    }
    const meanings = SAME.filter(([reported]) => reported.test(word)).map(([, meant]) => meant);
    if (meanings.some((meant) => meant.test(own) || (isHead && meant.test('logits')))) support += weight;
    else if (meanings.some((meant) => meant.test(request.code))) support += weight / 2;
  });
  return support;
}

function fits({ moment, kind }: NamedRequest, reported: string, recomputes: boolean): boolean {
  if (reported === moment) return true;
  // The loss is the end of forward, to whoever reads a traceback.
  if (reported === 'forward' || reported === 'loss')
    return moment === 'forward' || moment === 'loss' || (kind === 'buffer' && moment !== 'optimizer-step');
  if (reported === 'backward') return moment === 'gradient-reduction' || (recomputes && moment === 'forward');
  if (reported === 'saving') return kind === 'weight' || kind === 'buffer';
  if (reported === 'evaluation') return moment === 'forward' || moment === 'loss';
  return reported === 'initialization' && kind === 'state';
}
