import { SarifBuilder, SarifResultBuilder, SarifRuleBuilder, SarifRunBuilder } from 'node-sarif-builder';
import type { Location, Result } from 'sarif';
import { KIND_REASONS, type Rule, rulePage } from '../../rules/rule';
import type { Range } from '../../text/place';
import type { Severity } from '../../text/problem';
import { isRuleId, RULES } from '../../workspace/rules';
import { type CheckedFile, type Finding, findingsOf } from '../checked-file';
import { displayPath } from '../report';
import type { FormatContext } from './format';

const LEVELS: Readonly<Record<Severity, Result.level>> = {
  error: 'error',
  warning: 'warning',
  information: 'note',
  hint: 'note',
};

function locationOf(path: string, { start, end }: Range, message?: string): Location {
  return {
    physicalLocation: {
      artifactLocation: { uri: path.split('/').map(encodeURIComponent).join('/'), uriBaseId: '%SRCROOT%' },
      region: {
        startLine: start.line + 1,
        startColumn: start.character + 1,
        endLine: end.line + 1,
        endColumn: end.character + 1,
      },
    },
    ...(message === undefined ? {} : { message: { text: message } }),
  };
}

function resultOf({ file, problem, fingerprint }: Finding, folder: string): Result {
  const place = locationOf(file.path, problem.range);
  const related = (problem.related ?? []).map((other, id) => ({
    id,
    ...locationOf(displayPath(other.uri, folder), other.range, other.message),
  }));
  return {
    ruleId: problem.code,
    level: LEVELS[problem.severity],
    message: { text: problem.message },
    locations: [place],
    partialFingerprints: { 'oomlint/v1': fingerprint },
    ...(related.length > 0
      ? {
          relatedLocations: related,
          // A run is a chain of files: how one leads to the other.
          codeFlows: [
            {
              threadFlows: [
                {
                  locations: [...related, { ...place, message: { text: problem.message } }].map(
                    (location) => ({
                      location,
                    }),
                  ),
                },
              ],
            },
          ],
        }
      : {}),
  };
}

/** SARIF 2.1.0, as code scanning reads it. */
export function sarif(files: readonly CheckedFile[], { folder, version }: FormatContext): string {
  const run = new SarifRunBuilder().initSimple({
    toolDriverName: 'oomlint',
    toolDriverVersion: version,
    url: 'https://github.com/oomlint/oomlint',
  });
  const findings = findingsOf(files);
  for (const id of [...new Set(findings.map(({ problem }) => problem.code))].sort()) {
    const rule: Rule | undefined = isRuleId(id) ? RULES[id] : undefined;
    const builder = new SarifRuleBuilder().initSimple({
      ruleId: id,
      shortDescriptionText: rule?.summary ?? id,
      fullDescriptionText: rule ? `${rule.summary} ${rule.reason ?? KIND_REASONS[rule.kind]}` : id,
      helpUri: isRuleId(id) ? rulePage(id) : undefined,
    });
    if (rule) {
      builder.rule.help = { text: rule.remedy, markdown: rule.remedy };
      builder.rule.defaultConfiguration = { level: LEVELS[rule.severity] };
    }
    run.addRule(builder);
  }
  for (const finding of findings) {
    run.addResult(new SarifResultBuilder(resultOf(finding, folder)));
  }
  const log = new SarifBuilder();
  log.addRun(run);
  // Not the builder's own writing: it adds every artifact with a guess at its language.
  return `${JSON.stringify(log.log, null, 2)}\n`;
}
