import { interpolated } from '../../config/interpolation';
import { isNone, nodeOf } from '../../config/python/node-of-value';
import type { PyArgument, PyCall, PyProgram, PyValue } from '../../config/python/value';
import type { ReadContext } from '../dialect';
import { rejectMisfits } from '../key-check';
import { readLitgpt } from '../litgpt/litgpt';
import type { LitgptCommand } from '../litgpt/litgpt-command';
import { LITGPT_TABLE } from '../litgpt/litgpt-keys';
import { olmoCoreRun, readOlmoCore, trainModuleOf } from '../olmo-core/olmo-core';
import { Section } from '../section';
import { readTorchtune } from '../torchtune/torchtune';
import { TORCHTUNE_TABLE } from '../torchtune/torchtune-keys';
import { argumentOf, argumentsOf, blockOfArguments, type Calls, leaveValue } from './call-block';

/** A training by a function of litgpt, by a recipe of torchtune, or by OLMo-core, with what a config file states otherwise. */
interface CalledRecipe {
  readonly call: PyCall;
  readonly read: (calls: Calls, context: ReadContext) => void;
}

/** `setup` of a command's module, or as the package names it itself (`litgpt/__main__.py`). */
const SETUP = /^litgpt\.(?:(pretrain)|finetune[._](full|lora|adapter|adapter_v2))(?:\.setup)$/;

/** The first such training of a program; undefined where there is none whose config is seen. */
export function calledRecipe(program: PyProgram): CalledRecipe | undefined {
  const core = olmoCoreRun(program);
  if (core)
    return {
      call: trainModuleOf(program, core),
      read: (calls, context) => readOlmoCore(calls, core, context),
    };
  for (const call of program.calls) {
    const [, pretrain, finetune] = (call.of === undefined && SETUP.exec(call.callee)) || [];
    const command = (pretrain ?? finetune) as LitgptCommand | undefined;
    if (command) return { call, read: (calls, context) => readSetup(calls, call, command, context) };
    const config =
      call.of === undefined && /Recipe\w*$/.test(call.callee) ? argumentOf(call, 'cfg', 0) : undefined;
    const trained = program.calls.some(({ callee, of }) => callee === 'train' && of?.id === call.id);
    if (trained && config?.kind === 'dict')
      return { call, read: (calls, context) => readRecipe(calls, call, config, context) };
  }
  return undefined;
}

/** Its arguments are the keys of litgpt's YAML; those that a dataclass holds there (`TrainArgs`) are blocks. */
function readSetup(calls: Calls, call: PyCall, command: LitgptCommand, context: ReadContext): void {
  const { program, draft } = calls;
  const [first] = call.positional;
  const key = command === 'pretrain' ? 'model_name' : 'checkpoint_dir';
  const leading: PyArgument[] = first
    ? [{ key, keyRange: first.range, value: first, used: first.range, text: key }]
    : [];
  const given = [...leading, ...argumentsOf(program, call)].map((argument) => ({
    ...argument,
    value: blockOf(program, argument.value),
  }));
  const train = given.find((argument) => argument.key === 'train');
  if (train && train.value.kind !== 'dict' && !isNone(train.value))
    leaveValue(draft, train, ['batch.micro', 'batch.sequence', 'batch.accumulation']);
  const root = blockOfArguments(calls, given, call.argumentsRange, LITGPT_TABLE);
  readLitgpt(new Section(root, draft, '', LITGPT_TABLE), command, draft, context);
  rejectMisfits(root, LITGPT_TABLE, draft);
}

/** What a class of litgpt's arguments holds, as a dictionary. */
function blockOf({ calls }: PyProgram, value: PyValue): PyValue {
  const made = value.kind === 'object' && value.item === undefined ? calls[value.id] : undefined;
  if (!made || !/(?:^|\.)(?:Train|Eval|Log)Args$/.test(made.callee)) return value;
  return {
    kind: 'dict',
    entries: made.named.filter(({ value: inner }) => !isNone(inner)),
    range: made.argumentsRange,
    ...(made.open ? { open: true } : {}),
  };
}

/** A recipe and the config that it is made with (`OmegaConf.load("recipe.yaml")`): which recipe it is its class tells. */
function readRecipe({ draft }: Calls, call: PyCall, config: PyValue, context: ReadContext): void {
  const node = nodeOf(config);
  const root = node.kind === 'map' ? interpolated(node) : undefined;
  if (root?.kind !== 'map') return;
  const single = /SingleDevice/.test(call.callee) ? 'single_device' : 'distributed';
  readTorchtune(root, `${single}.yaml`, draft, context);
  rejectMisfits(root, TORCHTUNE_TABLE, draft);
}
