import assert from 'node:assert/strict';
import { allUnexplainedNumbers, unexplainedNumbers } from '../house/constants';

describe('numbers that make figures', () => {
  it('have words beside them: where they come from, or what they are', () => {
    assert.deepEqual(allUnexplainedNumbers(), []);
  });

  it('are seen where nothing explains them, and left alone where something does', () => {
    const bare = 'const SHARE = 0.98;\n\nfunction a(b: number): number {\n  return b * 1.07;\n}\n';
    assert.deepEqual(unexplainedNumbers(bare), ['1: const SHARE = 0.98;', '4: return b * 1.07;']);
    const explained = [
      '/** Share that is free, by the sizes that NVIDIA states. */\nconst SHARE = 0.98;\n',
      'const SHARE = 0.98; // of what the card has\n',
      'const GIB = 2 ** 30;\nconst HALF = 0.5;\n',
      "const NAME = 'A100 40 GB, 312 TFLOPS';\n",
    ];
    for (const source of explained) assert.deepEqual(unexplainedNumbers(source), [], source);
    const apart = '/** Of something else. */\nconst A = 7;\n\nconst SHARE = 0.98;\n';
    assert.deepEqual(unexplainedNumbers(apart), ['4: const SHARE = 0.98;']);
  });
});
