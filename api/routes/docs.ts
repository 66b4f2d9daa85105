/** GET /v0/openapi.json and GET /v0/docs: what can be asked, for programs and for people. They need no key. */
import type { RequestHandler } from 'express'
import { referencePage } from '../docs/page.ts'
import type { OpenApi } from '../openapi.ts'

const KEPT = 'public, max-age=300'

export function getOpenApi(document: OpenApi): RequestHandler {
  const text = JSON.stringify(document)
  return function openApi(_req, res) {
    res.set('Cache-Control', KEPT).type('application/json').send(text)
  }
}

export function getReference(document: OpenApi): RequestHandler {
  const { html, contentSecurityPolicy } = referencePage(document)
  return function reference(_req, res) {
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
