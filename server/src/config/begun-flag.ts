/**
 * The flags that a beginning of one may stand for, where `argparse` takes beginnings (`allow_abbrev`): one is read as it, several stop the
 * program. `dashes`: names with underscores are flags with dashes, too, so that a beginning without either is that of two
 * (`HfArgumentParser` since transformers 4.46, https://github.com/huggingface/transformers/blob/v4.46.0/src/transformers/hf_argparser.py).
 */
export function flagsBegunBy(key: string, names: ReadonlySet<string>, dashes: boolean): readonly string[] {
  if (key.length < 2 || names.has(key)) return [key];
  const begun = [...names].filter((name) => name.startsWith(key));
  const twice = (name: string) => dashes && name.includes('_') && !key.includes('_');
  return begun.flatMap((name) => (twice(name) ? [name, name.replaceAll('_', '-')] : [name]));
}
