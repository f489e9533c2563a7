/** What people state of their runs stands in a file of one of these names. */
export const PROJECT_FILE_NAMES: readonly string[] = ['oomlint.yaml', 'oomlint.yml'];
