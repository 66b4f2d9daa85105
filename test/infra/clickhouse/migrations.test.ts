/** A migration never changes: a store in which it was applied would refuse to open. */
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const FOLDER = join(import.meta.dirname, '../../../infra/clickhouse/migrations')
/** The output of `sha256sum *.sql`; a new migration adds a line. */
const KNOWN = readFileSync(join(import.meta.dirname, 'migrations.sha256'), 'utf8')

test('every migration has the hash with which it was added', () => {
  const lines = readdirSync(FOLDER)
    .sort()
    .map((file) => {
      const hash = createHash('sha256')
        .update(readFileSync(join(FOLDER, file)))
        .digest('hex')
      return `${hash}  ${file}\n`
    })
  expect(lines.join('')).toBe(KNOWN)
})
