import { t } from '../strings';

/** Where and when: figures change with the versions of the frameworks and of Oomlint. */
export const madeBy = () =>
  t(
    'madeBy',
    new Date().toLocaleDateString(document.documentElement.lang || undefined, { dateStyle: 'long' }),
  );
