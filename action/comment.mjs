// Writes the difference as a comment on a pull request: one for each tag, brought up to date, left alone where it reads the same.
// By the environment: GITHUB_TOKEN, GITHUB_API_URL, GITHUB_REPOSITORY, OOMLINT_PULL_REQUEST, OOMLINT_REPORT (a file).
import { readFile } from 'node:fs/promises';

const { GITHUB_TOKEN: token, GITHUB_REPOSITORY: repository, OOMLINT_PULL_REQUEST: number } = process.env;
const api = process.env.GITHUB_API_URL ?? 'https://api.github.com';
const TRIES = 5;
/** The first pause between tries, doubled each time. Milliseconds. */
const PAUSE = Number(process.env.OOMLINT_PAUSE ?? 1000);
const MARK = /^\[\/\/\]: <> \(oomlint-diff, tag=([\w.-]*), valid-at=([^,)]*)/;

/** May be tried again: the answer of a busy server. */
class Busy extends Error {}

async function ask(method, path, body) {
  for (let left = TRIES - 1, pause = PAUSE; ; left--, pause *= 2) {
    try {
      return await once(method, path, body);
    } catch (error) {
      const again = error instanceof Busy || error instanceof TypeError;
      if (!again || left === 0) throw error;
      await new Promise((resolve) => setTimeout(resolve, pause));
    }
  }
}

async function once(method, path, body) {
  const response = await fetch(`${api}${path}`, {
    method,
    headers: {
      accept: 'application/vnd.github+json',
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      'user-agent': 'oomlint',
      'x-github-api-version': '2022-11-28',
    },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  if (response.status === 429 || response.status >= 500) throw new Busy(`${response.status}`);
  if (!response.ok)
    throw Object.assign(new Error(`${method} ${path}: ${response.status}`), { status: response.status });
  return response.json();
}

/** All comments of the pull request, page by page. */
async function comments() {
  const found = [];
  for (let page = 1; ; page++) {
    const some = await ask('GET', `/repos/${repository}/issues/${number}/comments?per_page=100&page=${page}`);
    found.push(...some);
    if (some.length < 100) return found;
  }
}

async function main() {
  if (!/^[1-9]\d*$/.test(number ?? '') || !/^[\w.-]+\/[\w.-]+$/.test(repository ?? ''))
    throw new Error('There is no pull request to comment on.');
  const body = await readFile(process.env.OOMLINT_REPORT ?? '', 'utf8');
  const [, tag, at = ''] = MARK.exec(body) ?? [];
  if (tag === undefined) throw new Error('The report has no mark.');
  const own = (await comments()).filter((comment) => MARK.exec(comment.body ?? '')?.[1] === tag).at(-1);
  if (!own) {
    await ask('POST', `/repos/${repository}/issues/${number}/comments`, { body });
    return 'written';
  }
  if (own.body.trim() === body.trim()) return 'unchanged';
  // A slower job of an older commit does not undo what a newer one wrote.
  if ((MARK.exec(own.body)?.[2] ?? '') > at) return 'older';
  await ask('PATCH', `/repos/${repository}/issues/comments/${own.id}`, { body });
  return 'updated';
}

main().then(
  (done) => console.log(`oomlint: comment ${done}`),
  (error) => {
    // The token of a fork may read only: the summary of the job has the report.
    const forbidden = error.status === 403 || error.status === 404 || error.status === 401;
    console.log(`::${forbidden ? 'notice' : 'error'}::oomlint: no comment: ${error.message}`);
    process.exitCode = forbidden ? 0 : 1;
  },
);
