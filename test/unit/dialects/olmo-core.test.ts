import assert from 'node:assert/strict';
import { loadPython } from '../../../server/src/config/python/grammar';
import type { ReadContext } from '../../../server/src/dialects/dialect';
import { coreFactory, coreModel } from '../../../server/src/dialects/olmo-core/olmo-core-models';
import { modelFromConfig } from '../../../server/src/model/catalog';
import { smallWorkspace } from '../workspace/small-workspace';
import { assertStates, read } from './reading';

const python = (text: string, known: ReadContext['known'] = {}) =>
  read('python', 'file:///train.py', text, known);

/** `TransformerConfig.NAME(vocab_size=100352).num_params` of OLMo-core fa6c5014. */
const PARAMETERS: Readonly<Record<string, number>> = {
  gemma3_12B: 11_152_362_240,
  gemma3_1B: 2_532_961_152,
  gemma3_27B: 27_958_623_840,
  gemma3_4B: 3_745_088_640,
  llama2_13B: 13_715_788_800,
  llama2_1B: 1_335_961_600,
  llama2_26B: 26_403_968_000,
  llama2_271M: 411_075_584,
  llama2_70B: 70_096_527_360,
  llama2_7B: 7_298_355_200,
  llama3_1B: 1_384_187_904,
  llama3_405B: 404_939_030_528,
  llama3_70B: 70_130_754_180,
  llama3_8B: 7_801_671_680,
  olmo2_100M: 153_117_184,
  olmo2_13B: 13_716_198_400,
  olmo2_14M: 26_740_864,
  olmo2_190M: 267_424_512,
  olmo2_1B: 1_619_150_848,
  olmo2_1B_v2: 1_484_916_736,
  olmo2_1M: 2_448_620,
  olmo2_30M: 54_792_448,
  olmo2_32B: 32_234_279_936,
  olmo2_370M: 474_022_912,
  olmo2_3B: 3_503_508_736,
  olmo2_600M: 732_255_552,
  olmo2_60M: 95_957_376,
  olmo2_760M: 912_360_960,
  olmo2_7B: 7_298_617_344,
  olmo3_100M: 153_117_184,
  olmo3_13B: 13_716_198_400,
  olmo3_14M: 26_740_864,
  olmo3_190M: 267_424_512,
  olmo3_1B: 1_484_916_736,
  olmo3_1M: 2_448_620,
  olmo3_30M: 54_792_448,
  olmo3_32B: 32_234_279_936,
  olmo3_370M: 474_022_912,
  olmo3_3B: 3_503_508_736,
  olmo3_600M: 676_414_720,
  olmo3_60M: 95_957_376,
  olmo3_760M: 912_360_960,
  olmo3_7B: 7_298_617_344,
  qwen3_0_6B: 543_227_904,
  qwen3_14B: 16_882_582_528,
  qwen3_1_7B: 1_614_930_944,
  qwen3_32B: 30_220_637_184,
  qwen3_4B: 3_890_413_056,
  qwen3_8B: 7_768_159_232,
};

const IMPORTS = `from olmo_core.config import DType
from olmo_core.data import NumpyDataLoaderConfig, NumpyFSLDatasetConfig, TokenizerConfig
from olmo_core.distributed.parallel import DataParallelType
from olmo_core.nn.transformer import TransformerConfig
from olmo_core.optim import AdamWConfig, OptimGroupOverride, SkipStepAdamWConfig
from olmo_core.script_utils import ExperimentConfig, main
from olmo_core.train import TrainerConfig
from olmo_core.train.train_module import (
    TransformerActivationCheckpointingConfig, TransformerActivationCheckpointingMode, TransformerDataParallelConfig,
    TransformerDataParallelWrappingStrategy, TransformerExpertParallelConfig, TransformerTrainModuleConfig,
)
`;

interface Parts {
  readonly model?: string;
  readonly more?: string;
  readonly optim?: string;
  readonly split?: string;
  readonly later?: string;
}

/** A script that OLMo-core's own `main` starts. */
const script = ({
  model = 'olmo2_1B_v2(vocab_size=tokens.padded_vocab_size())',
  more = '',
  optim = 'SkipStepAdamWConfig(lr=1e-4, group_overrides=[OptimGroupOverride(params=["embeddings.weight"], opts=dict(weight_decay=0.0))])',
  split = 'name=DataParallelType.fsdp, param_dtype=DType.bfloat16, wrapping_strategy=TransformerDataParallelWrappingStrategy.blocks',
  later = '',
}: Parts = {}) => `${IMPORTS}
def build(opts, overrides):
    length = opts.sequence_length or 2048
    tokens = TokenizerConfig.dolma2()
    model = TransformerConfig.${model}
    ${later}
    data = NumpyFSLDatasetConfig(paths=["a.npy"], sequence_length=length, tokenizer=tokens)
    module = TransformerTrainModuleConfig(
        rank_microbatch_size=4 * length,
        max_sequence_length=length,
        optim=${optim},
        dp_config=TransformerDataParallelConfig(${split}),
        z_loss_multiplier=1e-5,
        ${more}
    )
    return ExperimentConfig(
        model=model, dataset=data, data_loader=NumpyDataLoaderConfig(global_batch_size=64 * length, seed=1),
        train_module=module, trainer=TrainerConfig(save_folder=opts.save_folder),
    ).merge(overrides)

if __name__ == "__main__":
    main(build)
`;

/** A script of its developers: parts of a run are built by functions that are handed over. */
const internal = `from functools import partial
from olmo_core.internal.experiment import CommonComponents, build_config, main
from olmo_core.nn.transformer import TransformerConfig
from olmo_core.optim import AdamWConfig
from olmo_core.train import TrainerConfig
from olmo_core.train.train_module import TransformerTrainModuleConfig

def model(common: CommonComponents):
    return TransformerConfig.llama3_8B(common.tokenizer.padded_vocab_size())

def module(common: CommonComponents):
    size = common.max_sequence_length
    if all("B200" in cluster for cluster in common.launch.clusters):
        size *= 2
    return TransformerTrainModuleConfig(
        rank_microbatch_size=size, max_sequence_length=common.max_sequence_length, optim=AdamWConfig(fused=True), compile_model=True,
    )

def trainer(common: CommonComponents):
    return TrainerConfig(save_folder=common.save_folder)

if __name__ == "__main__":
    main(config_builder=partial(
        build_config, global_batch_size=512 * 8192, max_sequence_length=8192, num_nodes=4,
        model_config_builder=model, train_module_config_builder=module, trainer_config_builder=trainer,
    ))
`;

const left = ({ unread = [] }: ReturnType<typeof python>) =>
  unread.map(({ text, kind }) => `${kind} ${text}`);

describe('models of OLMo-core', () => {
  for (const [name, count] of Object.entries(PARAMETERS))
    it(`${name} has as many parameters as the framework counts`, () => {
      const given = coreFactory(name);
      assert.ok(given);
      const model = modelFromConfig(coreModel({ ...given, vocab_size: 100_352 }), name, 'inline');
      assert.ok(!('error' in model), name);
      assert.equal(model.parameters.total, count);
    });

  it('that are not played are made of no factory', () => {
    for (const name of ['smallmoe', 'olmoe_1B_7B', 'ngpt_271M', 'qwen3_5_4B', 'olmo3_1B_v2', 'constructor'])
      assert.equal(coreFactory(name), undefined, name);
  });
});

describe("scripts of OLMo-core's", () => {
  before(loadPython);

  it('are read through the function that its main is given', () => {
    const reading = python(script(), { 'hardware.gpus': 8 });
    assertStates(reading, {
      'model.code': 'olmo-core default',
      'batch.sequence': '2048 file',
      'batch.micro': '4 file',
      'batch.accumulation': '2 file',
      'parallel.data': 'fsdp2 file',
      'fsdp.separateEnds': 'false file',
      'fsdp.reshardsEnds': 'true default',
      'precision.weights': 'fp32 default',
      'precision.compute': 'bf16 file',
      'precision.reduce': 'fp32 file',
      'optimizer.name': 'skip-step-adamw file',
      'optimizer.implementation': 'foreach inferred',
      'optimizer.embeddingsApart': 'true file',
      'loss.zLoss': 'true file',
      'loss.implementation': 'full default',
      'activations.checkpointing': 'none default',
      'attention.implementation': 'sdpa inferred',
    });
    const config = reading.facts.find(({ field }) => field === 'model.config')?.value;
    assert.equal((config as Record<string, unknown>).vocab_size, 100_352);
    assert.deepEqual(left(reading), []);
  });

  it('of its developers are read through the functions that build the parts of a run', () => {
    const reading = python(internal);
    assertStates(reading, {
      'batch.sequence': '8192 inferred',
      'batch.micro': undefined,
      'parallel.data': 'none default',
      'optimizer.implementation': 'fused inferred',
      'kernels.compile': 'true file',
      'loss.implementation': 'compiled default',
      'hardware.gpus': '32 inferred',
      'hardware.nodes': '4 inferred',
    });
    // The cluster decides, and which it is the text does not state.
    assert.deepEqual(left(reading), ['value train_module.rank_microbatch_size']);
  });

  it('are read with what the command that starts them gives over their config', async () => {
    const run = 'torchrun --nproc-per-node=4 train.py --save-folder=out --sequence-length=1024';
    const over = '--train_module.rank_microbatch_size=8192 --train_module.optim.lr=1e-3 --model.init_seed=3';
    const { analyze } = smallWorkspace({
      'train.py': script(),
      'run.sh': `#!/bin/bash\n${run} ${over}\n`,
      'other.sh': `#!/bin/bash\n${run} --model.block.name=default\n`,
    });
    const { values } = (await analyze('run.sh')).resolved;
    assert.equal(values['batch.sequence'], 1024);
    assert.equal(values['batch.micro'], 8);
    assert.equal(values['batch.accumulation'], 2);
    assert.equal(values['hardware.gpus'], 4);
    const other = await analyze('other.sh');
    assert.ok(other.unread?.some(({ text }) => text === 'model.block.name'));
  });

  it('state no model where one is not played, and leave a word', () => {
    const reading = python(script({ model: 'smallmoe(vocab_size=tokens.padded_vocab_size())' }));
    assert.ok(!reading.facts.some(({ field }) => /^model\.(?:config|id)$/.test(field)));
    assert.deepEqual(left(reading), ['value TransformerConfig.smallmoe']);
    const changed = python(script({ later: 'model.block.feed_forward.hidden_size = 512' }));
    assert.ok(!changed.facts.some(({ field }) => field === 'model.config'));
    assert.equal(left(changed).length, 1);
  });

  it('are read with arguments over those of a factory', () => {
    const given =
      'olmo3_190M(vocab_size=tokens.padded_vocab_size(), n_layers=6, n_kv_heads=4, attn_backend=None)';
    const config = python(script({ model: given })).facts.find(
      ({ field }) => field === 'model.config',
    )?.value;
    const { n_layers, n_kv_heads, sliding_window_pattern, hidden_size } = config as Record<string, unknown>;
    assert.deepEqual([n_layers, n_kv_heads, hidden_size], [6, 4, 3072]);
    assert.deepEqual(sliding_window_pattern, [4096, 4096, 4096, -1]);
    const unknown = python(
      script({ model: 'olmo2_190M(vocab_size=tokens.padded_vocab_size(), n_layers=layers())' }),
    );
    assert.ok(!unknown.facts.some(({ field }) => field === 'model.config'));
  });

  it('state which layers are computed again', () => {
    const mode = (words: string) =>
      python(
        script({
          more: `ac_config=TransformerActivationCheckpointingConfig(mode=TransformerActivationCheckpointingMode.${words}),`,
        }),
      );
    assertStates(mode('full'), {
      'activations.checkpointing': 'full file',
      'activations.reentrant': 'false default',
    });
    assertStates(mode('selected_blocks, block_interval=3'), {
      'activations.checkpointing': 'full file',
      'activations.period': '3 file',
    });
    assertStates(mode('selected_ops'), { 'activations.checkpointing': 'selective file' });
    assertStates(mode('selected_modules, modules=["blocks.*.feed_forward"]'), {
      'activations.modules': 'mlp file',
    });
    // What the compiler computes again saves of what it keeps without a budget.
    const budget = mode('budget, activation_memory_budget=0.3');
    assertStates(budget, {
      'activations.checkpointing': 'none file',
      'features.unmodelled': 'part-checkpoints file',
    });
    assert.deepEqual(left(budget), []);
    assertStates(mode('budget, activation_memory_budget=1.0'), {
      'activations.checkpointing': 'none file',
      'features.unmodelled': undefined,
    });
  });

  it('take what their cookbook makes of a train module', () => {
    const text = (more: string) => `${IMPORTS}from olmo_core.internal import cookbook
def build(opts, overrides):
    tokens = TokenizerConfig.dolma2()
    module: TransformerTrainModuleConfig = cookbook.configure_train_module(
        max_sequence_length=8192, rank_microbatch_size=2 * 8192, learning_rate=1e-4, scheduler=None, ${more}
    )
    return ExperimentConfig(
        model=TransformerConfig.olmo3_7B(vocab_size=tokens.padded_vocab_size()),
        dataset=NumpyFSLDatasetConfig(paths=["a.npy"], sequence_length=8192, tokenizer=tokens),
        data_loader=NumpyDataLoaderConfig(global_batch_size=64 * 8192, seed=1),
        train_module=module, trainer=TrainerConfig(save_folder="out"),
    )
main(build)
`;
    const known = { 'hardware.gpus': 32, 'hardware.nodes': 4 };
    const plain = python(text(''), known);
    assertStates(plain, {
      'batch.sequence': '8192 file',
      'batch.micro': '2 file',
      'parallel.data': 'fsdp2 file',
      'parallel.replicate': '4 inferred',
      'precision.compute': 'bf16 file',
      'precision.reduce': 'fp32 file',
      'precision.fp8': undefined,
      'optimizer.name': 'skip-step-adamw file',
      'optimizer.implementation': 'foreach inferred',
      'optimizer.embeddingsApart': 'true file',
      'loss.implementation': 'compiled default',
      'loss.zLoss': 'true file',
      'activations.checkpointing': 'none default',
      'features.unmodelled': undefined,
    });
    assert.deepEqual(left(plain), []);
    const more = 'activation_memory_budget=0.5, dp_shard_degree=16, cp_degree=8, float8_enabled=True';
    const other = python(text(more), known);
    assertStates(other, { 'precision.fp8': 'torchao file', 'activations.checkpointing': 'none file' });
    assert.deepEqual(left(other), ['value cp_config', 'value float8_config', 'value shard_degree']);
  });

  it('have no verdict where a sample or a layer is split, whoever states how far', async () => {
    for (const part of ['cp', 'tp', 'ep', 'pp']) {
      const split = `${part}_config=Transformer${part.toUpperCase()}Config(degree=2),`;
      const { analyze } = smallWorkspace({
        'train.py': script({ more: split }),
        'oomlint.yaml': 'gpu: H100-SXM5-80GB\ngpus: 8\nnodes: 1\ncp: 2\ntp: 2\npp: 2\nep: 2\n',
      });
      const { estimate } = await analyze('train.py');
      assert.ok(estimate === undefined || estimate.verdict === 'unknown', part);
    }
  });

  it('state replicas of shards, one per node unless they say how many', () => {
    const words = (more: string) =>
      python(script({ split: `name=DataParallelType.hsdp, param_dtype=DType.bfloat16${more}` }), {
        'hardware.gpus': 32,
        'hardware.nodes': 4,
      });
    assertStates(words(''), { 'fsdp.strategy': 'hybrid default', 'parallel.replicate': '4 inferred' });
    assertStates(words(', shard_degree=16'), { 'parallel.replicate': '2 inferred' });
    assertStates(words(', num_replicas=1'), {
      'fsdp.strategy': 'full default',
      'parallel.replicate': undefined,
    });
  });

  it('say nothing for certain of what is not modelled', () => {
    const experts = python(script({ more: 'ep_config=TransformerExpertParallelConfig(degree=-1),' }));
    assert.ok(!experts.facts.some(({ field }) => field === 'parallel.expert'));
    assert.deepEqual(experts.problems, []);
    assert.deepEqual(left(experts), ['value ep_config']);
    const fine = python(
      script({
        split:
          'name=DataParallelType.fsdp, wrapping_strategy=TransformerDataParallelWrappingStrategy.fine_grained',
      }),
    );
    assert.deepEqual(left(fine), ['value wrapping_strategy: fine_grained']);
    const optimizer = python(script({ optim: 'MuonConfig(lr=1e-3)' }));
    assert.ok(!optimizer.facts.some(({ field }) => field === 'optimizer.name'));
    assert.equal(left(optimizer).length, 1);
    // 16 micro batches of all samples on six GPUs are no whole number of steps.
    assert.deepEqual(left(python(script(), { 'hardware.gpus': 6 })), ['value global_batch_size']);
  });
});
