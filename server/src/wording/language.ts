import { speak } from './say';

/**
 * Speaks the editor's language where there are translations for it, else English. They are loaded only where they are
 * needed.
 */
export async function speakLanguage(tag: string | undefined): Promise<void> {
  const name = tag?.toLowerCase().split(/[-_]/)[0];
  speak('en', undefined);
  if (name === 'ru') {
    const { RUSSIAN } = await import('./russian');
    speak(name, RUSSIAN);
  }
}
