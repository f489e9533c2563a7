import { mightBeTrainingConfig } from '../../server/src/dialects/registry';
import { TestServer } from '../protocol/server-process';
import { PROJECT, report, timed } from './samples';

const ROUNDS = 120;
const WARM_UP = 20;
const NOTEBOOKS = 12;
const ALL = { start: { line: 0, character: 0 }, end: { line: 5000, character: 0 } };

/** Functions as scripts around a training have them: parsed with each key, and never called. */
const around = (count: number): string =>
  Array.from(
    { length: count },
    (_, i) => `def prepare_${i}(row, size=${i}):
    text = "### Question: " + row["question"] + f" {size}"
    return {"text": text, "length": len(text) // 4, "kept": row.get("score", 0) > 0.${i}}

`,
  ).join('');

const TRAINER = `from transformers import AutoModelForCausalLM
from trl import SFTConfig, SFTTrainer
BATCH = 4
model = AutoModelForCausalLM.from_pretrained("meta-llama/Llama-3.1-8B", dtype="bfloat16")
args = SFTConfig(per_device_train_batch_size=BATCH, max_length=2048, reduce_bucket=200000000)
SFTTrainer(model, args=args).train()
`;

/** A notebook of 10 MB: a picture in the output of each of its cells. */
function notebook(micro: number): string {
  const picture = 'iVBORw0KGgo'.repeat(45_000);
  const cells = [
    ...TRAINER.replace('BATCH = 4', `BATCH = ${micro}`).split('\n').slice(0, -1),
    ...around(14).split('\n\n'),
  ];
  return JSON.stringify({
    cells: cells.map((source, index) => ({
      cell_type: 'code',
      source,
      outputs:
        index < 20 ? [{ output_type: 'display_data', data: { 'image/png': picture }, metadata: {} }] : [],
      metadata: {},
      execution_count: index,
    })),
    metadata: {},
    nbformat: 4,
    nbformat_minor: 5,
  });
}

async function main(): Promise<void> {
  const server = await TestServer.start({ files: { 'oomlint.yaml': PROJECT } });
  const text = `${TRAINER}${around(248)}`;
  const uri = await server.open('train.py', text, 'python');
  await server.published(uri);
  const textDocument = { uri };
  const both: number[] = [];
  for (let i = 0; i < ROUNDS; i += 1) {
    const edited = text.replace('200000000', String(200000001 + i));
    both.push(
      await timed(async () => {
        await server.change(uri, edited);
        await Promise.all([
          server.request('textDocument/codeLens', { textDocument }),
          server.request('textDocument/inlayHint', { textDocument, range: ALL }),
        ]);
      }),
    );
  }
  const saved: number[] = [];
  for (let i = 0; i < NOTEBOOKS; i += 1) {
    const name = `run${i}.ipynb`;
    await server.write(name, notebook(1 + i));
    saved.push(await timed(() => server.request('oomlint/breakdown', { uri: server.uri(name) })));
  }
  await server.stop();
  const plain = `import torch\nfrom transformers import AutoTokenizer\n${around(249)}`;
  const quiet: number[] = [];
  for (let i = 0; i < ROUNDS; i += 1)
    quiet.push(await timed(() => mightBeTrainingConfig('tool.py', `${plain}# ${i}\n`)));
  report({
    'keystroke to lens and hints, 1,000 lines of Python': both.slice(WARM_UP),
    'Python without a trainer, 1,000 lines': quiet.slice(WARM_UP),
    'breakdown of a notebook of 10 MB': saved.slice(2),
  });
}

void main();
