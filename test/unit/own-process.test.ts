import assert from 'node:assert/strict';
import os from 'node:os';
import { setTimeout as passes } from 'node:timers/promises';
import { inTurn } from '../house/own-process';

describe('tasks that tests run in their own process', () => {
  const root = process.cwd();
  let ended = false;

  it('may outlive their test', () => {
    void inTurn(async () => {
      process.chdir(os.tmpdir());
      await passes(50);
      process.chdir(root);
      ended = true;
    });
  });

  it('are over, and their folder is left, when the next test begins', () => {
    assert.ok(ended);
    assert.equal(process.cwd(), root);
  });

  it('run in order, whether or not the one before failed', async () => {
    const failing = inTurn(() => Promise.reject(new Error('as expected')));
    const after = inTurn(async () => 'after');
    await assert.rejects(failing, /as expected/);
    assert.equal(await after, 'after');
  });
});
