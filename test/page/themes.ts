import { readFileSync } from 'node:fs';
import path from 'node:path';
import { EDITOR_COLOURS } from '../../server/src/cli/html-report/editor-colours';

export type ThemeKind = 'dark' | 'light' | 'highContrast' | 'highContrastLight';
export const THEME_KINDS: readonly ThemeKind[] = ['dark', 'light', 'highContrast', 'highContrastLight'];

interface Theme {
  /** Class that VS Code sets on the body. */
  readonly bodyClass: string;
  readonly variables: Readonly<Record<string, string>>;
}

/** The colours that the page uses, as VS Code's own themes of each kind define them. */
const EDITOR: Record<ThemeKind, Readonly<Record<string, string>>> = {
  ...EDITOR_COLOURS,
  highContrast: {
    'editor-background': '#000000',
    foreground: '#ffffff',
    descriptionForeground: '#b3b3b3',
    'editorWidget-background': '#0c141f',
    contrastBorder: '#6fc3df',
    contrastActiveBorder: '#f38518',
    focusBorder: '#f38518',
    'button-background': '#000000',
    'button-foreground': '#ffffff',
    'button-border': '#6fc3df',
    'button-secondaryForeground': '#ffffff',
    'textLink-foreground': '#21a6ff',
    'textLink-activeForeground': '#21a6ff',
    'progressBar-background': '#6fc3df',
    'testing-iconPassed': '#73c991',
    'editorWarning-foreground': '#ffd370',
    'editorError-foreground': '#f48771',
    'input-background': '#000000',
    'input-foreground': '#ffffff',
    'input-border': '#6fc3df',
    'dropdown-background': '#000000',
    'dropdown-foreground': '#ffffff',
    'dropdown-border': '#6fc3df',
    'inputOption-activeBackground': '#00000000',
    'inputOption-activeForeground': '#ffffff',
    'inputOption-activeBorder': '#6fc3df',
    'panelTitle-activeForeground': '#ffffff',
    'panelTitle-inactiveForeground': '#ffffff',
    'panelTitle-activeBorder': '#6fc3df',
    'scrollbarSlider-background': '#6fc3df99',
    errorForeground: '#f48771',
    'inputValidation-errorBorder': '#be1100',
  },
  highContrastLight: {
    'editor-background': '#ffffff',
    foreground: '#292929',
    descriptionForeground: '#292929',
    'editorWidget-background': '#ffffff',
    contrastBorder: '#0f4a85',
    contrastActiveBorder: '#006bbd',
    focusBorder: '#006bbd',
    'button-background': '#0f4a85',
    'button-foreground': '#ffffff',
    'button-border': '#0f4a85',
    'button-secondaryBackground': '#ffffff',
    'button-secondaryForeground': '#0f4a85',
    'textLink-foreground': '#0f4a85',
    'textLink-activeForeground': '#0f4a85',
    'progressBar-background': '#6fc3df',
    'testing-iconPassed': '#007100',
    'editorWarning-foreground': '#895503',
    'editorError-foreground': '#b5200d',
    'input-background': '#ffffff',
    'input-foreground': '#292929',
    'input-border': '#0f4a85',
    'dropdown-background': '#ffffff',
    'dropdown-foreground': '#292929',
    'dropdown-border': '#0f4a85',
    'inputOption-activeBackground': '#00000000',
    'inputOption-activeForeground': '#292929',
    'inputOption-activeBorder': '#0f4a85',
    'panelTitle-activeForeground': '#292929',
    'panelTitle-inactiveForeground': '#292929',
    'panelTitle-activeBorder': '#b5200d',
    'scrollbarSlider-background': '#0f4a8566',
    errorForeground: '#b5200d',
    'inputValidation-errorBorder': '#b5200d',
  },
};

const BODY_CLASSES: Record<ThemeKind, string> = {
  dark: 'vscode-dark',
  light: 'vscode-light',
  highContrast: 'vscode-high-contrast',
  highContrastLight: 'vscode-high-contrast-light vscode-high-contrast',
};

interface ContributedColor {
  readonly id: string;
  readonly defaults: Record<ThemeKind, string>;
}

export function contributedColors(root: string): readonly ContributedColor[] {
  return JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')).contributes.colors;
}

export function theme(kind: ThemeKind, root: string): Theme {
  const variables: Record<string, string> = {
    '--vscode-font-family': 'system-ui, "DejaVu Sans", sans-serif',
    '--vscode-font-size': '13px',
    '--vscode-editor-font-family': 'monospace',
  };
  for (const [name, value] of Object.entries(EDITOR[kind])) {
    variables[`--vscode-${name}`] = value;
  }
  for (const { id, defaults } of contributedColors(root)) {
    // As VS Code names them for pages: only the first dot becomes a dash.
    variables[`--vscode-${id.replace('.', '-')}`] = defaults[kind];
  }
  return { bodyClass: BODY_CLASSES[kind], variables };
}

export function editorBackground(kind: ThemeKind): string {
  return EDITOR[kind]['editor-background'] ?? '';
}
