import assert from 'node:assert/strict';
import fc from 'fast-check';
import { evaluateShell } from '../../../server/src/config/shell/evaluate';
import { isSettled, textOfPieces } from '../../../server/src/config/shell/placed-text';
import { ScriptSource } from '../../../server/src/config/shell/script-source';
import { bashFolder, runInBash } from './launches-in-bash';

/**
 * Starts of `torchrun` as bash expands them: the launcher is a function that prints its words, and with an empty PATH no other
 * program can run.
 */
const PREAMBLE = `PATH=
torchrun() { [ $# -eq 0 ] || builtin printf '%s\\0' "$@" >&3; builtin printf '\\036\\0' >&3; }
srun() { "$@"; }
nohup() { "$@"; }
bash() { "$BASH" "$@"; }
seq() { local i; for ((i = 1; i <= $1; i++)); do builtin echo $i; done; }
basename() { local p=\${1##*/}; builtin echo "\${p%"$2"}"; }
export -f torchrun srun nohup bash seq basename
`;

/** Words of each launch; undefined where bash itself cannot read the script. */
function inBash(script: string, folder: string): string[][] | undefined {
  const { launches, stderr, error } = runInBash(PREAMBLE + script, folder, { env: {}, timeout: 20_000 });
  assert.ok(!error, String(error));
  return /syntax error|unexpected|bad substitution|bad array/.test(stderr) ? undefined : launches;
}

interface Launch {
  readonly words: readonly string[];
  /** Every word of it is known. */
  readonly settled: boolean;
}

function here(script: string): Launch[] {
  return evaluateShell(ScriptSource.ofScript(script)).commands.flatMap(({ words, open }) => {
    const texts = words.map(textOfPieces);
    const at = texts.indexOf('torchrun');
    return at < 0 || open ? [] : [{ words: texts.slice(at + 1), settled: words.every(isSettled) }];
  });
}

const NAMES = ['A', 'B', 'C', 'D'];
const ARRAYS = ['R', 'S'];
const START = `A=a B=b1 C= D='d d' N=3\nR=(--x "y z" '') S=(--s)\n`;

const text = fc.stringMatching(/^[a-z0-9._/=-]{1,6}$/);
const name = fc.constantFrom(...NAMES);
const array = fc.constantFrom(...ARRAYS);
const digit = fc.integer({ min: 0, max: 9 }).map(String);

const expansion = fc.oneof(
  // A variable alone: `$A` before a letter would be another.
  name.map((each) => `"$${each}"`),
  name.map((each) => `\${${each}}`),
  fc.tuple(name, fc.constantFrom(':-', '-', ':+', '+', ':='), text).map(([a, op, b]) => `\${${a}${op}${b}}`),
  fc.constantFrom('${UNSET:-x}', '${UNSET-}', '${UNSET:+x}', '${N}', '${#A}', '${#R[@]}'),
  fc.tuple(name, fc.constantFrom('#*', '##*', '%', '%%'), text, fc.boolean()).map(([a, op, b, star]) => {
    const pattern = op.startsWith('#') ? `${op}${b}` : `${op}${b}${star ? '*' : ''}`;
    return `\${${a}${pattern}}`;
  }),
  fc
    .tuple(name, fc.constantFrom('/', '//'), text, text)
    .map(([a, op, b, c]) => `\${${a}${op}${b.replaceAll('/', '.')}/${c}}`),
  fc.tuple(name, digit, digit).map(([a, from, length]) => `\${${a}:${from}:${length}}`),
  fc.tuple(name, fc.constantFrom('^^', ',,', '^')).map(([a, op]) => `\${${a}${op}}`),
  fc.tuple(array, fc.constantFrom('@', '*', '0', '1')).map(([a, i]) => `\${${a}[${i}]}`),
  fc.tuple(array, digit).map(([a, i]) => `\${${a}[@]:${i}}`),
);
const arithmetic = fc
  .tuple(
    fc.constantFrom('N', '$N', '2', '(N+1)'),
    fc.constantFrom('+', '*', '-', '%', '/', '<', '&&', '**'),
    digit,
  )
  .map(([a, op, b]) => `$((${a} ${op} ${op === '/' || op === '%' ? `(${b}+1)` : b}))`);
const doubled = fc
  .array(fc.oneof(text, expansion, fc.constantFrom(' ', '  ', '\\"', "'", '\\$A', '\\\\', '\\\n')), {
    maxLength: 4,
  })
  .map((parts) => `"${parts.join('')}"`);
const single = fc
  .array(fc.oneof(text, fc.constantFrom(' ', '$A', '"', '\\', '`')), { maxLength: 3 })
  .map((p) => `'${p.join('')}'`);
const word = fc
  .array(
    fc.oneof(
      text,
      text,
      expansion,
      doubled,
      single,
      arithmetic,
      fc.constantFrom(
        '\\ ',
        '{a,b}',
        '{1..3}',
        "$'a\\tb'",
        '`# c`',
        '$(echo $A b)',
        '$(basename x/y.z .z)',
        '$(seq 2)',
      ),
    ),
    { minLength: 1, maxLength: 3 },
  )
  .map((parts) => parts.join(''));
/** What an assignment takes: braces mean nothing there. */
const value = fc
  .array(fc.oneof(text, expansion, doubled, single, arithmetic, fc.constant('$(echo "$D")')), {
    maxLength: 3,
  })
  .map((p) => p.join(''));
const condition = fc.oneof(
  fc.tuple(name, fc.constantFrom('=', '==', '!='), text).map(([a, op, b]) => `[ "$${a}" ${op} ${b} ]`),
  fc.tuple(name, fc.constantFrom('==', '!='), text).map(([a, op, b]) => `[[ $${a} ${op} ${b}* ]]`),
  fc.tuple(fc.constantFrom('-z', '-n'), name).map(([op, a]) => `[ ${op} "$${a}" ]`),
  fc.tuple(fc.constantFrom('-eq', '-lt', '-ge', '-ne'), digit).map(([op, a]) => `[ $N ${op} ${a} ]`),
  fc.tuple(name, name).map(([a, b]) => `[[ -n $${a} && $${b} == b* ]]`),
  digit.map((a) => `(( N > ${a} ))`),
  fc.constantFrom('true', 'false', '! true', 'test "$A" = a', '[ "x$C" = x ]'),
);

const plain = fc.oneof(
  fc.tuple(name, fc.constantFrom('=', '+='), value).map(([a, op, b]) => `${a}${op}${b}`),
  fc
    .tuple(array, fc.constantFrom('=', '+='), fc.array(word, { maxLength: 3 }))
    .map(([a, op, b]) => `${a}${op}(${b.join(' ')})`),
  arithmetic.map((each) => `N=${each}; N=$((N % 7)); N=\${N#-}`),
  fc.constantFrom(
    '((N++))',
    '(( N += 2 ))',
    'let N=N+1 || true',
    'export A',
    'shift 2>/dev/null',
    ': "${C:=c c}"',
  ),
  fc
    .tuple(name, fc.array(fc.oneof(text, expansion), { maxLength: 3 }))
    .map(([a, lines]) => `read -r -d '' ${a} <<EOF\n${lines.join(' \\\n ')}\nEOF`),
  fc.tuple(name, single).map(([a, quoted]) => `read -r -d '' ${a} <<'EOF'\n${quoted}\nEOF`),
  fc.tuple(name, name).map(([a, b]) => `IFS=- read -ra R <<< "$${a}"; ${b}=$${a}`),
  fc.tuple(name, value).map(([a, b]) => `f() { local ${a}; ${a}=$1; B="$${a}$#$2"; }; f ${b} "$N"`),
  fc.tuple(condition, name, text).map(([test, a, b]) => `${test} && ${a}=${b} || ${a}=no`),
  fc
    .tuple(name, text, text)
    .map(([a, b, c]) => `case $${a} in ${b}|a) B=one;; ${c}*) C=two;; *) D=three;; esac`),
  fc.tuple(name, text).map(([a, b]) => `( ${a}=${b}; N=100 )`),
);
const { statement } = fc.letrec<{ statement: string; block: string }>((tie) => ({
  block: fc.array(tie('statement'), { minLength: 1, maxLength: 3 }).map((each) => each.join('\n')),
  statement: fc.oneof(
    { maxDepth: 2, withCrossShrink: true },
    plain,
    fc
      .tuple(condition, tie('block'), condition, tie('block'), tie('block'))
      .map(([a, x, b, y, z]) => `if ${a}; then\n${x}\nelif ${b}; then\n${y}\nelse\n${z}\nfi`),
    fc
      .tuple(fc.array(text, { minLength: 1, maxLength: 3 }), tie('block'), condition)
      .map(
        ([items, x, stop]) =>
          `for i in ${items.join(' ')}; do\nA="$A $i"\n${x}\nif ${stop}; then break; fi\ndone`,
      ),
    tie('block').map((x) => `k=0; while [ $k -lt 2 ]; do\nk=$((k+1))\n${x}\ndone`),
    tie('block').map((x) => `for ((k=0; k<2; k++)); do\n${x}\ndone`),
    fc.tuple(tie('block'), word).map(([x, y]) => `g() {\n${x}\nreturn\n}\ng ${y}`),
  ),
}));
const launch = fc.oneof(
  fc.array(word, { maxLength: 5 }).map((words) => `torchrun ${words.join(' ')}`),
  fc
    .array(word, { maxLength: 5 })
    .map((words) => `srun -n 2 nohup torchrun ${words.join(' ')}`.replace('-n 2 ', '')),
  fc
    .array(word, { maxLength: 3 })
    .map((words) => `echo torchrun ${words.join(' ')}\nexec=1 torchrun ${words.join(' ')} &`),
  fc.constantFrom(
    'CMD="torchrun ${S[@]} x.py $A"\neval $CMD',
    'CMD="torchrun $A"; eval "$CMD"',
    'CMD="torchrun -x $N $C"; $CMD',
  ),
  fc.constantFrom(
    'export A C; L="torchrun --n 2"; export L; bash -c \'$L "$A" $C ${B}x\'',
    'bash -c "torchrun $N \'q $N\' \\$A"',
  ),
  fc.constantFrom(
    'torchrun "${S[@]}" \\\n --a `# why` \\\n --b $N',
    'set -- 1 "2 3"; torchrun "$@" $# ${2}',
    'run() { torchrun "$@" --z; }; run "${R[@]}"',
  ),
  fc.constant('o=$(torchrun $N)'),
);
/** How the text of a script ends, also in the middle of a command that goes on. */
const ending = fc.constantFrom('\n', '', ' \\\n', ' \\', '\\', ' \\\n\n', ' \\\n  \n', ' \\\n\\\n');
const script = fc
  .tuple(fc.array(statement, { maxLength: 6 }), launch, ending)
  .map(([statements, last, end]) => `${START}${statements.join('\n')}\n${last}${end}`);

describe('shell scripts, held to bash', () => {
  const folder = bashFolder();

  it('expands the words of a launch as bash does', function () {
    const numRuns = Number(process.env.OOMLINT_RUNS ?? 150);
    this.timeout(120_000 + numRuns * 100);
    // A busy machine may not come to all of them.
    let [known, tried] = [0, 0];
    fc.assert(
      fc.property(script, (source) => {
        const launches = inBash(source, folder());
        fc.pre(launches !== undefined);
        const [theirs] = launches;
        const [ours] = here(source);
        tried++;
        // What runs a program that is not here prints what nobody knows.
        if (ours?.settled === false) return;
        known++;
        assert.deepEqual(ours?.words, theirs, source);
        assert.deepEqual(here(source.replaceAll('\n', '\r\n')), here(source), source);
      }),
      { numRuns, interruptAfterTimeLimit: 100_000 + numRuns * 100 },
    );
    assert.ok(known > tried * 0.9 && tried > 0, `${known} of ${tried} launches are known`);
  });
});
