/** Schemas of files that have one by their name, also while they are empty. */
const BY_NAME: readonly (readonly [RegExp, string])[] = [
  [/(?:^|\/)oomlint\.ya?ml$/, 'project-file'],
  [/(?:^|\/)(?:oomlint-flags|[^/]*\.oomlint-vocabulary)\.ya?ml$/, 'vocabulary'],
  [/\.oomlint\.ya?ml$/, 'oomlint-run'],
  [/(?:^|\/)accelerate_config[^/]*\.ya?ml$/, 'accelerate'],
];

/** Name of the schema that an address is given by its file's name alone. */
export const schemaByName = (address: string): string | undefined =>
  BY_NAME.find(([pattern]) => pattern.test(address))?.[1];
