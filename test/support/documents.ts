/** The documents of the repository: every Markdown file but those of fixtures. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

export const ROOT = join(import.meta.dirname, '../..')

export type MarkdownFile = { path: string; text: string }

/** In the order in which a reader meets them. */
const FOLDERS = ['.', 'api', 'infra', '.github', 'ingest', 'aggregator', 'test']

export const DOCUMENTS: readonly MarkdownFile[] = FOLDERS.flatMap((folder) =>
  readdirSync(join(ROOT, folder), { recursive: folder !== '.', encoding: 'utf8' })
    .filter((file) => file.endsWith('.md') && !file.startsWith('fixtures/'))
    .map((file) => join(folder, file))
    .map((path) => ({ path, text: readFileSync(join(ROOT, path), 'utf8') })),
)
