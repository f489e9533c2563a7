import type { MapNode } from '../../config/node';
import { integerOf, isBlank, textOf } from '../../config/scalar';
import { fileIn, OLMO } from '../../sources/repositories';
import { say } from '../../wording/say';
import type { ReadContext } from '../dialect';
import type { Draft } from '../draft';
import { scriptPolicy } from '../hf/training-arguments-rules';
import { checkKeys } from '../key-check';
import { forbid } from '../refusal';
import type { FoundKey, Section } from '../section';
import { checkWholeBatch } from '../whole-batch';
import { OLMO_TABLE } from './olmo-keys';
import { olmoShards } from './olmo-sharding';

const MODEL = fileIn(OLMO, 'olmo/model.py');
const SCRIPT = fileIn(OLMO, 'scripts/train.py');
// OmegaConf stops on a key that the class has not; many a trainer is a copy of OLMo with keys of its own.
const policy = scriptPolicy('OLMo', true, 'information');

/** What OLMo stops on. */
export function checkOlmo(root: MapNode, section: Section, context: ReadContext, draft: Draft): void {
  checkKeys(root, OLMO_TABLE, policy, draft);
  checkModel(section, draft);
  checkSharding(section, context, draft);
  checkWholeBatch(section, context, draft, fileIn(OLMO, 'olmo/data/iterable_dataset.py'));
}

function checkModel(section: Section, draft: Draft): void {
  const model = section.section('model');
  const on = (key: string) => model.flag(key) === true;
  const alibi = model.find('alibi');
  forbid(on('alibi') && (on('rope') || on('flash_attention')), alibi?.node, draft, {
    code: 'olmo-positions',
    message: say('`alibi` goes neither with `rope` nor with `flash_attention`.'),
    source: MODEL,
  });
  const rows = model.find('embedding_size');
  const [size, vocabulary] = [integerOf(rows?.node), model.integerOrDefault('vocab_size')];
  forbid(size !== undefined && size < vocabulary, rows?.node, draft, {
    code: 'olmo-embedding-rows',
    message: say(
      'An embedding of {0} rows has none for some of {1} tokens.',
      String(size),
      String(vocabulary),
    ),
    source: MODEL,
  });
  const documents = section.find('data.generate_doc_lengths');
  const masks = section.flag('data.generate_doc_lengths') === true && !on('flash_attention');
  forbid(masks, documents?.node, draft, {
    code: 'olmo-document-masks',
    message: say('`generate_doc_lengths` needs `flash_attention`.'),
    source: MODEL,
  });
  checkGroups(section, model, draft);
}

function checkGroups(section: Section, model: Section, draft: Draft): void {
  const group = model.integerOrDefault('block_group_size');
  const layers = model.integerOrDefault('n_layers');
  const refuse = (broken: boolean, at: FoundKey | undefined, message: string, source: string) =>
    forbid(broken, at?.node, draft, { code: 'olmo-block-groups', message, source });
  const uneven = say('{0} layers are no groups of {1}.', String(layers), String(group));
  refuse(group < 1 || layers % group !== 0, model.find('block_group_size'), uneven, MODEL);
  const wrapped = section.find('fsdp.wrapping_strategy');
  const byGroup = /^by_block_group/.test(textOf(wrapped?.node) ?? '');
  const needs = say('`by_block_group` needs a `block_group_size` above one.');
  refuse(byGroup && group <= 1, wrapped, needs, MODEL);
  const compiled = section.find('compile');
  const compiles = compiled !== undefined && !isBlank(compiled.node);
  refuse(compiles && group > 1, compiled, say('Layers in groups cannot be compiled.'), SCRIPT);
}

function checkSharding(section: Section, { known }: ReadContext, draft: Draft): void {
  const strategy = section.find('distributed_strategy');
  const word = section.textOrDefault('distributed_strategy');
  const device = section.find('model.init_device');
  forbid(word === 'ddp' && textOf(device?.node) !== 'cuda', (device ?? strategy)?.node, draft, {
    code: 'olmo-ddp',
    message: say('DDP needs `init_device: cuda`.'),
    source: SCRIPT,
  });
  forbid(word === 'ddp' && !section.has('ddp'), strategy?.node, draft, {
    code: 'olmo-ddp',
    message: say('DDP needs the block `ddp`.'),
    source: SCRIPT,
  });
  const looks = section.find('ddp.find_unused_params');
  const byBatch = word === 'ddp' && section.flag('ddp.find_unused_params') === true;
  forbid(byBatch && section.textOrDefault('ddp.grad_sync_mode') === 'batch', looks?.node, draft, {
    code: 'olmo-ddp',
    message: say('`find_unused_params` needs `grad_sync_mode: micro_batch`.'),
    source: SCRIPT,
  });
  const wrapped = section.find('fsdp.wrapping_strategy');
  const apart = /_and_size$/.test(textOf(wrapped?.node) ?? '');
  const tied = section.section('model').flagOrDefault('weight_tying');
  const shards = section.section('fsdp').textOrDefault('sharding_strategy');
  // What keeps weights whole between forward and backward has them for the head.
  const reshards = shards === 'FULL_SHARD' || shards === 'HYBRID_SHARD';
  // Over one GPU PyTorch shards nothing (`torch/distributed/fsdp/_init_utils.py`, `_init_core_state`).
  const sharded = (olmoShards(section, known) ?? 1) > 1;
  forbid(word === 'fsdp' && apart && tied && reshards && sharded, wrapped?.node, draft, {
    code: 'olmo-tied-unit',
    message: say('A tied embedding that is wrapped by itself is a shard when the head multiplies with it.'),
    source: MODEL,
  });
}
