import { isNone, knownNode, stringOf } from '../../config/python/node-of-value';
import type { PyCall, PyValue } from '../../config/python/value';
import { flagOf, integerOf } from '../../config/scalar';
import type { FieldPath } from '../../run/fields';
import { argumentsOf, type Calls, leaveArgument } from '../python/call-block';

/** Overrides that shape nothing of what a GPU holds, and what trains how long and how fast. */
const HARMLESS =
  /^(?:trainer|launch|dataset|data_loader|data)\.|^train_module\.(?:optim\.(?:lr|weight_decay|betas|eps|step_increment_bugfix|rolling_interval_length|sigma_factor|fixed_fields)|scheduler|max_grad_norm|label_ignore_index|state_dict_\w+|load_key_mapping)(?:\.|$)|^(?:run_name|load_path|load_trainer_state|init_seed|backend)$/;

/** The parts of an `ExperimentConfig` by their places, `train_module.dp_config.name`: as a command overrides them, else as the text sets them. */
export class CoreSettings {
  readonly #overrides: ReadonlyMap<string, PyValue>;
  readonly #read = new Set<string>();

  constructor(
    private readonly calls: Calls,
    private readonly experiment: PyCall,
  ) {
    const flags = calls.program.command?.flags ?? [];
    this.#overrides = new Map(
      flags.flatMap(({ key, value }): [string, PyValue][] => {
        if (!key.includes('.')) return [];
        const isNull = value.kind === 'scalar' && /^(?:null|none|~)$/i.test(String(value.value));
        return [[key, isNull ? { ...value, value: null } : value]];
      }),
    );
  }

  /** What stands at a place; undefined where nothing does. */
  value(path: string): PyValue | undefined {
    this.#read.add(path);
    const override = this.#overrides.get(path);
    if (override) return override;
    const { program } = this.calls;
    const set = program.assignments.findLast(
      ({ of, within, attribute }) =>
        of === this.experiment.id && (within ? `${within}.${attribute}` : attribute) === path,
    );
    if (set) return set.conditions.length > 0 ? { kind: 'unknown', range: set.range } : set.value;
    const parent = path.slice(0, Math.max(0, path.lastIndexOf('.')));
    const made = parent === '' ? this.experiment : this.made(parent);
    const key = path.slice(path.lastIndexOf('.') + 1);
    return made && argumentsOf(program, made).find((argument) => argument.key === key)?.value;
  }

  /** The call that made what stands at a place. */
  made(path: string): PyCall | undefined {
    const value = this.value(path);
    return value && this.madeBy(value);
  }

  /** The call that made a value; of one that is changed without what is read of it, the first. */
  madeBy(value: PyValue): PyCall | undefined {
    const call =
      value.kind === 'object' && value.item === undefined ? this.calls.program.calls[value.id] : undefined;
    if (call?.of && /^(?:copy|with_callbacks?|with_rope_scaling|with_recommended_evals)$/.test(call.callee))
      return this.madeBy(call.of);
    return call;
  }

  /** Whether something stands there that is not `None`. */
  has(path: string): boolean {
    const value = this.value(path);
    return value !== undefined && !isNone(value);
  }

  /** A whole number; what is not known is left with the fields that it decides: clusters that a script asks for are often a condition. */
  integer(path: string, fields: readonly FieldPath[]): number | undefined {
    const value = this.value(path);
    if (value === undefined || isNone(value)) return undefined;
    const number = value.kind === 'either' ? undefined : integerOf(knownNode(value));
    if (number === undefined) leaveArgument(this.calls.draft, path, value, fields);
    return number;
  }

  /** A switch, off where nothing stands there; undefined, and left, where it is not known. */
  flag(path: string, fields: readonly FieldPath[], byDefault = false): boolean | undefined {
    const value = this.value(path);
    if (value === undefined || isNone(value)) return byDefault;
    const known = flagOf(knownNode(value));
    if (known === undefined) leaveArgument(this.calls.draft, path, value, fields);
    return known;
  }

  /** What is set on a part of what stands at a place, after it was made. */
  setOn(path: string, part: string, name: string): PyValue | undefined {
    const override = this.value(`${path}.${part}.${name}`);
    const made = this.made(path);
    return (
      override ??
      this.calls.program.assignments.findLast(
        ({ of, within, attribute }) => of === made?.id && within === part && attribute === name,
      )?.value
    );
  }

  /** A word of an enumeration: its name, or itself. */
  word(path: string): string | undefined {
    const value = this.value(path);
    return value && enumWord(value);
  }

  /** Overrides of the command that nothing here reads, and that may shape memory. */
  leaveUnread(): void {
    for (const [path, { range }] of this.#overrides) {
      if (this.#read.has(path) || HARMLESS.test(path)) continue;
      this.calls.draft.leaveUncounted({ range }, path, ['parallel.data']);
    }
    for (const { of, within, attribute, range } of this.calls.program.assignments) {
      const path = within ? `${within}.${attribute}` : attribute;
      if (of !== this.experiment.id || this.#read.has(path) || HARMLESS.test(path)) continue;
      this.calls.draft.leaveUncounted({ range }, path, ['parallel.data']);
    }
  }
}

/** A word of an enumeration: its name, or itself. */
export function enumWord(value: PyValue): string | undefined {
  if (value.kind === 'name') return value.name.split('.').at(-1);
  return stringOf(value);
}
