/** GET / and /embed: the page that shows the market to people, its chart for other pages, and their files. They need no key. */
import type { RequestHandler } from 'express'
import type { Network } from '../../../ingest/model/network.ts'
import { Problem } from '../../lib/problem.ts'
import { hash, makePage, type Page } from './files.ts'

const FOLDER = '/page'

/** The page loads and queries its own origin only. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "base-uri 'none'",
  "form-action 'none'",
].join('; ')

export type PageRouteOptions = {
  networks: readonly Network[]
  /** Origins whose pages may frame the embedded chart, beside this one. */
  embedOrigins: readonly string[]
}

export function getPage({ networks, embedOrigins }: PageRouteOptions): Readonly<Record<string, RequestHandler>> {
  let made: Promise<Page> | undefined
  /** Built at the first request: most processes never serve it. */
  function page(): Promise<Page> {
    made ??= makePage({ networks, folder: FOLDER, embedOrigins }).catch((error: unknown) => {
      made = undefined
      throw error
    })
    return made
  }

  /** `ancestors`: origins whose pages may frame it. */
  function document(kind: keyof Page['html'], ancestors: string): RequestHandler {
    return async function html(_req, res) {
      const { html } = await page()
      res.set({
        // Revalidated at each visit, so that it names the newest files.
        'Cache-Control': 'no-cache',
        'Content-Security-Policy': `${POLICY}; frame-ancestors ${ancestors}`,
        'Referrer-Policy': 'no-referrer',
        ETag: `W/"${hash(html[kind])}"`,
      })
      // It takes one origin alone; frame-ancestors takes its place.
      if (kind === 'embed') res.removeHeader('X-Frame-Options')
      res.vary('Accept-Encoding').type('html').send(html[kind])
    }
  }

  return {
    '/': document('page', "'none'"),
    '/embed': document('embed', ["'self'", ...embedOrigins].join(' ')),
    [`${FOLDER}/:file`]: async function file(req, res) {
      const { files } = await page()
      const name = String(req.params['file'])
      const found = files.get(name)
      if (!found) throw new Problem('not_found', `There is no ${req.path}. The page at / names the files of today.`)
      res.set({ 'Cache-Control': 'public, max-age=31536000, immutable', ETag: `W/"${name}"` })
      res.vary('Accept-Encoding').type(found.type).send(found.text)
    },
  }
}
