import type { Model } from '../model/model';
import { promptSizes } from '../model/prompt-sizes';
import { addsVirtualTokens, prefixedWidths } from '../model/virtual-tokens';
import type { TrainingRun } from '../run/fields';
import { say } from '../wording/say';
import { traceRun } from './traced-run';

/** Types whose classes take no embedded tokens: `inputs_embeds` is no argument of theirs (transformers 5.23), or goes to a part that hears or sees. */
const TAKES_IDS = new Set(['clip', 'diffusion_gemma', 'siglip', 'speecht5', 'whisper']);
/** Types whose classes for sequence classification take none (`modeling_bart.py`, `modeling_t5.py`, "Passing input embeddings is currently not supported"). */
const CLASSIFIES_IDS = new Set(['bart', 'mbart', 'plbart', 't5', 'mt5', 'umt5']);
/** Types whose prefixes PEFT cuts to the width of each layer, or lays as their class wants them (0.21.2, `peft_model.py`, `get_prompt`). */
const FITS_PREFIX = /^(gemma|bloom|gpt_bigcode)/;

/**
 * Why virtual tokens do not come into a model, where they do not: PEFT joins them to embedded tokens, or passes them as a cache of keys and
 * values of every layer, and a class that takes neither stops, or trains nothing through its layers.
 */
export function promptGap(run: TrainingRun, model: Model): string | undefined {
  const kind = run['lora.kind'];
  if (run['method.kind'] !== 'lora' || !addsVirtualTokens(kind)) return undefined;
  const stages = traceRun(model, run);
  const learns = stages.at(-1)?.tape.exit.some(({ requiresGrad }) => requiresGrad) === true;
  const adapts = stages.some(({ tape }) => tape.weights.some(({ role }) => role === 'adapter'));
  const classifies = run['method.objective'] === 'classification' && CLASSIFIES_IDS.has(model.modelType);
  const closed = TAKES_IDS.has(model.modelType) || classifies;
  const joins = kind === 'prefix-tuning' ? takesPrefix(model, stages) : takesTokens(model, stages);
  if (learns && adapts && joins && !closed) return undefined;
  return kind === 'prefix-tuning'
    ? say(
        'Models of type {0} do not take the keys and values of a prefix as PEFT passes them.',
        model.modelType,
      )
    : say(
        'Models of type {0} do not take embedded tokens, which PEFT puts virtual ones before.',
        model.modelType,
      );
}

type Stages = ReturnType<typeof traceRun>;

/** The table of tokens is as wide as PEFT's virtual tokens (not ELECTRA's small ones). */
function takesTokens({ hiddenSize, vocabulary }: Model, stages: Stages): boolean {
  return stages.some(({ tape }) =>
    tape.weights.some(
      ({ role, shape }) =>
        role === 'embedding' && (shape[0] ?? 0) >= vocabulary && shape.at(-1) === hiddenSize,
    ),
  );
}

/** Every layer that PEFT has a prefix for takes it, in its own width. */
function takesPrefix(model: Model, stages: Stages): boolean {
  const { keyWidth, layers } = promptSizes(model);
  if (FITS_PREFIX.test(model.modelType)) return true;
  const widths = stages.map(({ tape, copies }) => ({ copies, own: prefixedWidths(tape) }));
  const taken = widths.reduce((sum, { copies, own }) => sum + copies * own.length, 0);
  return taken >= 2 * layers && widths.every(({ own }) => own.every((width) => width === keyWidth));
}
