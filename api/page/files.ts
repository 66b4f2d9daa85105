/** The page's files: the browser's code and style bundled in memory, the token list, and the HTML that names them. */
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { basename, extname, join } from 'node:path'
import { build, stop } from 'esbuild'
import type { Network } from '../../ingest/model/network.ts'
import { tokenFile } from './tokens.ts'

export type PageFile = { type: string; text: string }

export type Page = {
  html: string
  /** Every name contains a hash of its content, so a file never changes. */
  files: ReadonlyMap<string, PageFile>
}

const HERE = import.meta.dirname

/** `folder`: path of the files, such as `/page`. */
export async function makePage(networks: readonly Network[], folder: string): Promise<Page> {
  const { outputFiles } = await build({
    entryPoints: [join(HERE, 'browser/main.ts'), join(HERE, 'style.css')],
    outdir: HERE,
    outbase: HERE,
    entryNames: '[name]-[hash]',
    bundle: true,
    minify: true,
    write: false,
    format: 'esm',
    target: 'es2022',
    charset: 'utf8',
    // Licences require their notices.
    legalComments: 'eof',
    logLevel: 'silent',
  })
  // Otherwise esbuild's process stays until this one ends.
  await stop()
  const files = new Map<string, PageFile>()
  for (const { path, text } of outputFiles) files.set(basename(path), { type: extname(path), text })
  const tokens = JSON.stringify(tokenFile(networks))
  files.set(`tokens-${hash(tokens)}.json`, { type: '.json', text: tokens })

  const named = (type: string) => [...files].find(([, file]) => file.type === type)?.[0] ?? ''
  const template = await readFile(join(HERE, 'page.html'), 'utf8')
  const html = template.replace(/\{\{(\w+)\}\}/g, (_, type: string) => `${folder}/${named(`.${type}`)}`)
  return { html, files }
}

export function hash(text: string): string {
  return createHash('sha256').update(text).digest('base64url').slice(0, 12)
}
