import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { CATEGORIES } from '../../server/src/results/estimate';
import { ROOT } from './panel-page';
import { contributedColors, editorBackground, THEME_KINDS } from './themes';

function luminance(hex: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const channel = Number.parseInt(hex.slice(at, at + 2), 16) / 255;
    return channel <= 0.04045 ? channel / 12.92 : ((channel + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function contrast(a: string, b: string): number {
  const [light = 0, dark = 0] = [luminance(a), luminance(b)].sort((left, right) => right - left);
  return (light + 0.05) / (dark + 0.05);
}

describe('component colours', () => {
  const colors = contributedColors(ROOT);

  it('exist for every component', () => {
    const camel = (category: string) =>
      category.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
    assert.deepEqual(
      colors.map(({ id }) => id).filter((id) => !id.startsWith('oomlint.verdict.')),
      CATEGORIES.map((category) => `oomlint.${camel(category)}`),
    );
  });

  it('are on paper what they are in a light theme', () => {
    const css = readFileSync(path.join(ROOT, 'client/webview/panel.css'), 'utf8');
    const [paper = ''] = /^body\.paper \{[^}]*\}/m.exec(css) ?? [];
    for (const { id, defaults } of colors) {
      const name = `--vscode-${id.replace('.', '-').replace('.', '\\.')}`;
      assert.ok(paper.includes(`  ${name}: ${defaults.light.toLowerCase()};\n`), name);
    }
  });

  for (const kind of THEME_KINDS) {
    const least = kind.startsWith('high') ? 4.5 : 3;
    it(`stand out ${least}:1 from the background of a ${kind} theme`, () => {
      const weak = colors
        .map(({ id, defaults }) => ({ id, ratio: contrast(defaults[kind], editorBackground(kind)) }))
        .filter(({ ratio }) => ratio < least)
        .map(({ id, ratio }) => `${id} ${ratio.toFixed(2)}`);
      assert.deepEqual(weak, []);
    });
  }
});
