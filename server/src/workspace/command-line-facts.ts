import { matchAccelerator, suggestAccelerators, tooManyCounted } from '../hardware/catalog';
import type { FieldPath } from '../run/fields';
import { modelField } from '../run/model-field';
import { type Fact, fact, type Origin } from '../run/origin';
import { findField, parseFact, unknownFieldMessage } from '../run/parse-field';
import { suggested } from '../wording/closest';
import { say } from '../wording/say';
import { UsageError } from './usage-error';

/** What is reported of a run beside its files. */
export interface RunOptions {
  readonly gpu?: string;
  readonly gpus?: string;
  readonly nodes?: string;
  readonly model?: string;
  readonly set?: readonly string[];
}

function origin(option: string): Origin {
  return { kind: 'command-line', note: option };
}

function stated(field: FieldPath, raw: string, option: string): Fact {
  const parsed = parseFact(field, raw, origin(option));
  if ('error' in parsed) {
    throw new UsageError(`${option}: ${parsed.error}.`);
  }
  return parsed.value;
}

/** What the command line states about a run; throws `UsageError` on what is not understood. */
export function commandLineFacts(options: RunOptions): Fact[] {
  const facts: Fact[] = [];
  if (options.gpu !== undefined) {
    const match = matchAccelerator(options.gpu);
    if (!match) {
      const many = tooManyCounted(options.gpu);
      if (many) throw new UsageError(`--gpu: ${many}`);
      const unknown = say('no GPU or cloud machine called "{0}" is known.', options.gpu);
      throw new UsageError(`--gpu: ${unknown}${suggested(suggestAccelerators(options.gpu))}`);
    }
    facts.push(fact('hardware.gpu', match.accelerator.name, origin('--gpu')));
    if (match.instance) {
      facts.push(fact('hardware.instance', match.instance.instance, origin('--gpu')));
    }
    if (match.gpus !== undefined && options.gpus === undefined) {
      const nodes =
        options.nodes === undefined ? 1 : stated('hardware.nodes', options.nodes, '--nodes').value;
      facts.push(fact('hardware.gpus', match.gpus * Number(nodes), origin(`--gpu ${options.gpu}`)));
    }
  }
  if (options.gpus !== undefined) {
    facts.push(stated('hardware.gpus', options.gpus, '--gpus'));
  }
  if (options.nodes !== undefined) {
    facts.push(stated('hardware.nodes', options.nodes, '--nodes'));
  }
  if (options.model !== undefined) {
    facts.push(stated(modelField(options.model), options.model, '--model'));
  }
  for (const assignment of options.set ?? []) {
    const equals = assignment.indexOf('=');
    const name = assignment.slice(0, equals).trim();
    if (equals < 1) {
      throw new UsageError(`--set: ${say('"{0}" is not FIELD=VALUE.', assignment)}`);
    }
    const field = findField(name);
    if (!field) {
      throw new UsageError(`--set: ${unknownFieldMessage(name)}`);
    }
    const raw = assignment.slice(equals + 1);
    facts.push(stated(field === 'model.id' ? modelField(raw) : field, raw, `--set ${name}`));
  }
  return facts;
}
