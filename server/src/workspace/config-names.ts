/** Names of files that can be training configs. */
const CONFIG = /\.(jsonc?|ya?ml|toml|flags|sh|bash|slurm|sbatch|py|ipynb)$/i;

/** Whether a file of this name can be a training config. */
export const isConfigName = (name: string) => CONFIG.test(name);

/** Folders of tools, in which nobody keeps the configs of a run. */
export const SKIPPED_FOLDERS: ReadonlySet<string> = new Set([
  'node_modules',
  '.git',
  '.hg',
  '.svn',
  '.venv',
  '__pycache__',
]);
