/** The reference page: the OpenAPI document as a person reads it. One HTML page without scripts, nothing from elsewhere. */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { OpenApi, Operation, Response } from '../openapi.ts'
import { PROBLEMS } from '../problem.ts'
import { fieldsOf, typeOf } from './fields.ts'
import { escapeHtml, inline, prose } from './prose.ts'

export type Page = { html: string; contentSecurityPolicy: string }

export function referencePage(document: OpenApi): Page {
  const style = readFileSync(new URL('./style.css', import.meta.url), 'utf8')
  const hash = createHash('sha256').update(style).digest('base64')
  const operations = Object.entries(document.paths).map(([path, { get }]) => ({ path, get }))
  const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(document.info.title)} ${escapeHtml(document.info.version)}</title>
<link rel="icon" href="data:,">
<style>${style}</style>
</head>
<body>
<header>
<h1>${escapeHtml(document.info.title)} ${escapeHtml(document.info.version)}</h1>
<nav>${operations.map(({ path, get }) => `<a href="#${get.operationId}">${path}</a>`).join(' ')} <a href="#errors">errors</a> <a href="/v0/openapi.json">openapi.json</a></nav>
</header>
<main>
${prose(document.info.description)}
${operations.map(({ path, get }) => section(document, path, get)).join('\n')}
<section id="errors">
<h2>Errors</h2>
<p>${inline('`application/problem+json` (RFC 9457): `code` says what happened, `message` what to do, `request_id` which request it was.')}</p>
${table(
  ['code', 'status', 'meaning'],
  Object.entries(PROBLEMS).map(([code, { status, meaning }]) => ({
    id: code,
    cells: [`<code>${code}</code>`, String(status), inline(meaning)],
  })),
)}
</section>
</main>
</body>
</html>
`
  return {
    html,
    contentSecurityPolicy: `default-src 'none'; style-src 'sha256-${hash}'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  }
}

function section(document: OpenApi, path: string, operation: Operation): string {
  const { operationId, summary, description, parameters, responses } = operation
  const [answer] = Object.values(responses['200']?.content ?? {})
  const [example] = Object.values(answer?.examples ?? {})
  const fields = answer === undefined ? [] : fieldsOf(document, answer.schema)
  return `<section id="${operationId}">
<h2>GET ${path}</h2>
<p><strong>${inline(summary)}.</strong> ${inline(description)}</p>
<p><strong>Credits:</strong> ${inline(operation['x-credits'])}</p>
<pre>${escapeHtml(curl(operation, example?.summary.replace('GET ', '') ?? path))}</pre>
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
${example === undefined ? '' : `<pre>${escapeHtml(JSON.stringify(example.value, null, 2))}</pre>`}
<h3>Headers and statuses</h3>
${table(
  ['status', 'meaning', 'headers'],
  Object.entries(responses).map(([status, response]) => ({
    cells: [status, prose(response.description), headerList(response)],
  })),
)}
</section>`
}

function curl(operation: Operation, request: string): string {
  const key = operation.security?.length === 0 ? '' : `-H "X-API-KEY: $KEY" `
  return `curl -s ${key}"$URL${request}"`
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
  return `<div class="table"><table><thead><tr>${head}</tr></thead><tbody>${body.join('\n')}</tbody></table></div>`
}
