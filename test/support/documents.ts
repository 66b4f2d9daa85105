/** The documents of the repository: every Markdown file but those of fixtures. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { FILES, ROOT } from './files.ts'

export type MarkdownFile = { path: string; text: string }

/** In the order in which a reader meets them. */
const FOLDERS = [/^[^/]+$/, /^api\//, /^infra\//, /^\.github\//, /^ingest\//, /^aggregator\//, /^test\/(?!fixtures\/)/]

export const DOCUMENTS: readonly MarkdownFile[] = FOLDERS.flatMap((folder) =>
  FILES.filter((path) => folder.test(path) && path.endsWith('.md')).map((path) => ({
    path,
    text: readFileSync(join(ROOT, path), 'utf8'),
  })),
)
