/** POST /page/code: the page exchanges the code of the printed link for the key. It is no operation of the API. */
import type { RequestHandler } from 'express'
import { asTyped } from '../../../ingest/lib/as-typed.ts'
import { openAuthThrottle } from '../../http/auth-throttle.ts'
import { tooManyFailures } from '../../http/authenticate.ts'
import type { ClientAddress } from '../../http/client-address.ts'
import { sendAnswer } from '../../http/headers.ts'
import { Problem } from '../../lib/problem.ts'
import { CODE_MINUTES, type PageCode } from './page-code.ts'

export const CODE_HEADER = 'X-Page-Code'

/** The code is in a header that CORS does not allow to other origins. */
export function postPageCode(code: PageCode, clock: () => Date, addressOf: ClientAddress): RequestHandler {
  const failures = openAuthThrottle()
  return function exchange(req, res) {
    const now = clock().getTime() / 1000
    const address = addressOf(req)
    const given = req.get(CODE_HEADER)
    const key = given === undefined ? undefined : code.exchange(given)
    if (key !== undefined) return sendAnswer(res, { key }, false)
    const wait = failures.retryAfterSeconds(address, now)
    failures.recordFailure(address, now)
    throw wait > 0 ? tooManyFailures(wait) : gone()
  }
}

function gone(): Problem {
  return new Problem(
    'unauthorized',
    `This link was opened before, or is older than ${CODE_MINUTES} minutes, or is of an earlier start. Paste the key that ${asTyped('npm start')} printed.`,
    { headers: { 'WWW-Authenticate': `ApiKey realm="candlepool", header="${CODE_HEADER}"` } },
  )
}
