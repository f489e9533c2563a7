import { strict as assert } from 'node:assert';
import {
  AXOLOTL_OPTIMIZERS,
  COMPOSER_OPTIMIZERS,
  classOptimizer,
  DEEPSPEED_OPTIMIZERS,
  MEGATRON_OPTIMIZERS,
  optimizerIn,
  optimizerStatements,
  TORCH_OPTIMIZERS,
  TRANSFORMERS_OPTIMIZERS,
  torchOptimizer,
  transformersOptimizer,
} from '../../../server/src/dialects/optimizer-names';
import { FIELDS, isFieldPath } from '../../../server/src/run/fields';
import { fieldError } from '../../../server/src/run/parse-field';

/** `OptimizerNames` of transformers 5.23 (`training_args.py`). */
const TRANSFORMERS_5 =
  `adamw_torch adamw_torch_fused adamw_torch_xla adamw_torch_npu_fused adafactor adamw_anyprecision
  adamw_torch_4bit adamw_torch_8bit ademamix sgd adagrad adamw_bnb_8bit adamw_8bit ademamix_8bit lion_8bit lion_32bit
  paged_adamw_32bit paged_adamw_8bit paged_ademamix_32bit paged_ademamix_8bit paged_lion_32bit paged_lion_8bit rmsprop
  rmsprop_bnb rmsprop_bnb_8bit rmsprop_bnb_32bit galore_adamw galore_adamw_8bit galore_adafactor galore_adamw_layerwise
  galore_adamw_8bit_layerwise galore_adafactor_layerwise lomo adalomo grokadamw schedule_free_radam schedule_free_adamw
  schedule_free_sgd apollo_adamw apollo_adamw_layerwise stable_adamw`.split(/\s+/);

/** Classes that `torch.optim` 2.13 exports, beside `Optimizer`. */
const TORCH_2_13 =
  `Adadelta Adafactor Adagrad Adam Adamax AdamW ASGD LBFGS Muon NAdam RAdam RMSprop Rprop SGD SparseAdam`.split(
    ' ',
  );

describe('optimizer names', () => {
  it('every name of transformers is known', () => {
    assert.equal(TRANSFORMERS_5.length, 41);
    assert.deepEqual(
      TRANSFORMERS_5.filter((name) => !transformersOptimizer(name)),
      [],
    );
    assert.ok(
      transformersOptimizer('adamw_hf') && transformersOptimizer('adamw_apex_fused'),
      'transformers 4',
    );
    assert.equal(transformersOptimizer('adam_w'), undefined);
  });

  it('every class of torch is known', () => {
    assert.deepEqual(Object.keys(TORCH_OPTIMIZERS).sort(), [...TORCH_2_13].sort());
  });

  it('what the tables say fits the vocabulary', () => {
    const tables = [
      TRANSFORMERS_OPTIMIZERS,
      AXOLOTL_OPTIMIZERS,
      TORCH_OPTIMIZERS,
      DEEPSPEED_OPTIMIZERS,
      MEGATRON_OPTIMIZERS,
      COMPOSER_OPTIMIZERS,
    ];
    for (const values of tables.flatMap((table) => Object.values(table))) {
      for (const { field, value } of optimizerStatements(values ?? {})) {
        assert.ok(isFieldPath(field) && field in FIELDS);
        assert.equal(fieldError(field, value), undefined, field);
      }
    }
  });

  it('options change what is kept', () => {
    assert.equal(torchOptimizer('SGD', { momentum: 0.9 })?.['optimizer.name'], 'sgd-momentum');
    assert.equal(
      transformersOptimizer('sgd', 'momentum=0.9,nesterov=True')?.['optimizer.name'],
      'sgd-momentum',
    );
    assert.equal(
      transformersOptimizer('rmsprop', 'centered=true, momentum=0.5')?.['optimizer.extraStates'],
      2,
    );
    assert.equal(torchOptimizer('AdamW', { amsgrad: true })?.['optimizer.extraStates'], 1);
    assert.equal(
      transformersOptimizer('galore_adamw', 'rank=64, update_proj_gap=100')?.['optimizer.rank'],
      64,
    );
    assert.equal(transformersOptimizer('galore_adamw_layerwise')?.['optimizer.inBackward'], true);
    assert.equal(torchOptimizer('AdamW', { fused: true })?.['optimizer.implementation'], 'fused');
    assert.equal(torchOptimizer('AdamW', { foreach: false })?.['optimizer.implementation'], 'for-loop');
    assert.equal(torchOptimizer('AdamW')?.['optimizer.implementation'], 'foreach');
    assert.equal(transformersOptimizer('adamw_torch_4bit')?.['optimizer.blockSize'], 256);
  });

  it('class paths of other packages', () => {
    const nameOf = (path: string) => classOptimizer(path)?.['optimizer.name'];
    assert.equal(nameOf('torch.optim.AdamW'), 'adamw');
    assert.equal(nameOf('bitsandbytes.optim.PagedAdamW8bit'), 'paged-adamw-8bit');
    assert.equal(nameOf('bitsandbytes.optim.PagedAdamW'), 'paged-adamw');
    assert.equal(nameOf('bitsandbytes.optim.AdamW'), 'adamw-32bit');
    assert.equal(nameOf('bnb.optim.AdamW8bit'), 'adamw-8bit');
    assert.equal(nameOf('torchao.prototype.low_bit_optim.AdamW8bit'), 'ao-adamw-8bit');
    assert.equal(nameOf('torchao.optim.AdamW4bit'), 'ao-adamw-4bit');
    assert.equal(nameOf('apex.optimizers.FusedAdam'), 'adamw');
    assert.equal(nameOf('galore_torch.GaLoreAdamW'), 'galore-adamw');
    assert.equal(nameOf('transformers.optimization.Adafactor'), 'adafactor');
    assert.equal(nameOf('torch.optim.Adafactor'), 'torch-adafactor');
    assert.equal(nameOf('AdamW'), 'adamw');
    assert.equal(nameOf('Adamw'), undefined);
    assert.equal(classOptimizer('constructor'), undefined);
    assert.equal(optimizerIn(DEEPSPEED_OPTIMIZERS, 'toString'), undefined);
  });
});
