/** The source files of the repository, tests included; without generated files, fixtures, migrations, which never change, and contracts, whose bytecode contains a hash of the source. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { FILES, ROOT } from './files.ts'

export type SourceText = { path: string; text: string }

const SOURCE = /^(?:ingest|aggregator|api|infra|test)\/.*\.(?:ts|mjs|js|sql|yaml|yml|html)$/
const LEFT_OUT = /^test\/(client\/schema\.ts|fixtures\/)|^infra\/clickhouse\/migrations\//

export const SOURCES: readonly SourceText[] = FILES.filter((path) => SOURCE.test(path) && !LEFT_OUT.test(path)).map(
  (path) => ({ path, text: readFileSync(join(ROOT, path), 'utf8') }),
)
