/** The runbook speaks of what there is. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const ROOT = join(import.meta.dirname, '../../..')
const read = (file: string) => readFileSync(join(ROOT, file), 'utf8')
const runbook = read('infra/docs/runbook.md')
const { scripts } = JSON.parse(read('package.json'))

test('it says of every alert what it means, and of no other', () => {
  const alerts = [...read('infra/prometheus/alerts.yml').matchAll(/alert: (\w+)/g)].map(([, name]) => name)
  const rows = [...runbook.matchAll(/^\| (Candlepool\w+)/gm)].map(([, name]) => name)
  expect(rows).toEqual(alerts)
})

test('its commands and links are there', () => {
  const commands = [...runbook.matchAll(/npm run (?:-s )?([\w:]+)/g)].map(([, name = '']) => name)
  expect(commands.length).toBeGreaterThan(10)
  expect(commands.filter((name) => !(name in scripts))).toEqual([])
  const links = [...runbook.matchAll(/\]\(([^)#]+)(?:#[^)]*)?\)/g)].map(([, path = '']) => path)
  expect(links.filter((path) => !existsSync(join(ROOT, 'infra/docs', path)))).toEqual([])
})
