/** GET /v0/openapi.json, /v0/asyncapi.json, /v0/docs, /llms.txt and /v0/skill.md: the reference, for programs, people and models. Without a key. */
import { readFileSync } from 'node:fs'
import type { RequestHandler } from 'express'
import type { OpenApi } from '../../schema/openapi.ts'
import type { AsyncApi } from '../topics/asyncapi.ts'
import { type ReferencePage, referencePage } from './page.ts'
import { lastHour } from './recent.ts'

const KEPT = 'public, max-age=300'

export function getDocument(document: OpenApi | AsyncApi): RequestHandler {
  // Text would be encoded for each answer.
  return sendKept(Buffer.from(JSON.stringify(document)), 'application/json')
}

/** A document of `api/extras/docs` as it is. */
export function getText(name: string, type: 'text/plain' | 'text/markdown'): RequestHandler {
  return sendKept(readFileSync(new URL(`./${name}`, import.meta.url)), type)
}

function sendKept(bytes: Buffer, type: string): RequestHandler {
  return function kept(_req, res) {
    res.set('Cache-Control', KEPT).type(`${type}; charset=utf-8`).send(bytes)
  }
}

export function getReference(document: OpenApi, clock: () => Date): RequestHandler {
  let made: { hour: number; page: ReferencePage } | undefined
  return function reference(_req, res) {
    const now = clock()
    // The examples are of the hours before.
    const hour = lastHour(now)
    if (made?.hour !== hour) made = { hour, page: referencePage(document, now) }
    const { html, contentSecurityPolicy } = made.page
    res
      .set({
        'Cache-Control': KEPT,
        'Content-Security-Policy': contentSecurityPolicy,
        'Referrer-Policy': 'no-referrer',
        'X-Content-Type-Options': 'nosniff',
      })
      .type('html')
      .send(html)
  }
}
