/** GET /v0/docs/…: the pages that answers and errors point to. They need no key. */
import { readFileSync } from 'node:fs'
import type { RequestHandler } from 'express'

export const PAGES = ['credits', 'errors'] as const
export type Page = (typeof PAGES)[number]

export function getPage(page: Page): RequestHandler {
  const text = readFileSync(new URL(`../docs/${page}.md`, import.meta.url), 'utf8')
  return function docs(_req, res) {
    res.set('Cache-Control', 'public, max-age=3600').type('text/markdown; charset=utf-8').send(text)
  }
}
