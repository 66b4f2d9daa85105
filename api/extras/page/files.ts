/** The files of the page and of the embedded chart: code and style, the token list, and the HTML that names them. */
import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { extname, join } from 'node:path'
import { asTyped } from '../../../ingest/lib/as-typed.ts'
import type { Network } from '../../../ingest/model/network.ts'
import { tokenFile } from './tokens.ts'

export type PageFile = { type: string; text: string }

export type Page = {
  html: Readonly<Record<'page' | 'embed', string>>
  /** Every name contains a hash of its content, so a file never changes. */
  files: ReadonlyMap<string, PageFile>
}

const HERE = import.meta.dirname

/** Only in the package. */
const BUILT = join(HERE, 'bundle')

export type PageOptions = {
  networks: readonly Network[]
  /** Path of the files, such as `/page`. */
  folder: string
  /** Origins whose pages may frame the embedded chart, beside this one. */
  embedOrigins: readonly string[]
}

export async function makePage({ networks, folder, embedOrigins }: PageOptions): Promise<Page> {
  const bundle = await readBundle()
  const files = new Map([...bundle].map(([name, text]) => [name, { type: extname(name), text }]))
  const tokens = JSON.stringify(tokenFile(networks))
  files.set(`tokens-${hash(tokens)}.json`, { type: '.json', text: tokens })

  /** By the names that templates have: `main.js` is a file with its hash, `door.html` a part of several pages. */
  const named = new Map(
    [...files.keys()].map((name) => [name.replace(/^(\w+)-.*(\.\w+)$/, '$1$2'), `${folder}/${name}`]),
  )
  named.set('embed-origins', embedOrigins.join(' '))
  for (const part of await readdir(join(HERE, 'parts'))) {
    const text = await readFile(join(HERE, 'parts', part), 'utf8')
    named.set(part, filled(text.trimEnd(), named))
  }
  const html = async (template: string) => filled(await readFile(join(HERE, template), 'utf8'), named)
  return { html: { page: await html('page.html'), embed: await html('embed.html') }, files }
}

async function readBundle(): Promise<ReadonlyMap<string, string>> {
  const names = await readdir(BUILT).catch(() => undefined)
  if (names === undefined) return (await import('./bundle.ts')).bundlePage()
  const texts = names.map(async (name) => [name, await readFile(join(BUILT, name), 'utf8')] as const)
  return new Map(await Promise.all(texts))
}

function filled(template: string, named: ReadonlyMap<string, string>): string {
  return asTyped(template).replace(/\{\{([\w.-]+)\}\}/g, (_, name: string) => named.get(name) ?? '')
}

export function hash(text: string): string {
  return createHash('sha256').update(text).digest('base64url').slice(0, 12)
}
