import { knownNode } from '../../config/python/node-of-value';
import type { PyCall } from '../../config/python/value';
import { flagOf, integerOf, textOf } from '../../config/scalar';
import { argumentOf, type Calls, leaveArgument } from './call-block';

const LENGTHS = ['max_length', 'max_new_tokens'] as const;

/**
 * How many tokens an evaluation generates by what the calls themselves pass: `evaluate(max_length=...)` goes before the arguments of the
 * trainer, and `generation_config` takes the place of the model's own (transformers 5.23, `trainer_seq2seq.py`).
 */
export function readGeneratedLength(calls: Calls, trainer: PyCall, config: PyCall | undefined): void {
  const generates = config && argumentOf(config, 'predict_with_generate');
  if (!config || !generates || flagOf(knownNode(generates)) !== true) return;
  if (!readPassed(calls, trainer, config)) readMade(calls, config);
}

/** Lengths that every evaluation is passed, none of which is one while training; true where they are stated. */
function readPassed({ program, draft }: Calls, trainer: PyCall, config: PyCall): boolean {
  const strategy = argumentOf(config, 'eval_strategy') ?? argumentOf(config, 'evaluation_strategy');
  if (strategy && !/(^|\.)no$/i.test(textOf(knownNode(strategy)) ?? '')) return false;
  const asked = program.calls.filter(
    ({ callee, of }) => of?.id === trainer.id && /^(evaluate|predict)$/.test(callee),
  );
  const lengths = asked.map((call) => lengthOf(call));
  const most = [...lengths].sort((a, b) => (b?.count ?? 0) - (a?.count ?? 0))[0];
  if (!most || lengths.includes(undefined)) return false;
  draft.state('evaluation.generatedTokens', most.count, most.value, most.key);
  return true;
}

/** `GenerationConfig(max_length=8, num_beams=4)`; what is not known of it leaves the length open. */
function readMade(calls: Calls, config: PyCall): void {
  const { program, draft } = calls;
  if (argumentOf(config, 'generation_max_length')) return;
  const given = argumentOf(config, 'generation_config');
  if (!given || (given.kind === 'scalar' && given.value === null)) return;
  const made = given.kind === 'object' ? program.calls[given.id] : undefined;
  if (!made || !/(^|\.)GenerationConfig$/.test(made.callee)) {
    leaveArgument(draft, 'generation_config', given, ['evaluation.generatedTokens', 'evaluation.beams']);
    return;
  }
  const length = lengthOf(made);
  if (length) draft.state('evaluation.generatedTokens', length.count, length.value, length.key);
  const beams = argumentOf(made, 'num_beams');
  const count = beams && integerOf(knownNode(beams));
  if (beams && count !== undefined && !argumentOf(config, 'generation_num_beams'))
    draft.state('evaluation.beams', count, beams, 'num_beams');
}

function lengthOf(call: PyCall) {
  const found = LENGTHS.flatMap((key) => {
    const value = argumentOf(call, key);
    const count = value && integerOf(knownNode(value));
    return value && count !== undefined ? [{ key, value, count }] : [];
  });
  return found.at(-1);
}
