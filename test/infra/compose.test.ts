/** The compose file hands on what can be configured. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { VARIABLES } from '../../infra/config/config.ts'

const compose = readFileSync(join(import.meta.dirname, '../../infra/compose.yaml'), 'utf8')
/** The image has set these, or one container has no use for them. */
const NOT_THERE = [
  ...['CLICKHOUSE_DATABASE', 'CLICKHOUSE_CLUSTER', 'DATA_DIR', 'HOST', 'PORT', 'ADMIN_PORT'],
  // Of a broker elsewhere: the one in the file is reached without TLS.
  ...VARIABLES.filter((name) => /^KAFKA_(SSL|SASL)/.test(name)),
  // Of embedded tables.
  ...['SQL_PORT', 'SQL_HOST'],
]

test.each(VARIABLES.filter((name) => !NOT_THERE.includes(name)))('%s reaches the containers', (name) => {
  expect(compose).toMatch(new RegExp(`^ +${name}: \\S`, 'm'))
})

test.each(['CLICKHOUSE_PASSWORD', 'CLICKHOUSE_API_PASSWORD', 'CLICKHOUSE_ACCOUNTS_PASSWORD', 'BOOTSTRAP_API_KEY'])(
  '%s is never in the file, and has to be named',
  (name) => {
    const settings = [...compose.matchAll(new RegExp(`^ +${name}: (.*)$`, 'gm'))].map(([, value]) => value)
    expect(settings.length).toBeGreaterThan(0)
    for (const value of settings) expect(value).toBe(`\${${name}:?is to be set in infra/.env}`)
  },
)
