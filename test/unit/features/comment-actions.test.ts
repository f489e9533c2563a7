import assert from 'node:assert/strict';
import { withEdits } from '../../../server/src/advice/write/text-edits';
import { codeActions } from '../../../server/src/features/code-actions';
import { Workspace } from '../../../server/src/workspace/analyze';
import { MemoryHost } from '../../../server/src/workspace/memory-host';

const YAML = `base_model: meta-llama/Llama-3.1-8B
sequence_len: 2048
micro_batch_size: 1
gradient_accumulation_steps: 1
datasets:
  - path: a
    type: alpaca
`;
const JSON_TEXT = '  "train_micro_batch_size_per_gpu": 1,\n  "zero_optimization": { "stage": 2 }\n}\n';

/** Texts whose comment has words without effect, and what is left when they are gone. */
const CASES: readonly (readonly [
  what: string,
  name: string,
  code: string,
  before: string,
  after: string,
  title: string,
])[] = [
  [
    'the only name',
    'ax.yml',
    'unused-ignore',
    `# oomlint: ignore[two-precisions] as always\n${YAML}`,
    YAML,
    'Remove the comment',
  ],
  [
    'a name before another one',
    'ax.yml',
    'unused-ignore',
    `# oomlint: ignore-file[two-precisions, qlora-without-4bit]\n${YAML}adapter: qlora\n`,
    `# oomlint: ignore-file[qlora-without-4bit]\n${YAML}adapter: qlora\n`,
    'Remove two-precisions from the comment',
  ],
  [
    'the last name',
    'ax.yml',
    'unused-ignore',
    `${YAML}adapter: qlora # oomlint: ignore[qlora-without-4bit, two-precisions] why\n`,
    `${YAML}adapter: qlora # oomlint: ignore[qlora-without-4bit] why\n`,
    'Remove two-precisions from the comment',
  ],
  [
    'a comment behind a value',
    'ds.json',
    'unused-ignore',
    `{\n${JSON_TEXT.replace('1,\n', '1, // oomlint: ignore[tight]\n')}`,
    `{\n${JSON_TEXT}`,
    'Remove the comment',
  ],
  [
    'a comment within a line',
    'ds.json',
    'unused-ignore',
    `{\n${JSON_TEXT.replace('1,\n', '1 /* oomlint: ignore[tight] */,\n')}`,
    `{\n${JSON_TEXT}`,
    'Remove the comment',
  ],
  [
    'a value that the file states otherwise',
    'ax.yml',
    'directive-overruled',
    `# oomlint: gpus=8 micro=4 gpu=A100-SXM4-80GB\n${YAML}`,
    `# oomlint: gpus=8 gpu=A100-SXM4-80GB\n${YAML}`,
    'Remove micro=4 from the comment',
  ],
  [
    'a value that is stated twice',
    'ax.yml',
    'directive-repeated',
    `# oomlint: gpus=8 gpus=4\n${YAML}`,
    `# oomlint: gpus=8\n${YAML}`,
    'Remove gpus=4 from the comment',
  ],
  [
    'a comment without words',
    'ax.yml',
    'directive-empty',
    `# oomlint:\r\n${YAML}`,
    YAML,
    'Remove the comment',
  ],
];

describe('words in a comment that have no effect', () => {
  for (const [what, name, code, text, expected, title] of CASES)
    it(`are taken away: ${what}`, async () => {
      const uri = `file:///p/${name}`;
      const read = async (content: string) => {
        const analysis = await new Workspace(
          new MemoryHost({ [uri]: content }, { folders: ['file:///p'] }),
        ).analyze(uri);
        assert.ok(analysis, 'a config');
        return analysis;
      };
      const analysis = await read(text);
      const problem = analysis.problems.find((one) => one.code === code);
      assert.ok(problem, analysis.problems.map((one) => one.code).join(', '));
      const action = codeActions(analysis, { text, range: problem.range }).find((one) => one.title === title);
      assert.ok(action, 'it is offered');
      assert.equal(action.preferred, true);
      const after = withEdits(text, action.edits);
      assert.equal(after, expected);
      const left = (await read(after)).problems;
      assert.deepEqual(
        left.filter((one) => one.code === code),
        [],
      );
      assert.ok(left.length < analysis.problems.length);
    });
});
