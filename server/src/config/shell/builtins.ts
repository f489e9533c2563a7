import type { Command, HereDoc, Redirection } from 'unbash';
import { type ConditionWord, conditionOf, FAILURE, STARTED, SUCCESS, UNKNOWN } from './condition';
import { outcomeOf } from './control-flow';
import { nextOption } from './getopts';
import type { ListEnd } from './job';
import { type PlacedText, type TextStretch, textOfPieces } from './placed-text';
import { echoed, formatted } from './printed-text';
import { ShellVariables } from './shell-variables';

/** Files that set up a shell and give no setting of a run. */
const SETUP = /(bashrc|bash_profile|profile|activate|conda\.sh|setvars\.sh|set_env\.sh|\/etc\/)/;

/** Builtins of the shell, what commands read from here-documents, and the files that they write. */
export abstract class ShellBuiltins extends ShellVariables {
  /** Builtins that change what the script knows; `none` for every other command. */
  protected builtin(
    name: string,
    words: readonly PlacedText[],
    input: PlacedText | undefined,
    own: ReadonlyMap<string, PlacedText>,
    place: TextStretch,
  ): ListEnd | 'none' {
    const { scope } = this;
    const texts = words.map(textOfPieces);
    switch (name) {
      case '[':
      case 'test': {
        const inside = name === '[' && texts.at(-1) === ']' ? words.slice(1, -1) : words.slice(1);
        this.outcome = conditionOf(
          inside.map((text): ConditionWord => ({ text })),
          false,
        );
        return undefined;
      }
      case 'true':
      case ':':
        this.outcome = SUCCESS;
        return undefined;
      case 'false':
        this.outcome = FAILURE;
        return undefined;
      case 'exit':
        return 'exit';
      case 'return':
        this.outcome = texts[1] === undefined ? this.outcome : outcomeOf(texts[1] === '0');
        return 'return';
      case 'break':
      case 'continue':
        return name;
      case 'shift': {
        const by = Number(texts[1] ?? '1');
        scope.shift(Number.isInteger(by) ? by : 1);
        return undefined;
      }
      case 'set': {
        if (texts.includes('-a') || texts.includes('allexport')) scope.exportsAll = texts[1] !== '+o';
        const at = texts.indexOf('--');
        if (at > 0) [scope.args, scope.openFrom] = [words.slice(at + 1), undefined];
        this.outcome = SUCCESS;
        return undefined;
      }
      case 'unset':
        for (const each of texts.slice(1)) scope.unset(each);
        return undefined;
      case 'let':
        for (const each of words.slice(1)) this.let(each);
        return undefined;
      case 'getopts':
        if (!scope.args || scope.args.length === 0) return 'none';
        this.outcome = nextOption(scope, texts[1] ?? '', texts[2] ?? '', words.slice(3));
        return undefined;
      case 'source':
      case '.': {
        this.outcome = STARTED;
        const flow = this.takeIn(words.slice(1), place);
        if (flow !== 'none') return flow;
        if (!SETUP.test(texts[1] ?? '')) scope.tookIn = true;
        return undefined;
      }
      case 'read':
      case 'readarray':
      case 'mapfile':
        this.read(words.slice(1), input, own.get('IFS'));
        this.outcome = UNKNOWN;
        return undefined;
      case 'printf':
        if (texts[1] !== '-v') return 'none';
        scope.set(texts[2] ?? '', formatted(words.slice(3)) ?? [this.unknown(words.flat())]);
        return undefined;
      default:
        return 'none';
    }
  }

  /** Reads another file in this shell, with the arguments behind it; `none` where it is not here. */
  protected abstract takeIn(words: readonly PlacedText[], place: TextStretch): ListEnd | 'none';

  /** What a command reads: a here-document or a here-string. */
  protected inputOf(redirects: readonly Redirection[]): PlacedText | undefined {
    for (const redirect of redirects) {
      if (redirect.type === 'HereDoc') return this.heredoc(redirect);
      if (redirect.type === 'HereString' && redirect.target) return this.expander.joined(redirect.target);
    }
    return undefined;
  }

  /** `cat > x.json <<EOF`, `echo "..." > job.sh`, `tee x.yaml <<EOF`: files that the script writes. */
  protected write(node: Command, input: PlacedText | undefined): void {
    const name = node.name?.value ?? '';
    const output = node.redirects.find(
      (redirect) => redirect.type === 'Redirect' && /^(>|>\||>>)$/.test(redirect.operator),
    );
    const redirected = output?.type === 'Redirect' ? output.target : undefined;
    const teed = name === 'tee' ? node.args.findLast((argument) => argument.type === 'Word') : undefined;
    const target = redirected ?? (teed?.type === 'Word' ? teed : undefined);
    if (!target) return;
    const path = textOfPieces(this.expander.joined(target));
    if (/^\/dev\//.test(path)) return;
    const text = input ?? (name === 'echo' || name === 'printf' ? this.textOf(node) : undefined);
    if (!text) {
      this.job.made.add(path);
      return;
    }
    const before =
      output?.type === 'Redirect' && output.operator === '>>' ? this.job.files.get(path) : undefined;
    if (!input && !before && !/\.(json|ya?ml|sh|slurm|sbatch)$/.test(path)) return;
    this.job.files.set(path, [...(before ?? []), ...text]);
  }

  protected heredoc(heredoc: HereDoc): PlacedText {
    const { body, delimiter } = heredoc;
    if (delimiter?.quoted) return this.source.slice(body.pos, body.end);
    if (body.parts) return this.expander.parts(body.parts);
    return this.source.unquoted(body.pos, body.end, body.text.replaceAll('\\\n', ''));
  }

  /** What `echo`, `printf` and `cat <<EOF` print; undefined for other commands. */
  protected textOf(node: Command): PlacedText | undefined {
    const name = node.name?.value;
    if (name === 'cat') return this.inputOf(node.redirects);
    if (name !== 'echo' && name !== 'printf') return undefined;
    const words = node.args.flatMap((argument) =>
      argument.type === 'Word' ? this.expander.fields(argument) : [this.asWord(argument)],
    );
    if (name === 'printf') return formatted(words);
    return echoed(words);
  }
}
