/** POST /v0/mcp: the Model Context Protocol over Streamable HTTP, without sessions. A tool call is a request of the API with the same key. */
import express, { type RequestHandler } from 'express'
import type { Accounts } from '../../accounts/accounts.ts'
import { type Identify, limitHeaders } from '../../http/authenticate.ts'
import type { ClientAddress } from '../../http/client-address.ts'
import { Problem } from '../../lib/problem.ts'

/** A message names one tool and its parameters. */
const MAX_BODY = '64kb'

/** The key is checked before the body is read. Credits and calls are counted by the API, for each tool call. */
export function postMcp(identify: Identify, accounts: Accounts, addressOf: ClientAddress): RequestHandler[] {
  const read = express.json({ limit: MAX_BODY, type: () => true })
  return [
    async function authenticated(req, res, next) {
      const account = await identify(req.headersDistinct['x-api-key'] ?? [], addressOf(req))
      limitHeaders(res, accounts, account)
      next()
    },
    (req, res, next) => read(req, res, (error?: unknown) => next(error === undefined ? undefined : unreadable(error))),
    async function answer(req, res) {
      const message: unknown = req.body
      if (typeof message !== 'object' || message === null || Array.isArray(message))
        throw new Problem('bad_request', 'The body must be one message of JSON-RPC: a JSON object.')
      const { localAddress = '127.0.0.1', localPort } = req.socket
      const host = localAddress.includes(':') ? `[${localAddress}]` : localAddress
      const access = { url: `http://${host}:${localPort}`, key: req.get('X-API-KEY') ?? '' }
      // Loaded at the first message: the SDK takes 30 MB, and most processes never need it.
      const { answerMessage } = await import('./http.ts')
      await answerMessage(access, message, req, res)
    },
  ]
}

function unreadable(error: unknown): Problem {
  const isLarge = (error as { type?: unknown }).type === 'entity.too.large'
  const rule = isLarge ? `longer than ${MAX_BODY}` : 'no JSON'
  return new Problem('bad_request', `The body is ${rule}. Send one message of JSON-RPC.`, { cause: error })
}
