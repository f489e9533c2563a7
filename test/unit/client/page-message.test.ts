import assert from 'node:assert/strict';
import { pageMessage } from '../../../client/src/panel/page-message';
import type { PageMessage } from '../../../client/webview/messages';

/** Every message that the page can send, by type. */
const SENT: { readonly [Type in PageMessage['type']]: readonly Extract<PageMessage, { type: Type }>[] } = {
  ready: [{ type: 'ready' }],
  retry: [{ type: 'retry' }],
  'open-file': [{ type: 'open-file' }],
  'show-config': [{ type: 'show-config', uri: 'file:///a.yaml' }],
  'open-figures': [
    { type: 'open-figures' },
    { type: 'open-figures', sample: 3, turned: { 'micro-batch': 2 }, values: { 'batch.micro': 2 } },
  ],
  'show-output': [{ type: 'show-output' }],
  supply: [{ type: 'supply', fields: ['hardware.gpu'] }],
  try: [{ type: 'try', turned: { 'micro-batch': 2, sharding: 'zero-3' } }],
  preset: [{ type: 'preset', which: 'fastest' }],
  plan: [{ type: 'plan', values: { 'batch.micro': 2 } }],
  apply: [{ type: 'apply', values: { 'batch.micro': 2 }, fix: 'smaller-batch' }],
  compare: [
    { type: 'compare', with: 'git' },
    { type: 'compare', with: 'commit', ref: 'main' },
    { type: 'compare', with: 'file', uri: 'file:///a.yaml' },
  ],
  reveal: [{ type: 'reveal', key: 0 }],
  copy: [{ type: 'copy', text: '' }],
  save: [{ type: 'save', format: 'svg', data: '<svg/>' }],
};

/** Of no form that the page has. */
const OTHER: readonly unknown[] = [
  undefined,
  null,
  'ready',
  ['ready'],
  {},
  { type: 'constructor' },
  { type: '__proto__' },
  { type: ['ready'] },
  { type: 'open-figures', sample: -1 },
  { type: 'open-figures', sample: 0.5 },
  { type: 'supply' },
  { type: 'supply', fields: 'hardware.gpu' },
  { type: 'supply', fields: [1] },
  { type: 'try' },
  { type: 'try', turned: [] },
  { type: 'try', turned: { 'micro-batch': Number.NaN } },
  { type: 'try', turned: { 'micro-batch': { valueOf: 2 } } },
  { type: 'preset', which: 'prettiest' },
  { type: 'plan', values: [] },
  { type: 'apply', values: {}, fix: 1 },
  { type: 'compare', with: 'url' },
  { type: 'compare', with: 'file', uri: {} },
  { type: 'reveal', key: '__proto__' },
  { type: 'reveal' },
  { type: 'lock', locked: true },
  { type: 'copy', text: {} },
  { type: 'save', format: 'exe', data: '' },
  { type: 'save', format: 'svg' },
];

describe('messages of the page', () => {
  it('are taken as the page sends them', () => {
    for (const message of Object.values(SENT).flat()) assert.equal(pageMessage(message), message);
  });

  it('are left aside in any other form', () => {
    for (const value of OTHER) assert.equal(pageMessage(value), undefined, JSON.stringify(value));
  });
});
