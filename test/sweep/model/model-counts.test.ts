import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import ofTransformers from '../../../server/data/model-types.json';
import { modelFromConfig } from '../../../server/src/model/catalog';
import { modelTypes } from '../../../server/src/model/families/registry';
import type { Flow, Model } from '../../../server/src/model/model';
import { ONE_TOKEN, type TraceSettings } from '../../../server/src/model/trace-settings';
import { Tracer } from '../../../server/src/model/tracer';

/** Task, class, what the file states beside its type, and the parameters of that class (`test/oracle/model_counts.py`). */
type Row = readonly [TraceSettings['objective'], string, Readonly<Record<string, unknown>>, number];

const file = path.join(process.cwd(), 'test', 'oracle', 'model_counts.json');
const counts: Readonly<Record<string, readonly Row[]>> = JSON.parse(readFileSync(file, 'utf8')).counts;

/** Every weight of the model with its head for that task, tied ones once. */
function weightsOf(model: Model, objective: TraceSettings['objective']): number {
  const flow: Flow = new Map();
  let total = 0;
  for (const stage of model.stages) {
    const tracer = new Tracer({ ...ONE_TOKEN, objective });
    stage.trace(tracer, flow);
    for (const weight of tracer.finish().weights) {
      if (!weight.tiedTo) total += weight.elements * stage.count;
    }
  }
  return total;
}

describe('model types of transformers 5.23', () => {
  it('are exact in every field that changes their count, or refused', () => {
    const wrong: string[] = [];
    let exact = 0;
    let refused = 0;
    for (const [type, rows] of Object.entries(counts)) {
      const before = exact;
      for (const [task, name, fields, total] of rows) {
        const config = { model_type: type, architectures: [name], transformers_version: '5.23.0', ...fields };
        const model = modelFromConfig(config, type, 'config.json');
        if ('error' in model) {
          refused++;
          continue;
        }
        const own = weightsOf(model, task);
        if (own === total) exact++;
        else wrong.push(`${type} ${name} ${JSON.stringify(fields)}: ${own}, not ${total}`);
      }
      assert.ok(exact > before, `nothing of ${type} is built`);
    }
    assert.deepEqual(wrong, []);
    assert.ok(exact > 15 * refused, `${exact} exact, ${refused} refused`);
  });

  it('have counts where they are built', () => {
    const known = new Set(ofTransformers.types);
    const built = modelTypes().filter((type) => known.has(type));
    assert.deepEqual(
      built.filter((type) => (counts[type]?.length ?? 0) === 0),
      [],
    );
  });
});
