import { speak } from '../wording/say';

/** Speaks the editor's language where there is a bundle for it, else English. Loaded only where it is needed. */
export async function speakLanguage(tag: string | undefined): Promise<void> {
  const name = tag?.toLowerCase().split(/[-_]/)[0];
  speak('en', undefined);
  if (name === 'ru') {
    const { default: bundle } = await import('../../../l10n/bundle.l10n.ru.json');
    speak(name, bundle);
  }
}
