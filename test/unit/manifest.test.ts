import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { contributedTools } from '../docs/contributed-tools';

interface Setting {
  readonly order?: number;
  readonly scope?: string;
  readonly markdownDescription?: string;
  readonly enum?: readonly string[];
  readonly markdownEnumDescriptions?: readonly string[];
  readonly default: unknown;
}
interface Group {
  readonly title: string;
  readonly properties: Readonly<Record<string, Setting>>;
}

const { contributes } = JSON.parse(readFileSync('package.json', 'utf8'));
const groups: readonly Group[] = contributes.configuration;

describe('the manifest', () => {
  it('has few settings, in groups and in order, each with a scope and words', () => {
    assert.ok(groups.length <= 4);
    const settings = groups.flatMap(({ properties }) => Object.entries(properties));
    assert.ok(settings.length <= 25, `${settings.length} settings`);
    for (const [name, setting] of settings) {
      assert.ok(setting.scope && setting.markdownDescription && setting.order !== undefined, name);
      assert.equal(
        setting.markdownEnumDescriptions?.length ?? setting.enum?.length,
        setting.enum?.length,
        name,
      );
    }
    for (const { title, properties } of groups) {
      const orders = Object.values(properties).map(({ order }) => order);
      assert.equal(new Set(orders).size, orders.length, title);
    }
  });

  it('lets every hint be switched off by itself', () => {
    const names = groups.flatMap(({ properties }) => Object.keys(properties));
    for (const kind of ['codeLens', 'inlayHints', 'hover', 'statusBar', 'diagnostics']) {
      assert.ok(
        names.some((name) => name.startsWith(`oomlint.${kind}.`)),
        kind,
      );
    }
  });

  it('names a colour for each kind of theme', () => {
    for (const { id, defaults } of contributes.colors) {
      assert.deepEqual(
        Object.keys(defaults).sort(),
        ['dark', 'highContrast', 'highContrastLight', 'light'],
        id,
      );
    }
  });

  it('names only pictures that are there', () => {
    for (const { steps } of contributes.walkthroughs) {
      for (const { media } of steps) {
        for (const picture of Object.values<string>(media.image)) assert.ok(existsSync(picture), picture);
      }
    }
  });

  it('offers the tools of agents to the chat, as the engine has them', () => {
    // node scripts/agent-tools.cjs
    assert.deepEqual(contributes.languageModelTools, JSON.parse(JSON.stringify(contributedTools())));
  });

  it('offers an estimate in the Explorer for what may be a config, and not for well-known files of other tools', () => {
    const { when = '' } =
      contributes.menus['explorer/context'].find(
        ({ command }: { readonly command: string }) => command === 'oomlint.estimateFile',
      ) ?? {};
    const [ending, name] = [...when.matchAll(/=~ \/(.*?)\/(?: |$)/g)].map(
      ([, source = '']) => new RegExp(source),
    );
    const offered = (file: string) =>
      ending?.test(file.slice(file.lastIndexOf('.'))) === true && name?.test(file) === true;
    for (const file of [
      'ds_config.json',
      'sft.yaml',
      'train.toml',
      'run.sh',
      'composer-7b.yaml',
      'package.yaml',
    ])
      assert.ok(offered(file), file);
    for (const file of [
      'package.json',
      'tsconfig.base.json',
      'docker-compose.yml',
      'pyproject.toml',
      '.pre-commit-config.yaml',
      'README.md',
    ])
      assert.ok(!offered(file), file);
  });
});
