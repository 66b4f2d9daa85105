/** The reference page: the OpenAPI document as a person reads it. One HTML page, nothing from elsewhere. */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { PROBLEMS, type ProblemCode } from '../../lib/problem.ts'
import type { OpenApi, Operation, Response } from '../../schema/openapi.ts'
import { fieldsOf, typeOf } from './fields.ts'
import { escapeHtml, inline, prose } from './prose.ts'
import { RECORDED, recent } from './recent.ts'
import { LANGUAGES, SETUP, type Snippets, snippetsOf } from './snippets.ts'

export type ReferencePage = { html: string; contentSecurityPolicy: string }

const STYLE = readFileSync(new URL('./style.css', import.meta.url), 'utf8')
const SCRIPT = readFileSync(new URL('./copy.js', import.meta.url), 'utf8')

/** `now` decides which hours the examples are of. */
export function referencePage(document: OpenApi, now: Date): ReferencePage {
  const { title, version, description } = document.info
  const operations = Object.entries(document.paths).map(([path, { get }]) => ({ path, get }))
  const text = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escapeHtml(title)} ${escapeHtml(version)}</title>
<link rel="icon" href="data:,">
<style>${STYLE}</style>
</head>
<body>
<header>
<h1>${escapeHtml(title)} ${escapeHtml(version)}</h1>
<nav aria-label="Contents"><a href="#examples">examples</a> ${operations.map(({ path, get }) => `<a href="#${get.operationId}">${path}</a>`).join(' ')} <a href="#errors">errors</a> <a href="/v0/openapi.json">openapi.json</a> <a href="/">the market</a></nav>
</header>
<main>
${prose(description)}
<section id="examples">
<h2>Examples</h2>
<p>${inline('`BASE` is where this page comes from, without a path: all addresses are `BASE/v0/…`. `KEY` is your key. Set both once; every example below then runs as it stands, with Node.js 18 or later and with Python 3.')}</p>
${snippets(SETUP)}
<p>${inline(`Answers were recorded on ${RECORDED}; their times are shown as those before the last full hour.`)}</p>
</section>
${operations.map(({ path, get }) => section(document, path, get)).join('\n')}
${errors(document)}
</main>
<script type="module">${SCRIPT}</script>
</body>
</html>
`
  const policy = [
    "default-src 'none'",
    `style-src '${hashOf(STYLE)}'`,
    `script-src '${hashOf(SCRIPT)}'`,
    'img-src data:',
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ]
  return { html: recent(text, now), contentSecurityPolicy: policy.join('; ') }
}

function hashOf(text: string): string {
  return `sha256-${createHash('sha256').update(text).digest('base64')}`
}

function section(document: OpenApi, path: string, operation: Operation): string {
  const { operationId, summary, description, parameters, responses } = operation
  const [answer] = Object.values(responses['200']?.content ?? {})
  const [example] = Object.values(answer?.examples ?? {})
  const fields = answer === undefined ? [] : fieldsOf(document, answer.schema)
  const request = example?.summary.replace('GET ', '') ?? path
  const good = Object.entries(responses).filter(([status]) => Number(status) < 400)
  return `<section id="${operationId}">
<h2>GET ${path}</h2>
<p><strong>${inline(summary)}.</strong> ${inline(description)}</p>
<p><strong>Credits:</strong> ${inline(operation['x-credits'])}</p>
${snippets(snippetsOf(request, operation.security?.length !== 0))}
${
  parameters.length === 0
    ? ''
    : `<h3>Parameters</h3>${table(
        ['name', 'type', 'if not given', 'meaning'],
        parameters.map(({ name, schema, required, description: meaning }) => ({
          cells: [
            `<code>${name}</code>`,
            inline(typeOf(document, schema)),
            required ? 'required' : inline(String(schema.default ?? '')),
            inline(meaning),
          ],
        })),
      )}`
}
<h3>Answer</h3>
${table(
  ['field', 'type', 'meaning'],
  fields.map((field) => ({
    cells: [`<code>${escapeHtml(field.path)}</code>`, inline(field.type), inline(field.description)],
  })),
)}
${example === undefined ? '' : block(JSON.stringify(example.value, null, 2), `Answer of ${path}`)}
<h3>Headers</h3>
${table(
  ['status', 'meaning', 'headers'],
  good.map(([status, response]) => ({
    cells: [status, prose(response.description), headerList(response)],
  })),
)}
<p><strong>Errors:</strong> ${codesOf(operation)
    .map((code) => `<a href="#${code}">${code}</a>`)
    .join(', ')}</p>
</section>`
}

/** Once for all operations: each links to its codes. */
function errors(document: OpenApi): string {
  const responses = Object.values(document.paths).flatMap(({ get }) => Object.entries(get.responses))
  const byStatus = new Map([
    ...responses,
    ['404', document.components.responses['NotFound']] as const,
    ['405', document.components.responses['MethodNotAllowed']] as const,
  ])
  return `<section id="errors">
<h2>Errors</h2>
<p>${inline('`application/problem+json` (RFC 9457): `code` says what happened, `message` what to do, `request_id` which request it was.')}</p>
${table(
  ['code', 'status', 'meaning'],
  Object.entries(PROBLEMS).map(([code, { status, meaning }]) => ({
    id: code,
    cells: [`<code>${code}</code>`, String(status), inline(meaning)],
  })),
)}
<h3>Headers of errors</h3>
${table(
  ['status', 'headers'],
  [...byStatus]
    .filter(([status]) => Number(status) >= 400)
    .toSorted(([one], [other]) => Number(one) - Number(other))
    .map(([status, response]) => ({ cells: [status, response === undefined ? '' : headerList(response)] })),
)}
</section>`
}

function codesOf({ responses }: Operation): readonly ProblemCode[] {
  const text = Object.values(responses)
    .map(({ description }) => description)
    .join('\n')
  const codes = Object.keys(PROBLEMS) as ProblemCode[]
  return codes.filter((code) => text.includes(`\`${code}\`:`))
}

/** Side by side. */
function snippets(of: Snippets): string {
  const figures = LANGUAGES.map(
    (language) =>
      `<figure class="snippet" data-language="${language}"><figcaption>${language}</figcaption>${block(of[language], language)}</figure>`,
  )
  return `<div class="snippets">${figures.join('')}</div>`
}

/** `tabindex`: a block that is wider than the screen can be scrolled by keys. */
function block(text: string, name: string): string {
  return `<pre tabindex="0" aria-label="${escapeHtml(name)}" role="group"><code>${escapeHtml(text)}</code></pre>`
}

function headerList({ headers }: Response): string {
  return `<ul>${Object.entries(headers)
    .map(([name, { description }]) => `<li><code>${name}</code>: ${inline(description)}</li>`)
    .join('')}</ul>`
}

function table(titles: readonly string[], rows: readonly { id?: string; cells: readonly string[] }[]): string {
  const head = titles.map((title) => `<th scope="col">${title}</th>`).join('')
  const body = rows.map(({ id, cells }) => {
    const anchor = id === undefined ? '' : ` id="${id}"`
    return `<tr${anchor}>${cells.map((cell) => `<td>${cell}</td>`).join('')}</tr>`
  })
  return `<div class="table" tabindex="0" role="group" aria-label="${titles.join(', ')}"><table><thead><tr>${head}</tr></thead><tbody>${body.join('\n')}</tbody></table></div>`
}
