import shared from '../../../l10n/bundle.l10n.ru.json';
import details from '../../../l10n/details.ru.json';
import fields from '../../../l10n/fields.ru.json';
import keys from '../../../l10n/keys.ru.json';
import messages from '../../../l10n/messages.ru.json';
import rules from '../../../l10n/rules.ru.json';
import type { Bundle } from './say';

/** All that is said in Russian, by its English text. */
export const RUSSIAN: Bundle = { ...keys, ...fields, ...rules, ...details, ...messages, ...shared };
