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

const manifest = JSON.parse(readFileSync('package.json', 'utf8'));
const { contributes } = manifest;
/** All that an extension may be in (https://code.visualstudio.com/api/references/extension-manifest). */
const CATEGORIES = [
  'AI',
  'Azure',
  'Chat',
  'Data Science',
  'Debuggers',
  'Education',
  'Extension Packs',
  'Formatters',
  'Keymaps',
  'Language Packs',
  'Linters',
  'Machine Learning',
  'Notebooks',
  'Other',
  'Programming Languages',
  'SCM Providers',
  'Snippets',
  'Testing',
  'Themes',
  'Visualization',
];
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

  it('has what the pages of the Marketplace and of Open VSX show', () => {
    // https://code.visualstudio.com/api/references/extension-manifest
    for (const field of ['displayName', 'description', 'publisher', 'license', 'homepage', 'qna', 'pricing'])
      assert.equal(typeof manifest[field], 'string', field);
    for (const address of [manifest.repository.url, manifest.bugs.url, manifest.homepage, manifest.qna])
      assert.match(address, /^https:\/\//);
    assert.deepEqual(Object.keys(manifest.galleryBanner).sort(), ['color', 'theme']);
    assert.ok(existsSync('LICENSE'));
    // A pre-release has an odd minor: what follows a hyphen is refused.
    assert.match(manifest.version, /^\d+\.\d+\.\d+$/);
    assert.ok(manifest.keywords.length >= 1 && manifest.keywords.length <= 30);
    assert.deepEqual(
      manifest.categories.filter((category: string) => !CATEGORIES.includes(category)),
      [],
    );
    const icon = readFileSync(manifest.icon);
    assert.equal(icon.toString('latin1', 1, 4), 'PNG');
    const [width, height] = [16, 20].map((at) => icon.readUInt32BE(at));
    assert.ok(width !== undefined && width >= 128 && width === height, `${width} x ${height}`);
    // Vector graphics of pages may hold scripts, so they are refused.
    for (const page of ['README.md', 'CHANGELOG.md'])
      assert.doesNotMatch(readFileSync(page, 'utf8'), /!\[[^\]]*\]\([^)]*\.svg/, page);
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
