/** The source files of the repository, tests included; without generated files, fixtures, migrations, which never change, and contracts, whose bytecode contains a hash of the source. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from './documents.ts'

export type SourceText = { path: string; text: string }

const STAGES = ['ingest', 'aggregator', 'api', 'infra', 'test']
const KINDS = /\.(ts|mjs|js|sql|yaml|yml|html)$/
const LEFT_OUT = /^test\/(client\/schema\.ts|fixtures\/)|^infra\/clickhouse\/migrations\//

export const SOURCES: readonly SourceText[] = STAGES.flatMap((stage) =>
  readdirSync(join(ROOT, stage), { recursive: true, encoding: 'utf8' })
    .map((file) => `${stage}/${file}`)
    .filter((path) => KINDS.test(path) && !LEFT_OUT.test(path))
    .map((path) => ({ path, text: readFileSync(join(ROOT, path), 'utf8') })),
)
