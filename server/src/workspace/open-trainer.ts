import type { Dialect, Reading } from '../dialects/dialect';

/** A file as its family reads it. */
interface OfFamily {
  readonly dialect: Dialect;
  readonly reading: Reading;
}

const isOwnCode = ({ dialect, reading }: OfFamily): boolean =>
  dialect.ownScript === true || (reading.keys ?? []).some(({ ownScript }) => ownScript === true);

/** Whether no file states who trains: a library's files alone are beside a script, as are those that a script of a person's own is given. */
export function leavesTrainerOpen(files: readonly OfFamily[]): boolean {
  const trainers = files.filter(({ dialect }) => dialect.isLibrary !== true);
  return trainers.length === 0 || trainers.some(isOwnCode);
}
