/** The runbook speaks of what there is. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const ROOT = join(import.meta.dirname, '../../..')
const read = (file: string) => readFileSync(join(ROOT, file), 'utf8')
const runbook = read('infra/docs/runbook.md')

test('the runbook says what each alert means, and names no other', () => {
  const alerts = [...read('infra/prometheus/alerts.yml').matchAll(/alert: (\w+)/g)].map(([, name]) => name)
  const rows = [...runbook.matchAll(/^\| (Candlepool\w+)/gm)].map(([, name]) => name)
  expect(rows).toEqual(alerts)
})

/** docs.test.ts holds that each of them is a script, and that links of all documents lead somewhere. */
test('the runbook names commands', () => {
  expect([...runbook.matchAll(/npm run (?:-s )?([\w:]+)/g)].length).toBeGreaterThan(10)
})
