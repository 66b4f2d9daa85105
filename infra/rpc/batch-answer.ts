/** The answer to a batch: each call is settled by its id. Calls without an answer of their own are returned. */
import { HttpRequestError, ResponseBodyTooLargeError, RpcRequestError, TimeoutError } from 'viem'
import { classify, isFault } from '../../ingest/rpc/rpc-error.ts'
import { isRange, type JsonRpcResponse, malformed, type PendingCall, refusal, rpcErrorIn, settle } from './call.ts'

/** Calls of a batch that have no answer of their own, and why. `isRefusal`: the endpoint says that it is for the batch. */
export type Unanswered = { calls: readonly PendingCall[]; error: unknown; isRefusal: boolean }

/** Some gateways add answers that were not asked for. More of them are refused before they are walked. */
const MAX_ANSWERS_PER_CALL = 2
const TOO_LONG = /response (is )?too large/i
/** Texts of a call's error that are about all calls of its batch. */
const OF_ALL_CALLS = /\bbatch|response (is )?too large/i
/** Texts of a single answer to a whole batch, of gateways that do not accept an array as a request. */
const OF_ARRAYS = /\bbatch|unmarshal array|invalid request|parse error|response (is )?too large/i
/** HTTP statuses with which gateways refuse an array. */
const STATUSES = [400, 405, 413, 415, 422, 501]

/** `answers`: the body of the response. Undefined where every call is settled. */
export function settleBatch(batch: readonly PendingCall[], answers: unknown, name: string): Unanswered | undefined {
  // One object stands for a whole batch where the gateway refuses it.
  if (!Array.isArray(answers)) return { calls: batch, error: refusal(answers, name), isRefusal: true }
  if (answers.length > MAX_ANSWERS_PER_CALL * batch.length) {
    const text = `The node answered ${answers.length} times to a batch of ${batch.length}.`
    return { calls: batch, error: malformed(text, name), isRefusal: false }
  }
  const { byId, common } = sorted(answers)
  const answerTo = ({ body }: PendingCall) => byId.get(String(body.id))
  // A single answer to many calls is that of a request with the id of the first one.
  const pattern = batch.every(answerTo) ? OF_ALL_CALLS : OF_ARRAYS
  const calls: PendingCall[] = []
  for (const call of batch) {
    const answer = answerTo(call)
    const text = answer?.error ? rpcErrorIn(answer.error).message : ''
    // A range of logs is read in smaller ones instead.
    const isOfBatch = pattern.test(text) && !(isRange(call) && TOO_LONG.test(text))
    if (!answer || isOfBatch) calls.push(call)
    else settle(call, answer, name)
  }
  const [first] = calls
  if (!first) return undefined
  const said = common ?? answerTo(first)
  const text = `The node left out ${calls.length} of ${batch.length} answers of a batch.`
  return { calls, error: said?.error ? refusal(said, name) : malformed(text, name), isRefusal: true }
}

/** Some gateways send ids as texts. An id that is answered twice counts as unanswered; `common` is an error without an id. */
function sorted(answers: readonly (JsonRpcResponse | null)[]) {
  const byId = new Map<string, JsonRpcResponse | undefined>()
  let common: JsonRpcResponse | undefined
  for (const answer of answers) {
    const id = answer?.id
    if (answer && (typeof id === 'number' || typeof id === 'string'))
      byId.set(String(id), byId.has(String(id)) ? undefined : answer)
    else if (answer?.error) common ??= answer
  }
  return { byId, common }
}

export function isAboutBatches(error: unknown): boolean {
  if (!(error instanceof HttpRequestError)) return false
  return STATUSES.includes(error.status ?? 0) || OF_ARRAYS.test(error.details)
}

/** False if a smaller batch would fail too: the answer is malformed, the account is limited or refused, no connection was made, or time is up. */
export function isWorthSplitting(error: unknown): boolean {
  if (isFault(error)) return error instanceof ResponseBodyTooLargeError
  if (!(error instanceof HttpRequestError)) return !(error instanceof TimeoutError)
  if (classify(error).kind === 'rate-limited') return false
  if (error.status !== undefined) return ![401, 402, 403, 407].includes(error.status)
  const { code } = (error.cause ?? {}) as { code?: unknown }
  return code === undefined || /^(ECONNRESET|EPIPE|HPE_\w+|Z_\w+)$/.test(String(code))
}

/** A single call fails as its batch did: then it was not the batch. */
export function saysTheSame(failure: unknown, error: unknown): boolean {
  if (!(failure instanceof RpcRequestError && error instanceof HttpRequestError)) return false
  return error.details.includes(failure.details)
}
