import { createHash } from 'node:crypto'
import { Validator } from '@seriousme/openapi-schema-validator'
import { Ajv2020 } from 'ajv/dist/2020.js'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ADDED_APIS } from '../../../api/extras/added-api.ts'
import { referencePage } from '../../../api/extras/docs/page.ts'
import { escapeHtml } from '../../../api/extras/docs/prose.ts'
import { PROBLEMS, Problem } from '../../../api/lib/problem.ts'
import { readCandleQuery } from '../../../api/query/query.ts'
import { openApi, type Schema } from '../../../api/schema/openapi.ts'
import { pythonModels } from '../../client/generate-python.ts'
import { seeded } from '../../support/seed.ts'

const document = openApi(...ADDED_APIS)
const NOW = new Date('2026-07-31T12:00:00Z')
const page = referencePage(document, NOW)

test('the document is valid OpenAPI 3.1', async () => {
  const { valid, errors } = await new Validator().validate(structuredClone(document))
  expect(errors).toBeUndefined()
  expect(valid).toBe(true)
})

test('generators of clients find each answer as one named schema, and none that another one narrows', () => {
  const answers = Object.values(document.paths).flatMap(({ get }) =>
    Object.entries(get.responses).flatMap(([status, { content = {} }]) =>
      Object.values(content).map(({ schema }) => [status, schema] as const),
    ),
  )
  expect(answers.length).toBeGreaterThan(20)
  for (const [status, schema] of answers) {
    expect(Object.keys(schema), status).toEqual(['$ref'])
    const name = schema.$ref?.split('/').at(-1) ?? ''
    expect(document.components.schemas).toHaveProperty(name)
    if (status !== '200') expect(name).toBe(`Problem${status}`)
  }
  // Generators of Python and Java merge these by rules of their own, or leave the answer out.
  expect(JSON.stringify(document)).not.toMatch(/"(?:allOf|oneOf|not|if|patternProperties|prefixItems)":/)
})

test('the models of the Python client are those of the document', async () => {
  await expect(pythonModels(document)).toMatchFileSnapshot(
    '../../../api/extras/clients/python/src/candlepool/_models.py',
  )
})

/** Texts that come near to what a parameter takes. */
const NEAR: Readonly<Record<string, fc.Arbitrary<string>>> = {
  symbol: fc
    .array(fc.constantFrom('a', 'B', '-', ' ', '\n', '\u2028', '.'), { minLength: 1, maxLength: 6 })
    .map((parts) => parts.join('')),
  pool: fc.stringMatching(/^0[xX][0-9a-fA-Fg]{39,41}$|^0x[0-9a-f]{63,65}$/),
  interval: fc.stringMatching(/^[0-9]{1,6}[smhdSMHw]?$/),
  from: fc.stringMatching(
    /^[12]\d{3}-[01]\d-[0-3]\d(?:[tT ][012]\d:[0-5]\d(?::[0-6]\d(?:\.\d{0,3})?)?(?:[zZ]|[+ -]\d{2}:?\d{2})?)?$/,
  ),
  to: fc.constantFrom('2024-01-05', '2024-02-30', 'now', '1704412800'),
  limit: fc.stringMatching(/^[-+]?[0-9]{1,4}(?:\.0|e1)?$/),
  networks: fc
    .array(fc.constantFrom('ethereum', 'base', 'Base', ' ', ','), { minLength: 1 })
    .map((parts) => parts.join('')),
  price: fc.constantFrom('spot', 'execution', 'Spot', 'mid'),
  fill: fc.constantFrom('previous', 'none', 'null'),
  include: fc.constantFrom('flow', ' flow ', 'Flow', 'flow,flow', 'position', ''),
}

test.each(document.paths['/v0/candles']?.get.parameters.map(({ name, schema }) => [name, schema] as const) ?? [])(
  'what is taken as %s fits its schema in the document',
  (name, schema) => {
    const fits = new Ajv2020({ strict: false }).compile(schema)
    let taken = 0
    fc.assert(
      fc.property(NEAR[name] ?? fc.string(), (text) => {
        if (!isTaken(name, text)) return
        taken += 1
        expect(fits(asValue(schema, text)), text).toBe(true)
      }),
      seeded({ numRuns: 3_000 }),
    )
    expect(taken).toBeGreaterThan(0)
  },
)

test('a parameter is taken as the document describes it, but for the calendar and the longest interval', () => {
  for (const { name, schema } of document.paths['/v0/candles']?.get.parameters ?? []) {
    const fits = new Ajv2020({ strict: false }).compile(schema)
    for (const text of fc.sample(NEAR[name] ?? fc.string(), 1_000)) {
      if (['from', 'to', 'interval', 'symbol'].includes(name)) continue
      expect(isTaken(name, text), `${name}=${text}`).toBe(fits(asValue(schema, text)))
    }
  }
})

function asValue(schema: Schema, text: string): unknown {
  return schema.type === 'integer' && /^[0-9]+$/.test(text) ? Number(text) : text
}

function isTaken(name: string, text: string): boolean {
  try {
    readCandleQuery(new Map([[name, [text]]]))
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    const mine = (error.errors ?? []).filter(
      ({ field, message }) => field === name && !/required|together/.test(message),
    )
    return mine.length === 0
  }
  return true
}

test('the page tells of every operation, parameter, field and code', () => {
  const names = [
    ...Object.entries(document.paths).flatMap(([path, { get }]) => [
      `GET ${path}`,
      ...get.parameters.map(({ name }) => `<code>${name}</code>`),
    ]),
    ...Object.keys(PROBLEMS).map((code) => `id="${code}"`),
    '<code>data[].open</code>',
    '<code>credits.month.billing_period_start</code>',
    'id="credits"',
    'id="errors"',
  ]
  expect(names.filter((name) => !page.html.includes(name))).toEqual([])
})

test('the page needs nothing from elsewhere, and its policy lets nothing else in', () => {
  expect(page.html).not.toMatch(
    /<script (?!type="module">)|<iframe|(?:src|href|action)="?(?:https?:)?\/\/|@import|url\(/i,
  )
  const [, style = ''] = /<style>([\s\S]*)<\/style>/.exec(page.html) ?? []
  const hash = createHash('sha256').update(style).digest('base64')
  expect(page.contentSecurityPolicy).toContain(`style-src 'sha256-${hash}'`)
  const [, script = ''] = /<script type="module">([\s\S]*?)<\/script>/.exec(page.html) ?? []
  const scriptHash = createHash('sha256').update(script).digest('base64')
  expect(page.contentSecurityPolicy).toContain(`script-src 'sha256-${scriptHash}'`)
  expect(page.contentSecurityPolicy).toMatch(/^default-src 'none';/)
})

test('the page lists each error once, and every operation links to its own', () => {
  const text = page.html.replaceAll('<code>', '`').replaceAll('</code>', '`')
  for (const [code, { meaning }] of Object.entries(PROBLEMS)) {
    expect(text.split(escapeHtml(meaning)).length - 1, code).toBe(1)
    if (!['not_found', 'method_not_allowed', 'request_timeout'].includes(code))
      expect(page.html, code).toContain(`href="#${code}"`)
  }
})

test('examples are recent, and mean one thing by the base address', () => {
  const days = [...page.html.matchAll(/(\d{4}-\d{2}-\d{2})T\d{2}:\d{2}/g)].map(([, day]) => day ?? '')
  expect(days.length).toBeGreaterThan(10)
  expect([...new Set(days)].toSorted()).toEqual(['2026-07-30', '2026-07-31', '2026-08-01'])
  expect(page.html).not.toContain('$URL')
  for (const [, path] of page.html.matchAll(/(?:\$BASE|\$\{BASE\}|\{BASE\})([^"`&#?]*)/g))
    expect(path).toMatch(/^\/v0\//)
  for (const language of ['curl', 'JavaScript', 'Python'])
    expect(page.html.split(`data-language="${language}"`)).toHaveLength(2 + Object.keys(document.paths).length)
})
