import assert from 'node:assert/strict';
import { matchAccelerator, tooManyCounted } from '../../../server/src/hardware/catalog';
import { fact } from '../../../server/src/run/origin';
import { resolveRun } from '../../../server/src/run/resolve';
import { commandLineFacts } from '../../../server/src/workspace/command-line-facts';
import { UsageError } from '../../../server/src/workspace/usage-error';

describe('how many of a card a name may count', () => {
  it('is what a training run has had', () => {
    for (const counted of ['32768xH100', '8 x H100', 'H100:8', '1024xA100-80GB'])
      assert.equal(
        tooManyCounted(counted) === undefined && matchAccelerator(counted) !== undefined,
        true,
        counted,
      );
    for (const counted of ['32769xH100', '99999xH100', 'H100:100000', '1000000000xH100']) {
      assert.equal(matchAccelerator(counted), undefined, counted);
      assert.match(tooManyCounted(counted) ?? '', /counts more than 32,768 GPUs: name the GPU alone/);
    }
    // What is no card is no counted one.
    assert.equal(tooManyCounted('99999xToaster'), undefined);
    assert.equal(tooManyCounted('H100'), undefined);
  });

  it('is stated where it is more, in the terminal and of files', () => {
    assert.throws(
      () => commandLineFacts({ gpu: '99999xH100' }),
      (error) => error instanceof UsageError && /--gpu: "99999xH100" counts more than/.test(error.message),
    );
    const { unknown } = resolveRun([fact('hardware.gpu', '99999xH100', { kind: 'file' })]);
    assert.match(unknown.find(({ field }) => field === 'hardware.gpu')?.reason ?? '', /counts more than/);
  });
});
